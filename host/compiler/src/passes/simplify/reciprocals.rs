//! Simplifies quotients by a reciprocal.

use fusebox_core::hlo::{BinaryOp, InstrId, Instruction, Op};

use super::uniform;
use crate::passes::identity::neutral;
use crate::rebuild::Rebuild;

/// Rewrites `a / (1 / x)` to `a * x`, and `1 / (1 / x)` to `x`. Both round less often, and are
/// finite where `1 / x` is subnormal and flushed to zero. For complex numbers it rewrites only `1 /
/// (1 / x)`: products and quotients have different infinities and NaN.
pub fn simpler(rebuild: &mut Rebuild, instruction: &Instruction) -> Option<InstrId> {
    let Op::Binary(BinaryOp::Divide) = instruction.op else { return None };
    let ty = instruction.shape.as_array()?.element_type;
    if !ty.is_float() && !ty.is_complex() {
        return None;
    }
    let mut one = neutral(BinaryOp::Multiply, ty.real_part())?;
    one.resize(ty.byte_size(), 0);
    let [a, quotient] = rebuild.operands(instruction)[..] else { return None };
    let quotient = rebuild.instruction(quotient);
    let (Op::Binary(BinaryOp::Divide), &[numerator, x]) = (&quotient.op, &quotient.operands[..]) else { return None };
    let is_one = |id: InstrId| uniform(rebuild, id).is_some_and(|known| known.data[..] == one[..]);
    if !is_one(numerator) || rebuild.instruction(x).shape != instruction.shape {
        return None;
    }
    if is_one(a) {
        return Some(x);
    }
    let product = Op::Binary(BinaryOp::Multiply);
    ty.is_float().then(|| rebuild.add(instruction, product, instruction.shape.clone(), vec![a, x]))
}
