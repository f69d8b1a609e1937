//! Folds small operations on constants.
//!
//! The pass does not evaluate operations with the reference interpreter, because tests compare the
//! results of compiled programs with the interpreter's results. The pass does not evaluate
//! operations by executing kernels either, because the kernels may be for another machine. The pass
//! folds only operations whose value is the same on all targets: operations that move elements, and
//! the elementwise operations in `scalars`. The pass leaves unfolded operations in the program.

mod scalars;
#[cfg(test)]
mod tests;

use fusebox_core::hlo::{ArrayLiteral, ArrayShape, InstrId, Instruction, Literal, Module, Op};
use fusebox_edit::{Rewrite, rewrite};

use crate::CompileError;
use crate::roles::{Role, in_role};
use scalars::Scalar;

/// Largest number of elements of an operand or a result of a folded operation.
const MOST_ELEMENTS: i64 = 16;

/// Folds constants in all computations that thunks execute.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    for id in in_role(module, Role::Sequence) {
        rewrite(module, id, |edit, _, instruction| Ok::<_, CompileError>(fold(edit, instruction)))?;
    }
    Ok(())
}

fn fold(edit: &mut Rewrite, instruction: &Instruction) -> Option<InstrId> {
    let operands = edit.operands(instruction);
    let values: Vec<Literal> = operands.iter().map(|&o| constant(edit.instruction(o))).collect::<Option<_>>()?;
    let value = value(instruction, &values)?;
    Some(edit.add(Op::Constant(value), []))
}

/// Computes the value of a small operation on constants. A `broadcast` is not folded, because later
/// passes can simplify the operation better than an array constant. Operations that select elements
/// by the values of other operands, such as dynamic slices, are not folded either, because later
/// passes can simplify these operations better than an array constant.
pub fn value(instruction: &Instruction, operands: &[Literal]) -> Option<Literal> {
    let arrays: Vec<&ArrayLiteral> = operands.iter().map(Literal::as_array).collect::<Option<_>>()?;
    let shape = instruction.shape.as_array().filter(|_| is_small(instruction))?;
    let data = match &instruction.op {
        _ if arrays.is_empty() => None,
        Op::Reshape => Some(arrays[0].data.to_vec()),
        Op::Slice { dims } => moved(arrays[0], shape, |d, at| (d, dims[d].start + at * dims[d].stride)),
        Op::Transpose { permutation } => moved(arrays[0], shape, |d, at| (permutation[d] as usize, at)),
        Op::Reverse { dimensions } => {
            let is_reversed = |d: usize| dimensions.contains(&(d as i64));
            moved(arrays[0], shape, |d, at| (d, if is_reversed(d) { shape.dims[d] - 1 - at } else { at }))
        }
        op if op.is_elementwise() || op == &Op::BitcastConvert => elementwise(op, shape, &arrays),
        _ => None,
    };
    let value = Literal::Array(ArrayLiteral::new(shape.element_type, shape.dims.clone(), data?).ok()?);
    (value.shape() == instruction.shape).then_some(value)
}

/// Returns the value of a small constant.
pub fn constant(instruction: &Instruction) -> Option<Literal> {
    match &instruction.op {
        Op::Constant(literal) if is_small(instruction) => Some(literal.clone()),
        _ => None,
    }
}

fn is_small(instruction: &Instruction) -> bool {
    instruction.shape.as_array().is_some_and(|shape| shape.element_count() <= MOST_ELEMENTS)
}

/// Returns the bytes of an array that consists of elements of `from`. `source` maps a dimension of
/// the result and an index in it to a dimension of `from` and an index in that dimension.
fn moved(from: &ArrayLiteral, to: &ArrayShape, source: impl Fn(usize, i64) -> (usize, i64)) -> Option<Vec<u8>> {
    let size = from.element_type.byte_size();
    let mut data = Vec::new();
    for number in 0..to.element_count() {
        let mut rest = number;
        let mut index = vec![0; from.dims.len()];
        for d in (0..to.rank()).rev() {
            let (dimension, at) = source(d, rest % to.dims[d]);
            *index.get_mut(dimension)? = at;
            rest /= to.dims[d];
        }
        let position = index.iter().zip(&from.dims).fold(0, |position, (at, size)| position * size + at) as usize;
        data.extend(from.data.get(position * size..(position + 1) * size)?);
    }
    Some(data)
}

/// Returns the bytes of an elementwise operation's result. An operand with one element is used for
/// every element of the result.
fn elementwise(op: &Op, to: &ArrayShape, operands: &[&ArrayLiteral]) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    for number in 0..to.element_count() as usize {
        let elements = operands.iter().map(|operand| element(operand, number)).collect::<Option<Vec<Scalar>>>()?;
        data.extend(scalars::apply(op, to.element_type, &elements)?);
    }
    Some(data)
}

fn element(operand: &ArrayLiteral, number: usize) -> Option<Scalar<'_>> {
    let size = operand.element_type.byte_size();
    let number = if operand.element_count() == 1 { 0 } else { number };
    Some(Scalar { ty: operand.element_type, bytes: operand.data.get(number * size..(number + 1) * size)? })
}
