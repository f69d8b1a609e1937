//! Operations on real floats in `f64`. The caller rounds to the element type.

use fusebox_core::hlo::{BinaryOp, UnaryOp};

/// Applies a unary operation. Returns `None` if the result has another type or the operation does
/// not exist on floats.
#[inline]
pub(super) fn unary(op: UnaryOp, x: f64) -> Option<f64> {
    Some(match op {
        UnaryOp::Abs => x.abs(),
        UnaryOp::Negate => -x,
        UnaryOp::Sign => sign(x),
        UnaryOp::Real => x,
        UnaryOp::Imag => 0.0,
        UnaryOp::Ceil => x.ceil(),
        UnaryOp::Floor => x.floor(),
        UnaryOp::RoundNearestAfz => x.round(),
        UnaryOp::RoundNearestEven => x.round_ties_even(),
        UnaryOp::Sqrt => x.sqrt(),
        UnaryOp::Rsqrt => 1.0 / x.sqrt(),
        UnaryOp::Cbrt => x.cbrt(),
        UnaryOp::Exponential => x.exp(),
        UnaryOp::ExponentialMinusOne => x.exp_m1(),
        UnaryOp::Log => x.ln(),
        UnaryOp::LogPlusOne => x.ln_1p(),
        UnaryOp::Logistic => logistic(x),
        UnaryOp::Sine => x.sin(),
        UnaryOp::Cosine => x.cos(),
        UnaryOp::Tan => x.tan(),
        UnaryOp::Tanh => x.tanh(),
        UnaryOp::Sinh => x.sinh(),
        UnaryOp::Cosh => x.cosh(),
        UnaryOp::Asin => x.asin(),
        UnaryOp::Acos => x.acos(),
        UnaryOp::Asinh => libm::asinh(x),
        UnaryOp::Acosh if x < 1.0 => f64::NAN,
        UnaryOp::Acosh => libm::acosh(x),
        UnaryOp::Atanh => libm::atanh(x),
        UnaryOp::Erf => libm::erf(x),
        UnaryOp::CountLeadingZeros | UnaryOp::IsFinite | UnaryOp::Not | UnaryOp::Popcnt => return None,
    })
}

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

/// Returns -1, 0 (with the sign of `x`) or 1, or NaN for NaN.
fn sign(x: f64) -> f64 {
    if x == 0.0 || x.is_nan() { x } else { 1f64.copysign(x) }
}

fn logistic(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
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
