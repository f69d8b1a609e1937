//! Simplifies operations whose result depends on only one operand.

use fusebox_core::hlo::{BinaryOp, ElementType, InstrId, Instruction, Op, UnaryOp};
use fusebox_edit::{Builder, Rewrite};

use super::uniform;

pub fn simpler(edit: &mut Rewrite, instruction: &Instruction) -> Option<InstrId> {
    let operands = edit.operands(instruction);
    let simpler = match (&instruction.op, operands.as_slice()) {
        (Op::Binary(op), &[x, y]) => binary(edit, *op, [x, y])?,
        (Op::Unary(op), &[x]) => unary(edit, *op, x)?,
        (Op::Select, &[condition, on_true, on_false]) => match uniform(edit, condition) {
            _ if on_true == on_false => on_true,
            Some(known) => {
                if known.data[..] == [0] {
                    on_false
                } else {
                    on_true
                }
            }
            None => return None,
        },
        _ => return None,
    };
    (*edit.shape(simpler) == instruction.shape).then_some(simpler)
}

fn binary(edit: &Builder, op: BinaryOp, [x, y]: [InstrId; 2]) -> Option<InstrId> {
    let ty = edit.array(x)?.element_type;
    let is = |id: InstrId, bytes: &Option<Vec<u8>>| {
        uniform(edit, id).zip(bytes.as_ref()).is_some_and(|(known, bytes)| known.data[..] == bytes[..])
    };
    let (neutral, absorbing) = (op.identity(ty), op.absorbing(ty));
    if x == y && is_idempotent(op) || is(y, &neutral) || is(x, &absorbing) || is(y, &neutral_behind(op, ty)) {
        return Some(x);
    }
    (is(x, &neutral) || is(y, &absorbing)).then_some(y)
}

/// Returns the value that, as the second operand, leaves the first operand unchanged. As the first
/// operand, this value may change the second operand.
fn neutral_behind(op: BinaryOp, ty: ElementType) -> Option<Vec<u8>> {
    let one = BinaryOp::Multiply.identity(ty)?;
    match op {
        BinaryOp::Subtract => Some(vec![0; one.len()]),
        BinaryOp::Divide | BinaryOp::Power => Some(one),
        _ => None,
    }
}

fn is_idempotent(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Maximum | BinaryOp::Minimum)
}

fn unary(edit: &Builder, op: UnaryOp, x: InstrId) -> Option<InstrId> {
    let operand = edit.instruction(x);
    match (op, &operand.op) {
        (UnaryOp::Negate, Op::Unary(UnaryOp::Negate)) | (UnaryOp::Not, Op::Unary(UnaryOp::Not)) => {
            Some(operand.operands[0])
        }
        (UnaryOp::Real, Op::Binary(BinaryOp::Complex)) => Some(operand.operands[0]),
        (UnaryOp::Imag, Op::Binary(BinaryOp::Complex)) => Some(operand.operands[1]),
        _ => None,
    }
}
