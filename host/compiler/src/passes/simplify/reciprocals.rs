//! Simplifies quotients by a reciprocal.

use fusebox_core::hlo::{BinaryOp, InstrId, Instruction, Op};
use fusebox_edit::Rewrite;

use super::uniform;

/// Rewrites `a / (1 / x)` to `a * x`, and `1 / (1 / x)` to `x`. Both rewritten expressions round
/// less often than the original ones, and are finite where `1 / x` is subnormal and flushed to
/// zero. For complex numbers, rewrites only `1 / (1 / x)`, because products and quotients differ in
/// infinities and NaN.
pub fn simpler(edit: &mut Rewrite, instruction: &Instruction) -> Option<InstrId> {
    let Op::Binary(BinaryOp::Divide) = instruction.op else { return None };
    let ty = instruction.shape.as_array()?.element_type;
    if !ty.is_float() && !ty.is_complex() {
        return None;
    }
    let mut one = BinaryOp::Multiply.identity(ty.real_part())?;
    one.resize(ty.byte_size(), 0);
    let [a, quotient] = edit.operands(instruction)[..] else { return None };
    let quotient = edit.instruction(quotient);
    let (Op::Binary(BinaryOp::Divide), &[numerator, x]) = (&quotient.op, &quotient.operands[..]) else { return None };
    let is_one = |id: InstrId| uniform(edit, id).is_some_and(|known| known.data[..] == one[..]);
    if !is_one(numerator) || *edit.shape(x) != instruction.shape {
        return None;
    }
    if is_one(a) {
        return Some(x);
    }
    ty.is_float().then(|| edit.binary(BinaryOp::Multiply, a, x))
}
