//! Computes the product of a row and a row-major matrix as sums along columns. The pass rewrites a
//! product only if the emitter that claims the product states that the sums are faster. The kernel
//! of the sums reads each element of the matrix once, in memory order.
//!
//! ```text
//! r = f32[1,n] dot(f32[1,k] a, f32[k,n] b)    =>    p = f32[k,n] multiply(broadcast(a), b)
//!                                                   s = f32[n] reduce(p, 0) over k
//!                                                   r = f32[1,n] reshape(s)
//! ```

use std::collections::HashSet;

use fusebox_core::hlo::{ArrayShape, BinaryOp, Computation, DotDims, ElementType, InstrId, Instruction, Module, Op};
use fusebox_edit::{Rewrite, rewrite};

use crate::CompileError;
use crate::fuse::Claims;
use crate::roles::{Role, in_role};

/// Element types of the products that are rewritten. The rewritten multiplications and sums round
/// to the element type of the product, so types narrower than `f32` would lose precision.
const TYPES: [ElementType; 2] = [ElementType::F32, ElementType::F64];

/// Rewrites the products that thunks execute.
pub fn run(module: &mut Module, claims: &mut Claims) -> Result<(), CompileError> {
    for id in in_role(module, Role::Sequence) {
        let computation = module.computation(id);
        let is_rewritten = |product: &InstrId| {
            RowProduct::of(computation, computation.instruction(*product)).is_some()
                && claims.is_sum(module, computation, *product)
        };
        let rewritten: HashSet<InstrId> = computation.ids().filter(is_rewritten).collect();
        if !rewritten.is_empty() {
            rewrite(module, id, |edit, id, instruction| {
                Ok::<_, CompileError>(rewritten.contains(&id).then(|| by_columns(edit, instruction)).flatten())
            })?;
        }
    }
    Ok(())
}

/// A product of one row and a matrix.
struct RowProduct<'a> {
    /// The matrix, with the contracted dimensions first and the columns last.
    matrix: &'a ArrayShape,
    result: &'a ArrayShape,
    /// Number of the matrix' contracted dimensions.
    summed: usize,
}

impl<'a> RowProduct<'a> {
    fn of(computation: &'a Computation, instruction: &'a Instruction) -> Option<RowProduct<'a>> {
        let Op::Dot(dims) = &instruction.op else { return None };
        let &[row, matrix] = &instruction.operands[..] else { return None };
        let [row, matrix] = [row, matrix].map(|id| computation.instruction(id).shape.as_array());
        let (row, matrix) = (row?, matrix?);
        let result = instruction.shape.as_array()?;
        let has_one_type = [row, result].iter().all(|array| array.element_type == matrix.element_type);
        let summed = dims.rhs_contracting.len();
        let is_row = row.element_count() == matrix.dims.iter().take(summed).product::<i64>();
        let has_known_type = has_one_type && TYPES.contains(&matrix.element_type);
        (has_known_type && is_plain(dims) && is_row).then_some(RowProduct { matrix, result, summed })
    }
}

/// Whether the product has no batches and no prescribed algorithm, and contracts the first
/// dimensions of the matrix, in the order in which the row contains them.
fn is_plain(dims: &DotDims) -> bool {
    let first = 0..dims.rhs_contracting.len() as i64;
    dims.lhs_batch.is_empty()
        && dims.algorithm.is_empty()
        && dims.rhs_contracting.iter().copied().eq(first)
        && dims.lhs_contracting.is_sorted()
}

fn by_columns(edit: &mut Rewrite, instruction: &Instruction) -> Option<InstrId> {
    let operands = edit.operands(instruction);
    let RowProduct { matrix, result, summed } = RowProduct::of(edit.old(), instruction)?;
    let contracted: Vec<i64> = (0..summed as i64).collect();
    let row = edit.reshape(operands[0], &matrix.dims[..summed]);
    let row = edit.broadcast(row, &matrix.dims, &contracted);
    let products = edit.binary(BinaryOp::Multiply, row, operands[1]);
    let zero = edit.scalar(matrix.element_type, 0.0);
    let sum = edit.combiner(BinaryOp::Add, matrix.element_type);
    let sums = edit.reduce(&[products], &[zero], &contracted, sum);
    Some(edit.reshape(sums, &result.dims))
}
