//! Merges two consecutive conversions.

use fusebox_core::hlo::{ElementType, InstrId, Instruction, Op};
use fusebox_edit::Rewrite;

pub fn simpler(edit: &mut Rewrite, instruction: &Instruction) -> Option<InstrId> {
    let Op::Convert = instruction.op else { return None };
    let through = edit.instruction(edit.mapped(instruction.operands[0]));
    let Op::Convert = through.op else { return None };
    let source = through.operands[0];
    let from = edit.array(source)?.element_type;
    let (through, to) = (through.shape.as_array()?.element_type, instruction.shape.as_array()?.element_type);
    if !loses_nothing(from, through) {
        return None;
    }
    // A conversion from integer to integer keeps the low bits. A conversion from float to integer
    // keeps the value.
    let is_by_value = through.is_float() == from.is_float() || to.is_float();
    (from == to || is_by_value).then(|| edit.convert(source, to))
}

/// Whether every value of type `from` is also a value of type `to`.
fn loses_nothing(from: ElementType, to: ElementType) -> bool {
    let digits = match to {
        ElementType::F64 => 53,
        ElementType::F32 => 24,
        _ if to.is_signed_integer() => to.bits() - 1,
        _ if to.is_unsigned_integer() => to.bits(),
        _ => return false,
    };
    match from {
        ElementType::Pred => true,
        _ if from.is_float() => to.is_float() && from.bits() < to.bits(),
        _ if from.is_signed_integer() => !to.is_unsigned_integer() && from.bits() - 1 <= digits,
        _ => from.is_unsigned_integer() && from.bits() <= digits,
    }
}
