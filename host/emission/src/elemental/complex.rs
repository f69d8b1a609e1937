//! Operations on complex numbers, as formulas on the real and imaginary parts.
//!
//! All operations except sums, products and exponentials are computed on `f64` parts, also for
//! `c64`. Intermediate values then neither overflow nor underflow, and cancellation loses no digits
//! of the rounded result.

use std::ops::{Add, Div, Mul, Sub};

use fusebox_core::builder::Term;
use fusebox_core::hlo::{BinaryOp, Comparison, ElementType, UnaryOp};

use super::compare::compare;
use super::complex_pair::{
    ComplexPair, choose, magnitude, plain_magnitude, plain_quotient, recovered_quotient, rounded,
};
use super::{complex_functions as functions, complex_inverse as inverse};

/// Applies the operation to a complex value of type `ty`.
pub fn unary(op: UnaryOp, ty: ElementType, x: Term<'_>) -> Result<Term<'_>, String> {
    match op {
        UnaryOp::Real => return Ok(x.re()),
        UnaryOp::Imag => return Ok(x.im()),
        UnaryOp::Negate => return Ok((-ComplexPair::of(x)).joined()),
        UnaryOp::Abs => {
            let x = ComplexPair::wide(x);
            return Ok(rounded(ty, if ty == ElementType::C64 { plain_magnitude(x) } else { magnitude(x) }));
        }
        UnaryOp::Exponential => return Ok(functions::exp(ComplexPair::of(x)).joined()),
        UnaryOp::IsFinite => return Err("is-finite is not defined on complex numbers".into()),
        _ => {}
    }
    let function = match op {
        UnaryOp::Sign => sign,
        UnaryOp::ExponentialMinusOne => functions::expm1,
        UnaryOp::Log => functions::log,
        UnaryOp::LogPlusOne => functions::log1p,
        UnaryOp::Sqrt => functions::sqrt,
        UnaryOp::Rsqrt => functions::rsqrt,
        UnaryOp::Logistic => logistic,
        UnaryOp::Sine => functions::sin,
        UnaryOp::Cosine => functions::cos,
        UnaryOp::Tan => functions::tan,
        UnaryOp::Sinh => functions::sinh,
        UnaryOp::Cosh => functions::cosh,
        UnaryOp::Tanh => functions::tanh,
        UnaryOp::Acos => inverse::acos,
        UnaryOp::Acosh => inverse::acosh,
        UnaryOp::Asin => inverse::asin,
        UnaryOp::Asinh => inverse::asinh,
        UnaryOp::Atanh => inverse::atanh,
        UnaryOp::Cbrt => inverse::cbrt,
        _ => return Err(format!("{} is not supported on complex numbers", op.opcode())),
    };
    Ok(function(ComplexPair::wide(x)).rounded(ty))
}

/// Applies the operation to two complex values of type `ty`.
pub fn binary<'f>(op: BinaryOp, ty: ElementType, x: Term<'f>, y: Term<'f>) -> Result<Term<'f>, String> {
    let parts = || (ComplexPair::of(x), ComplexPair::of(y));
    let wide = || (ComplexPair::wide(x), ComplexPair::wide(y));
    let of = |function: fn(ComplexPair<'f>, ComplexPair<'f>) -> ComplexPair<'f>, (x, y)| function(x, y);
    Ok(match op {
        BinaryOp::Add => of(ComplexPair::add, parts()).joined(),
        BinaryOp::Subtract => of(ComplexPair::sub, parts()).joined(),
        BinaryOp::Multiply => of(ComplexPair::mul, parts()).joined(),
        BinaryOp::Divide if ty == ElementType::C64 => {
            let quotient = of(plain_quotient, wide()).map(|part| rounded(ty, part));
            let (x, y) = parts();
            recovered_quotient(x, y, quotient).joined()
        }
        BinaryOp::Divide => of(ComplexPair::div, wide()).rounded(ty),
        BinaryOp::Power => of(functions::pow, wide()).rounded(ty),
        BinaryOp::Atan2 => of(functions::atan2, wide()).rounded(ty),
        BinaryOp::Maximum => compare(Comparison::Ge, None, ty, x, y).select(x, y),
        BinaryOp::Minimum => compare(Comparison::Le, None, ty, x, y).select(x, y),
        _ => return Err(format!("{} is not defined on complex numbers", op.opcode())),
    })
}

fn sign(x: ComplexPair<'_>) -> ComplexPair<'_> {
    let size = magnitude(x);
    let quotient = x.map(|part| part / size);
    choose(x.is_zero(), x, quotient)
}

fn logistic(x: ComplexPair<'_>) -> ComplexPair<'_> {
    let e = functions::exp(-x);
    x.real(1.0) / ComplexPair { re: 1.0 + e.re, im: e.im }
}
