//! Operations of one operand.

use fusebox_core::builder::{FloatPredicate, Scalar, Term};
use fusebox_core::hlo::{ElementType, UnaryOp};

use super::complex;
use super::float_types::{narrow, widen, widened};

/// Applies the operation to a value of type `ty`.
pub fn unary(op: UnaryOp, ty: ElementType, x: Term<'_>) -> Result<Term<'_>, String> {
    match (op, ty) {
        (_, ty) if ty.is_complex() => complex::unary(op, ty, x),
        (UnaryOp::Real, _) => Ok(x),
        // Rounds the zero like any other result, because a type without zero represents zero by
        // NaN.
        (UnaryOp::Imag, ty) if ty.is_float() => Ok(narrow(ty, x.number(0.0))),
        (UnaryOp::IsFinite, ty) if ty.is_float() => Ok(widen(x).absf().lt(f64::INFINITY)),
        (_, ty) if ty.is_float() => widened(ty, [x], |[x]| float(op, ty, x)),
        (_, ElementType::Pred) => pred(op, x),
        _ => integer(op, ty, x),
    }
}

/// Applies the operation to `f32` or `f64`.
fn float(op: UnaryOp, ty: ElementType, x: Term<'_>) -> Result<Term<'_>, String> {
    use UnaryOp::{CountLeadingZeros, Imag, IsFinite, Not, Popcnt, Real};
    Ok(match op {
        UnaryOp::Abs => x.absf(),
        UnaryOp::Acos => x.acos(),
        UnaryOp::Acosh => x.acosh(),
        UnaryOp::Asin => x.asin(),
        UnaryOp::Asinh => x.asinh(),
        UnaryOp::Atanh => x.atanh(),
        UnaryOp::Cbrt => x.cbrt(),
        UnaryOp::Ceil => x.ceil(),
        UnaryOp::Cosh => x.cosh(),
        UnaryOp::Cosine => x.cos(),
        UnaryOp::Erf => x.erf(),
        UnaryOp::Exponential => x.exp(),
        UnaryOp::ExponentialMinusOne => x.expm1(),
        UnaryOp::Floor => x.floor(),
        UnaryOp::Log => x.log(),
        UnaryOp::LogPlusOne => x.log1p(),
        UnaryOp::Negate => -x,
        UnaryOp::RoundNearestAfz => x.round(),
        UnaryOp::RoundNearestEven => x.roundeven(),
        UnaryOp::Rsqrt => x.rsqrt(),
        UnaryOp::Sine => x.sin(),
        UnaryOp::Sinh => x.sinh(),
        UnaryOp::Sqrt => x.sqrt(),
        UnaryOp::Tan => x.tan(),
        UnaryOp::Tanh => x.tanh(),
        UnaryOp::Logistic => logistic(x),
        UnaryOp::Sign => float_sign(x),
        CountLeadingZeros | Imag | IsFinite | Not | Popcnt | Real => return undefined(op, ty),
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

/// Computes the sign. NaN and zeros are unchanged. Other values become 1 with their sign.
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
/// instruction. The count is then too large by `extra`, which is subtracted.
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
