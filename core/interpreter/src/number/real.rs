//! Operations on two real floats in `f64`. The caller rounds to the element type.

use fusebox_core::hlo::BinaryOp;

/// Applies a binary operation. Returns `None` if the operation does not exist on floats.
#[inline]
pub(super) fn binary(op: BinaryOp, a: f64, b: f64) -> Option<f64> {
    Some(match op {
        BinaryOp::Add => a + b,
        BinaryOp::Subtract => a - b,
        BinaryOp::Multiply => a * b,
        BinaryOp::Divide => a / b,
        BinaryOp::Remainder => a % b,
        BinaryOp::Maximum => maximum(a, b),
        BinaryOp::Minimum => -maximum(-a, -b),
        BinaryOp::Power => a.powf(b),
        BinaryOp::Atan2 => a.atan2(b),
        _ => return None,
    })
}

/// Returns the larger number, or NaN if either is NaN. +0 is larger than -0.
#[inline]
pub(crate) fn maximum(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    if a == b {
        return if a.is_sign_negative() { b } else { a };
    }
    if a > b { a } else { b }
}
