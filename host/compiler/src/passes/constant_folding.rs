//! Folds small operations on constants.

use fusebox_core::hlo::{InstrId, Instruction, Literal, Module, Op};
use fusebox_edit::{Rewrite, instruction_as_module, rewrite};

use crate::CompileError;
use crate::roles::{Role, in_role};

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
    let value = value(edit.module(), instruction, &values)?;
    Some(edit.add(Op::Constant(value), []))
}

/// Computes the value of a small operation on constants.
pub fn value(module: &Module, instruction: &Instruction, operands: &[Literal]) -> Option<Literal> {
    if operands.is_empty() || !is_small(instruction) || !is_foldable(&instruction.op) {
        return None;
    }
    let shapes: Vec<_> = operands.iter().map(Literal::shape).collect();
    let single = instruction_as_module(module, instruction, &shapes);
    let value = fusebox_interpreter::evaluate(&single, operands).ok()?;
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

/// Whether to fold an operation. Its value must depend only on its operands. A `broadcast` is not
/// folded, because later passes can simplify the operation better than an array constant. For the
/// same reason, operations that select elements by the values of other operands are not folded.
fn is_foldable(op: &Op) -> bool {
    match op {
        Op::Broadcast { .. } => false,
        Op::BitcastConvert | Op::Concatenate { .. } | Op::Pad { .. } => true,
        op => op.is_elementwise() || op.is_movement() && op.first_index().is_none(),
    }
}
