//! Transposes before and behind products, which read and give arrays in any order themselves.
//!
//! ```text
//! dot(transpose a, b)   dot(a, b) over other dimensions     if what is not summed over keeps its order
//! transpose(dot(a, b))  dot(b, a)                           if rows and columns change places, and nobody else reads the product
//! ```

use fusebox_core::hlo::{Computation, DotDims, InstrId, Instruction, Module, Op};

use crate::CompileError;
use crate::rebuild::Rebuild;
use crate::roles::{Role, in_role};

/// Rewrites every product that thunks execute.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    for id in in_role(module, Role::Sequence) {
        let old = module.computation(id);
        let users = old.users();
        let new = Rebuild::each(old, |rebuild, _, instruction| {
            Ok::<_, CompileError>(match &instruction.op {
                Op::Dot(dims) => of_transposed(rebuild, instruction, dims),
                Op::Transpose { permutation } if users[instruction.operands[0].index()].len() == 1 => {
                    transposed(rebuild, old, instruction, permutation)
                }
                _ => None,
            })
        })?;
        module.computations[id.index()] = new;
    }
    Ok(())
}

/// The product of what its operands are transposes of.
fn of_transposed(rebuild: &mut Rebuild, instruction: &Instruction, dims: &DotDims) -> Option<InstrId> {
    let mut dims = dims.clone();
    let operands = rebuild.operands(instruction);
    let left = untransposed(rebuild, operands[0], &mut dims.lhs_batch, &mut dims.lhs_contracting);
    let right = untransposed(rebuild, operands[1], &mut dims.rhs_batch, &mut dims.rhs_contracting);
    let sources = vec![left, right];
    (sources != operands).then(|| rebuild.add(instruction, Op::Dot(dims), instruction.shape.clone(), sources))
}

/// What an operand is a transpose of, with the operand's dimensions as that has them; the operand itself if those that are
/// rows or columns of the product change places.
fn untransposed(rebuild: &Rebuild, operand: InstrId, batch: &mut [i64], summed: &mut [i64]) -> InstrId {
    let instruction = rebuild.instruction(operand);
    let Op::Transpose { permutation } = &instruction.op else { return operand };
    let is_free = |d: &i64| !batch.contains(d) && !summed.contains(d);
    let free = (0..permutation.len() as i64).filter(is_free).map(|d| permutation[d as usize]);
    if !free.is_sorted() {
        return operand;
    }
    batch.iter_mut().chain(summed).for_each(|d| *d = permutation[*d as usize]);
    instruction.operands[0]
}

/// The product of exchanged operands that is the transpose of a product.
fn transposed(
    rebuild: &mut Rebuild,
    old: &Computation,
    instruction: &Instruction,
    permutation: &[i64],
) -> Option<InstrId> {
    let rank = permutation.len();
    let product = rebuild.instruction(rebuild.mapped(instruction.operands[0])).clone();
    let Op::Dot(dims) = &product.op else { return None };
    let left = rebuild.instruction(product.operands[0]).shape.as_array()?.rank();
    let batch = dims.lhs_batch.len();
    let columns = left - dims.lhs_contracting.len();
    let exchanged = (0..batch).chain(columns..rank).chain(batch..columns).map(|d| d as i64);
    if !exchanged.eq(permutation.iter().copied()) || old.root == instruction.operands[0] {
        return None;
    }
    let dims = DotDims {
        lhs_batch: dims.rhs_batch.clone(),
        rhs_batch: dims.lhs_batch.clone(),
        lhs_contracting: dims.rhs_contracting.clone(),
        rhs_contracting: dims.lhs_contracting.clone(),
        algorithm: dims.algorithm.clone(),
    };
    let operands = product.operands.iter().rev().copied().collect();
    Some(rebuild.add(&product, Op::Dot(dims), instruction.shape.clone(), operands))
}
