//! Unary operations on floats and on complex numbers, in `f64`. The caller rounds to the element
//! type.

use std::ops::Neg;

use fusebox_core::hlo::UnaryOp;

use super::complex::Complex;

type OfReal = fn(f64) -> f64;
type OfComplex = fn(Complex) -> Complex;

/// Returns two functions that compute an operation: the first on floats, the second on complex
/// numbers. A function is `None` if the operation does not exist on the numbers that the function
/// takes, or if the operation's result has another type than these numbers.
pub(super) fn functions(op: UnaryOp) -> (Option<OfReal>, Option<OfComplex>) {
    let real = |function: OfReal| (Some(function), None);
    let both = |real: OfReal, complex: OfComplex| (Some(real), Some(complex));
    match op {
        UnaryOp::Abs => real(f64::abs),
        UnaryOp::Negate => both(f64::neg, Complex::negate),
        UnaryOp::Sign => both(sign, Complex::sign),
        UnaryOp::Real => real(|x| x),
        UnaryOp::Imag => real(|_| 0.0),
        UnaryOp::Ceil => real(f64::ceil),
        UnaryOp::Floor => real(f64::floor),
        UnaryOp::RoundNearestAfz => real(f64::round),
        UnaryOp::RoundNearestEven => real(f64::round_ties_even),
        UnaryOp::Sqrt => both(f64::sqrt, Complex::sqrt),
        UnaryOp::Rsqrt => both(|x| 1.0 / x.sqrt(), Complex::rsqrt),
        UnaryOp::Cbrt => both(f64::cbrt, Complex::cbrt),
        UnaryOp::Exponential => both(f64::exp, Complex::exp),
        UnaryOp::ExponentialMinusOne => both(f64::exp_m1, Complex::exp_m1),
        UnaryOp::Log => both(f64::ln, Complex::ln),
        UnaryOp::LogPlusOne => both(f64::ln_1p, Complex::ln_1p),
        UnaryOp::Logistic => both(logistic, Complex::logistic),
        UnaryOp::Sine => both(f64::sin, Complex::sin),
        UnaryOp::Cosine => both(f64::cos, Complex::cos),
        UnaryOp::Tan => both(f64::tan, Complex::tan),
        UnaryOp::Tanh => both(f64::tanh, Complex::tanh),
        UnaryOp::Sinh => both(f64::sinh, Complex::sinh),
        UnaryOp::Cosh => both(f64::cosh, Complex::cosh),
        UnaryOp::Asin => both(f64::asin, Complex::asin),
        UnaryOp::Acos => both(f64::acos, Complex::acos),
        UnaryOp::Asinh => both(libm::asinh, Complex::asinh),
        UnaryOp::Acosh => both(|x| if x < 1.0 { f64::NAN } else { libm::acosh(x) }, Complex::acosh),
        UnaryOp::Atanh => both(libm::atanh, Complex::atanh),
        UnaryOp::Erf => real(libm::erf),
        UnaryOp::CountLeadingZeros | UnaryOp::IsFinite | UnaryOp::Not | UnaryOp::Popcnt => (None, None),
    }
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
