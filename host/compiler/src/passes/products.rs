//! Removes transposes of the operands and of the result of a product, because products read and
//! write arrays in any order of dimensions. Replaces products whose contracted dimensions have one
//! element.
//!
//! ```text
//! dot(a, b)             broadcast(a) * broadcast(b)         if the summed dimensions have one element: needs no separate kernel
//! dot(transpose a, b)   dot(a, b) over other dimensions     if unsummed dimensions keep their order
//! transpose(dot(a, b))  dot(b, a)                           if it swaps rows and columns, and is the product's only user
//! ```

use fusebox_core::hlo::{BinaryOp, DotDims, InstrId, Instruction, Module, Op};
use fusebox_edit::{Builder, Rewrite, rewrite};

use crate::CompileError;
use crate::roles::{Role, in_role};

/// Rewrites every product that thunks execute.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    for id in in_role(module, Role::Sequence) {
        let users = module.computation(id).users();
        rewrite(module, id, |edit, _, instruction| {
            Ok::<_, CompileError>(match &instruction.op {
                Op::Dot(dims) => outer(edit, instruction, dims).or_else(|| of_transposed(edit, instruction, dims)),
                Op::Transpose { permutation } if users[instruction.operands[0].index()].len() == 1 => {
                    transposed(edit, instruction, permutation)
                }
                _ => None,
            })
        })?;
    }
    Ok(())
}

/// Replaces a product by an elementwise multiplication if its contracted dimensions have one
/// element. Does not replace a product for which the program prescribes an algorithm: only emitters
/// that know this algorithm compute the product.
fn outer(edit: &mut Rewrite, instruction: &Instruction, dims: &DotDims) -> Option<InstrId> {
    let operands = edit.operands(instruction);
    let left = edit.array(operands[0])?;
    if !dims.algorithm.is_empty() || !dims.lhs_contracting.iter().all(|&d| left.dims[d as usize] == 1) {
        return None;
    }
    let columns = left.rank() - dims.lhs_contracting.len();
    let left = spread(edit, instruction, operands[0], (&dims.lhs_batch, &dims.lhs_contracting), dims.lhs_batch.len())?;
    let right = spread(edit, instruction, operands[1], (&dims.rhs_batch, &dims.rhs_contracting), columns)?;
    Some(edit.binary(BinaryOp::Multiply, left, right))
}

/// Broadcasts an operand of a product to the shape and type of the result. The operand's first free
/// dimension becomes dimension `first_free` of the result.
fn spread(
    edit: &mut Builder,
    product: &Instruction,
    operand: InstrId,
    (batch, summed): (&[i64], &[i64]),
    first_free: usize,
) -> Option<InstrId> {
    let result = product.shape.as_array()?;
    let source = edit.array(operand)?.clone();
    let mut next_free = first_free as i64..;
    let place = |d: i64| batch.iter().position(|&it| it == d).map(|it| it as i64).or_else(|| next_free.next());
    let kept: Vec<i64> = (0..source.rank() as i64).filter(|d| !summed.contains(d)).collect();
    let places: Vec<i64> = kept.iter().copied().map(place).collect::<Option<_>>()?;
    let sizes: Vec<i64> = kept.iter().map(|&d| source.dims[d as usize]).collect();
    let mut order: Vec<i64> = (0..places.len() as i64).collect();
    order.sort_by_key(|&at| places[at as usize]);
    let dimensions: Vec<i64> = order.iter().map(|&at| places[at as usize]).collect();

    let value = edit.reshape(operand, &sizes);
    let value = edit.transpose(value, &order);
    let value = edit.convert(value, result.element_type);
    Some(edit.broadcast(value, &result.dims, &dimensions))
}

/// Returns a product that reads the arrays directly instead of their transposes.
fn of_transposed(edit: &mut Rewrite, instruction: &Instruction, dims: &DotDims) -> Option<InstrId> {
    let mut dims = dims.clone();
    let operands = edit.operands(instruction);
    let left = untransposed(edit, operands[0], &mut dims.lhs_batch, &mut dims.lhs_contracting);
    let right = untransposed(edit, operands[1], &mut dims.rhs_batch, &mut dims.rhs_contracting);
    let sources = vec![left, right];
    (sources != operands).then(|| edit.add_shaped(Op::Dot(dims), instruction.shape.clone(), sources))
}

/// Returns the array that the operand transposes, and renumbers the batch and contracted dimensions
/// to match. Returns the operand itself if the transpose changes the order of rows or columns of
/// the product.
fn untransposed(edit: &Builder, operand: InstrId, batch: &mut [i64], summed: &mut [i64]) -> InstrId {
    let instruction = edit.instruction(operand);
    let Op::Transpose { permutation } = &instruction.op else { return operand };
    let is_free = |d: &i64| !batch.contains(d) && !summed.contains(d);
    let free = (0..permutation.len() as i64).filter(is_free).map(|d| permutation[d as usize]);
    if !free.is_sorted() {
        return operand;
    }
    batch.iter_mut().chain(summed).for_each(|d| *d = permutation[*d as usize]);
    instruction.operands[0]
}

/// Replaces the transpose of a product by the product of the swapped operands.
fn transposed(edit: &mut Rewrite, instruction: &Instruction, permutation: &[i64]) -> Option<InstrId> {
    let rank = permutation.len();
    let product = edit.instruction(edit.mapped(instruction.operands[0])).clone();
    let Op::Dot(dims) = &product.op else { return None };
    let left = edit.array(product.operands[0])?.rank();
    let batch = dims.lhs_batch.len();
    let columns = left - dims.lhs_contracting.len();
    let exchanged = (0..batch).chain(columns..rank).chain(batch..columns).map(|d| d as i64);
    if !exchanged.eq(permutation.iter().copied()) || edit.old().root == instruction.operands[0] {
        return None;
    }
    let dims = DotDims {
        lhs_batch: dims.rhs_batch.clone(),
        rhs_batch: dims.lhs_batch.clone(),
        lhs_contracting: dims.rhs_contracting.clone(),
        rhs_contracting: dims.lhs_contracting.clone(),
        algorithm: dims.algorithm.clone(),
    };
    let operands: Vec<InstrId> = product.operands.iter().rev().copied().collect();
    Some(edit.with_origin(product, |edit| edit.add_shaped(Op::Dot(dims), instruction.shape.clone(), operands)))
}
