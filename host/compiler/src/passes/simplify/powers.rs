//! Simplifies powers with constant exponents.

use fusebox_core::hlo::{BinaryOp, Comparison, ElementType, InstrId, Instruction, Op, UnaryOp};
use fusebox_edit::Rewrite;

use super::uniform;

/// Rewrites `pow(x, 2)` to `x * x`, and powers by 0.5, 1.5 and -0.5 to square roots. The results
/// are at least as accurate as those of `pow`. For `-0` and `-inf`, the power is not negative, but
/// the square root is -0 or NaN, so the rewrite corrects these results.
pub fn simpler(edit: &mut Rewrite, instruction: &Instruction) -> Option<InstrId> {
    let Op::Binary(BinaryOp::Power) = instruction.op else { return None };
    let [x, y] = edit.operands(instruction)[..] else { return None };
    if *edit.shape(x) != instruction.shape {
        return None;
    }
    let exponent = exponent(edit, instruction.shape.as_array()?.element_type, y)?;
    if exponent == 2.0 {
        return Some(edit.binary(BinaryOp::Multiply, x, x));
    }
    let (power, of_infinity) = if exponent == 0.5 {
        let root = edit.unary(UnaryOp::Sqrt, x);
        (edit.unary(UnaryOp::Abs, root), f64::INFINITY)
    } else if exponent == 1.5 {
        let root = edit.unary(UnaryOp::Sqrt, x);
        (edit.binary(BinaryOp::Multiply, x, root), f64::INFINITY)
    } else if exponent == -0.5 {
        let root = edit.unary(UnaryOp::Rsqrt, x);
        (edit.unary(UnaryOp::Abs, root), 0.0)
    } else {
        return None;
    };
    let infinity = edit.filled_like(x, f64::NEG_INFINITY);
    let is_infinity = edit.compare(Comparison::Eq, x, infinity);
    let of_infinity = edit.filled_like(x, of_infinity);
    Some(edit.select(is_infinity, of_infinity, power))
}

/// Returns the exponent if all elements have the same exponent, and if products and roots of type
/// `ty` are as accurate as powers of this type.
fn exponent(edit: &Rewrite, ty: ElementType, y: InstrId) -> Option<f64> {
    let known = uniform(edit, y)?;
    match ty {
        ElementType::F32 => Some(f64::from(f32::from_le_bytes(known.data[..].try_into().ok()?))),
        ElementType::F64 => Some(f64::from_le_bytes(known.data[..].try_into().ok()?)),
        _ => None,
    }
}
