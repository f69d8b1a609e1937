//! Computes with four-bit integers as XLA:CPU does.
//!
//! XLA computes an arithmetic operation on `s4` or `u4` in 8 bits and truncates the result to 4
//! bits. If the next operation converts to the 8-bit type with the same signedness, XLA omits the
//! truncation, and programs see the 8-bit result. The reference interpreter omits the truncation in
//! the same cases as XLA.

use std::collections::HashSet;

use fusebox_core::hlo::{BinaryOp, ElementType, InstrId, Instruction, Module, Op, UnaryOp};
use fusebox_edit::{Rewrite, rewrite};

use crate::CompileError;

/// Rewrites four-bit arithmetic in every computation.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    for id in module.ids() {
        let mut cuts = HashSet::new();
        rewrite(module, id, |edit, _, instruction| Ok::<_, CompileError>(in_eight_bits(edit, instruction, &mut cuts)))?;
    }
    Ok(())
}

/// Computes an operation in 8 bits. `cuts` are the conversions to four bits that this pass has
/// added.
fn in_eight_bits(edit: &mut Rewrite, instruction: &Instruction, cuts: &mut HashSet<InstrId>) -> Option<InstrId> {
    let narrow = instruction.shape.as_array()?.element_type;
    let operands = edit.operands(instruction);
    if let (Op::Convert, [operand]) = (&instruction.op, operands.as_slice())
        && cuts.contains(operand)
    {
        let uncut = *edit.instruction(*operand).operands.first()?;
        return (*edit.shape(uncut) == instruction.shape).then_some(uncut);
    }
    // A dot of floats is not widened. Only its sum is converted to four bits.
    let of_integers =
        operands.iter().all(|&id| edit.array(id).is_some_and(|array| array.element_type.is_integer_or_pred()));
    let wide = wide_type(narrow).filter(|_| of_integers && is_widened(&instruction.op))?;
    let widened: Vec<InstrId> = operands.into_iter().map(|operand| edit.convert(operand, wide)).collect();
    let result = edit.add(instruction.op.clone(), widened);
    let cut = edit.convert(result, narrow);
    cuts.insert(cut);
    Some(cut)
}

fn wide_type(element_type: ElementType) -> Option<ElementType> {
    match element_type {
        ElementType::S4 => Some(ElementType::S8),
        ElementType::U4 => Some(ElementType::U8),
        _ => None,
    }
}

/// Whether to compute an operation in 8 bits. False if the result depends on the width.
fn is_widened(op: &Op) -> bool {
    match op {
        Op::Unary(op) => *op != UnaryOp::CountLeadingZeros,
        Op::Binary(op) => !matches!(op, BinaryOp::ShiftRightLogical | BinaryOp::ShiftRightArithmetic | BinaryOp::Mulhi),
        Op::Dot(_) => true,
        _ => false,
    }
}
