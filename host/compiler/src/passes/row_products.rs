//! Computes a row times a large row-major matrix as sums along columns. The kernel reads each
//! element of the matrix once, in memory order, and packs no elements.
//!
//! ```text
//! r = f32[1,n] dot(f32[1,k] a, f32[k,n] b)    =>    p = f32[k,n] multiply(broadcast(a), b)
//!                                                   s = f32[n] reduce(p, 0) over k
//!                                                   r = f32[1,n] reshape(s)
//! ```

use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{
    ArrayLiteral, ArrayShape, BinaryOp, Computation, ComputationId, DotDims, ElementType, InstrId, Instruction,
    Literal, Module, Op, Shape,
};

use super::added_computations::{combiner, put_in_front};
use super::products::without_precision;
use crate::CompileError;
use crate::rebuild::Rebuild;
use crate::roles::{Role, in_role};

/// Least bytes of a matrix that is too large for the nearer caches. Packing a smaller matrix takes
/// no longer than reading it.
const LARGE: i64 = 1 << 20;
/// Least number of columns for which every core has enough vectors to compute.
const FEWEST_COLUMNS: i64 = 256;
/// Element types of these products.
const TYPES: [ElementType; 2] = [ElementType::F32, ElementType::F64];

/// Rewrites the products that thunks execute, on devices with one thread per block. On other
/// devices, an emitter of products distributes the contracted elements over the threads of a block.
pub fn run(module: &mut Module, device: &DeviceDescription) -> Result<(), CompileError> {
    if !device.is_single_threaded_block() {
        return Ok(());
    }
    let computations: Vec<usize> = in_role(module, Role::Sequence).into_iter().map(ComputationId::index).collect();
    let is_touched = |&index: &usize| {
        let computation = &module.computations[index];
        computation.instructions.iter().any(|it| RowProduct::of(it, |id| computation.instruction(id)).is_some())
    };
    let touched: Vec<usize> = computations.into_iter().filter(is_touched).collect();
    if touched.is_empty() {
        return Ok(());
    }
    let sums = TYPES.map(|ty| combiner(module, &format!("sum_{ty}"), BinaryOp::Add, ty));
    put_in_front(module, sums.into());
    for index in touched.into_iter().map(|index| index + TYPES.len()) {
        let old = &module.computations[index];
        let new =
            Rebuild::each(old, |rebuild, _, instruction| Ok::<_, CompileError>(by_columns(rebuild, old, instruction)))?;
        module.computations[index] = new;
    }
    Ok(())
}

/// A product of one row and a matrix.
struct RowProduct<'a> {
    /// The matrix: first the contracted dimensions, then the columns.
    matrix: &'a ArrayShape,
    result: &'a ArrayShape,
    /// Number of the matrix' contracted dimensions.
    summed: usize,
    /// The combiner of the sums.
    sum: ComputationId,
}

impl<'a> RowProduct<'a> {
    fn of(instruction: &'a Instruction, instruction_of: impl Fn(InstrId) -> &'a Instruction) -> Option<RowProduct<'a>> {
        let Op::Dot(dims) = &instruction.op else { return None };
        let &[row, matrix] = &instruction.operands[..] else { return None };
        let (row, matrix) = (instruction_of(row).shape.as_array()?, instruction_of(matrix).shape.as_array()?);
        let result = instruction.shape.as_array()?;
        let sum = TYPES.iter().position(|&ty| [row, matrix, result].iter().all(|array| array.element_type == ty))?;
        let summed = dims.rhs_contracting.len();
        let columns: i64 = matrix.dims.iter().skip(summed).product();
        let is_row = row.element_count() == matrix.dims.iter().take(summed).product::<i64>();
        let suits = is_plain(dims) && is_row && columns >= FEWEST_COLUMNS && matrix.byte_size() >= LARGE;
        suits.then_some(RowProduct { matrix, result, summed, sum: ComputationId(sum as u32) })
    }
}

/// Whether the product has no batches and no prescribed algorithm, and contracts the first
/// dimensions of the matrix, in their order in the row.
fn is_plain(dims: &DotDims) -> bool {
    let first = 0..dims.rhs_contracting.len() as i64;
    dims.lhs_batch.is_empty()
        && dims.algorithm.is_empty()
        && dims.rhs_contracting.iter().copied().eq(first)
        && dims.lhs_contracting.is_sorted()
}

fn zero(element_type: ElementType) -> Literal {
    let data = vec![0; element_type.byte_size()];
    Literal::Array(ArrayLiteral { element_type, dims: Vec::new(), data: data.into() })
}

fn by_columns(rebuild: &mut Rebuild, old: &Computation, instruction: &Instruction) -> Option<InstrId> {
    let operands = rebuild.operands(instruction);
    let RowProduct { matrix, result, summed, sum } = RowProduct::of(instruction, |id| old.instruction(id))?;
    let origin = without_precision(instruction);
    let (steps, columns) = matrix.dims.split_at(summed);
    let ty = matrix.element_type;
    let whole = Shape::array(ty, matrix.dims.clone());
    let dimensions: Vec<i64> = (0..summed as i64).collect();
    let row = rebuild.add(&origin, Op::Reshape, Shape::array(ty, steps), vec![operands[0]]);
    let row = rebuild.add(&origin, Op::Broadcast { dimensions: dimensions.clone() }, whole.clone(), vec![row]);
    let products = rebuild.add(&origin, Op::Binary(BinaryOp::Multiply), whole, vec![row, operands[1]]);
    let zero = rebuild.add(&origin, Op::Constant(zero(ty)), Shape::array(ty, []), Vec::new());
    let reduce = Op::Reduce { dimensions, to_apply: sum };
    let sums = rebuild.add(&origin, reduce, Shape::array(ty, columns), vec![products, zero]);
    Some(rebuild.add(&origin, Op::Reshape, Shape::array(ty, result.dims.clone()), vec![sums]))
}
