//! Operations of one operand.
//!
//! Most operations on complex numbers are computed on `f64` parts, also for `c64`. With `f64`
//! parts, the intermediate values of a `c64` operation neither overflow nor underflow, and
//! cancellation loses no digits of the rounded result.

use std::ops::Neg;

use fusebox_core::builder::{FloatPredicate, Scalar, Term};
use fusebox_core::hlo::{ElementType, UnaryOp};

use super::complex_pair::{ComplexPair, magnitude, plain_magnitude, rounded};
use super::float_types::{narrow, widen, widened};
use super::{complex_functions as functions, complex_inverse as inverse};

/// Applies the operation to a value of type `ty`.
pub fn unary(op: UnaryOp, ty: ElementType, x: Term<'_>) -> Result<Term<'_>, String> {
    match (op, ty) {
        (_, ty) if ty.is_complex() => complex(op, ty, x),
        (UnaryOp::Real, _) => Ok(x),
        // Rounds the zero like any other result, because a type without zero represents zero by
        // NaN.
        (UnaryOp::Imag, ty) if ty.is_float() => Ok(narrow(ty, x.number(0.0))),
        (UnaryOp::IsFinite, ty) if ty.is_float() => Ok(widen(x).absf().lt(f64::INFINITY)),
        (_, ty) if ty.is_float() => match formulas(op).0 {
            Some(function) => widened(ty, [x], |[x]| Ok(function(x))),
            None => undefined(op, ty),
        },
        (_, ElementType::Pred) => pred(op, x),
        _ => integer(op, ty, x),
    }
}

type Real<'f> = fn(Term<'f>) -> Term<'f>;
type Complex<'f> = fn(ComplexPair<'f>) -> ComplexPair<'f>;

/// Returns the function that computes the operation on `f32` or `f64`, and the function on complex
/// numbers with `f64` parts.
fn formulas<'f>(op: UnaryOp) -> (Option<Real<'f>>, Option<Complex<'f>>) {
    let real = |function: Real<'f>| (Some(function), None);
    let both = |real: Real<'f>, complex: Complex<'f>| (Some(real), Some(complex));
    match op {
        UnaryOp::Abs => real(Term::absf),
        UnaryOp::Acos => both(Term::acos, inverse::acos),
        UnaryOp::Acosh => both(Term::acosh, inverse::acosh),
        UnaryOp::Asin => both(Term::asin, inverse::asin),
        UnaryOp::Asinh => both(Term::asinh, inverse::asinh),
        UnaryOp::Atanh => both(Term::atanh, inverse::atanh),
        UnaryOp::Cbrt => both(Term::cbrt, inverse::cbrt),
        UnaryOp::Ceil => real(Term::ceil),
        UnaryOp::Cosh => both(Term::cosh, functions::cosh),
        UnaryOp::Cosine => both(Term::cos, functions::cos),
        UnaryOp::Erf => real(Term::erf),
        UnaryOp::Exponential => real(Term::exp),
        UnaryOp::ExponentialMinusOne => both(Term::expm1, functions::expm1),
        UnaryOp::Floor => real(Term::floor),
        UnaryOp::Log => both(Term::log, functions::log),
        UnaryOp::LogPlusOne => both(Term::log1p, functions::log1p),
        UnaryOp::Logistic => both(logistic, functions::logistic),
        UnaryOp::Negate => real(Neg::neg),
        UnaryOp::RoundNearestAfz => real(Term::round),
        UnaryOp::RoundNearestEven => real(Term::roundeven),
        UnaryOp::Rsqrt => both(Term::rsqrt, functions::rsqrt),
        UnaryOp::Sign => both(float_sign, functions::sign),
        UnaryOp::Sine => both(Term::sin, functions::sin),
        UnaryOp::Sinh => both(Term::sinh, functions::sinh),
        UnaryOp::Sqrt => both(Term::sqrt, functions::sqrt),
        UnaryOp::Tan => both(Term::tan, functions::tan),
        UnaryOp::Tanh => both(Term::tanh, functions::tanh),
        UnaryOp::CountLeadingZeros | UnaryOp::Imag | UnaryOp::IsFinite | UnaryOp::Not | UnaryOp::Popcnt => (None, None),
        UnaryOp::Real => (None, None),
    }
}

/// Applies the operation to a complex value of type `ty`.
fn complex(op: UnaryOp, ty: ElementType, x: Term<'_>) -> Result<Term<'_>, String> {
    Ok(match op {
        UnaryOp::Real => x.re(),
        UnaryOp::Imag => x.im(),
        UnaryOp::Negate => (-ComplexPair::of(x)).joined(),
        UnaryOp::Abs if ty == ElementType::C64 => rounded(ty, plain_magnitude(ComplexPair::wide(x))),
        UnaryOp::Abs => rounded(ty, magnitude(ComplexPair::wide(x))),
        UnaryOp::Exponential => functions::exp(ComplexPair::of(x)).joined(),
        _ => match formulas(op).1 {
            Some(function) => function(ComplexPair::wide(x)).rounded(ty),
            None => return undefined(op, ty),
        },
    })
}

fn undefined<T>(op: UnaryOp, ty: ElementType) -> Result<T, String> {
    Err(format!("{} is not defined on {ty}", op.opcode()))
}

/// Computes `1 / (1 + exp(-x))`, with an exponential that never overflows.
fn logistic(x: Term<'_>) -> Term<'_> {
    let e = (-x.absf()).exp();
    x.lt(0.0).select(e, x.number(1.0)) / (1.0 + e)
}

/// Computes the sign. The function returns NaN and zeros unchanged. For any other value, it returns
/// 1 with the sign of the value.
fn float_sign(x: Term<'_>) -> Term<'_> {
    let unit = x.number(1.0).copysign(x);
    x.cmpf(FloatPredicate::One, 0.0).select(unit, x)
}

fn pred(op: UnaryOp, x: Term<'_>) -> Result<Term<'_>, String> {
    match op {
        UnaryOp::Not => Ok(!x),
        UnaryOp::Popcnt | UnaryOp::Sign | UnaryOp::Abs => Ok(x),
        _ => undefined(op, ElementType::Pred),
    }
}

fn integer(op: UnaryOp, ty: ElementType, x: Term<'_>) -> Result<Term<'_>, String> {
    match op {
        UnaryOp::Abs if ty.is_unsigned_integer() => Ok(x),
        UnaryOp::Abs => Ok(x.maxsi(-x)),
        UnaryOp::Negate => Ok(-x),
        UnaryOp::Not => Ok(!x),
        UnaryOp::Popcnt => Ok(counted(x, 0, |x| x.ctpop())),
        UnaryOp::CountLeadingZeros => Ok(counted(x, 32 - i64::from(ty.bits()), |x| x.ctlz())),
        UnaryOp::Sign => Ok(integer_sign(ty, x)),
        _ => undefined(op, ty),
    }
}

/// Counts bits. Integers narrower than 32 bits are extended to 32 bits, for which there is an
/// instruction. The count of an extended integer is too large by `extra`, which the code subtracts.
fn counted<'f>(x: Term<'f>, extra: i64, count: impl FnOnce(Term<'f>) -> Term<'f>) -> Term<'f> {
    if x.scalar().bits() >= 32 {
        return count(x);
    }
    let counted = count(x.extui(Scalar::I32));
    let counted = if extra > 0 { counted - extra } else { counted };
    counted.trunci(x.scalar())
}

fn integer_sign(ty: ElementType, x: Term<'_>) -> Term<'_> {
    let nonzero = x.ne(0_i64);
    let one = x.integer(1);
    let unit = if ty.is_signed_integer() { x.shrsi(i64::from(ty.bits()) - 1) | one } else { one };
    nonzero.select(unit, x.integer(0))
}
