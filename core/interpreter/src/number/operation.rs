//! Elementwise operations on single elements of any type.

use fusebox_core::hlo::{BinaryOp, Comparison, ComparisonType, ElementType, UnaryOp};

use super::unary::functions;
use super::{Complex, complex, float_format, int, real, round, round_complex};
use crate::error::{Outcome, malformed, unsupported};
use crate::value::Scalar;

/// Applies a unary operation to an element of type `ty`. `result` is the result's type.
pub(crate) fn unary(op: UnaryOp, ty: ElementType, result: ElementType, x: Scalar) -> Outcome<Scalar> {
    let (real, complex) = functions(op);
    let value = match x {
        Scalar::Int(x) => match op {
            UnaryOp::IsFinite => Some(Scalar::Int(1)),
            UnaryOp::Imag => Some(Scalar::Int(0)),
            _ => int::unary(op, ty, x).map(Scalar::Int),
        },
        Scalar::Float(x) => match op {
            UnaryOp::IsFinite => Some(Scalar::Int(i64::from(x.is_finite()))),
            // These operations change only bits, and must keep a NaN's payload.
            UnaryOp::Real => Some(Scalar::Float(x)),
            UnaryOp::Abs | UnaryOp::Negate if negate_is_exact(ty) => real.map(|real| Scalar::Float(real(x))),
            _ => real.map(|real| Scalar::Float(round_computed(result, real(x)))),
        },
        Scalar::Complex(z) => match op {
            UnaryOp::IsFinite => Some(Scalar::Int(i64::from(z.re.is_finite() && z.im.is_finite()))),
            UnaryOp::Real => Some(Scalar::Float(z.re)),
            UnaryOp::Imag => Some(Scalar::Float(z.im)),
            UnaryOp::Abs => Some(Scalar::Float(round(result, z.abs()))),
            _ => complex.map(|complex| Scalar::Complex(round_complex(result, complex(z)))),
        },
    };
    match value {
        Some(value) => Ok(value),
        None => unsupported(format!("{} of {ty}", op.opcode())),
    }
}

/// Rounds the result of an operation to its type. An operation on narrow floats gives the same
/// result as a computation in `f32`. The range of `f32` affects only results of type `f8E8M0FNU`.
/// `f8E8M0FNU` has no zero, so a number that `f32` rounds to 0 becomes NaN.
fn round_computed(ty: ElementType, x: f64) -> f64 {
    if ty == ElementType::F8E8M0FNU { round(ty, round(ElementType::F32, x)) } else { round(ty, x) }
}

/// Whether negating a number of this type always changes only the sign bit.
pub(crate) fn negate_is_exact(ty: ElementType) -> bool {
    ty != ElementType::F8E8M0FNU && !has_nan_for_negative_zero(ty)
}

fn has_nan_for_negative_zero(ty: ElementType) -> bool {
    ty.is_float() && float_format(ty).has_nan_for_negative_zero()
}

pub(crate) fn binary(op: BinaryOp, ty: ElementType, a: Scalar, b: Scalar) -> Outcome<Scalar> {
    let value = match (a, b) {
        (Scalar::Int(a), Scalar::Int(b)) => int::binary(op, ty, a, b).map(Scalar::Int),
        (Scalar::Float(re), Scalar::Float(im)) if op == BinaryOp::Complex => Some(Scalar::Complex(Complex { re, im })),
        (Scalar::Float(a), Scalar::Float(b)) => real::binary(op, a, b).map(|x| Scalar::Float(round_computed(ty, x))),
        (Scalar::Complex(a), Scalar::Complex(b)) => {
            complex::binary(op, a, b).map(|x| Scalar::Complex(round_complex(ty, x)))
        }
        _ => return malformed(format!("the operands of {} differ in type", op.opcode())),
    };
    match value {
        Some(value) => Ok(value),
        None => unsupported(format!("{} of {ty}", op.opcode())),
    }
}

/// Returns the type of a binary operation's result.
pub(crate) fn binary_result_type(op: BinaryOp, ty: ElementType) -> ElementType {
    match (op, ty) {
        (BinaryOp::Complex, ElementType::F64) => ElementType::C128,
        (BinaryOp::Complex, _) => ElementType::C64,
        _ => ty,
    }
}

pub(crate) fn compare(
    direction: Comparison,
    order: Option<ComparisonType>,
    ty: ElementType,
    a: Scalar,
    b: Scalar,
) -> Outcome<bool> {
    match (a, b) {
        (Scalar::Int(a), Scalar::Int(b)) => Ok(by_order(direction, int::less(ty, a, b), a == b)),
        (Scalar::Float(a), Scalar::Float(b)) if order == Some(ComparisonType::TotalOrder) => {
            let (a, b) = (total_order(ty, a), total_order(ty, b));
            Ok(by_order(direction, a < b, a == b))
        }
        (Scalar::Float(a), Scalar::Float(b)) => Ok(by_ieee(direction, a, b)),
        (Scalar::Complex(a), Scalar::Complex(b)) => Ok(complex::compare(direction, a, b)),
        _ => malformed("the operands of compare differ in type"),
    }
}

fn by_order(direction: Comparison, less: bool, equal: bool) -> bool {
    match direction {
        Comparison::Eq => equal,
        Comparison::Ne => !equal,
        Comparison::Lt => less,
        Comparison::Le => less || equal,
        Comparison::Gt => !less && !equal,
        Comparison::Ge => !less,
    }
}

fn by_ieee(direction: Comparison, a: f64, b: f64) -> bool {
    match direction {
        Comparison::Eq => a == b,
        Comparison::Ne => a != b,
        Comparison::Lt => a < b,
        Comparison::Le => a <= b,
        Comparison::Gt => a > b,
        Comparison::Ge => a >= b,
    }
}

/// Maps floats of type `ty` to integers. The order of the integers is the floats' total order: -NaN
/// < -inf < … < -0 < +0 < … < inf < NaN. In types with a single NaN in place of negative zero, the
/// NaN comes first.
pub(crate) fn total_order(ty: ElementType, x: f64) -> i64 {
    if x.is_nan() && has_nan_for_negative_zero(ty) {
        return i64::MIN;
    }
    let bits = x.to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

pub(crate) fn clamp(ty: ElementType, low: Scalar, x: Scalar, high: Scalar) -> Outcome<Scalar> {
    let at_least = binary(BinaryOp::Maximum, ty, x, low)?;
    binary(BinaryOp::Minimum, ty, at_least, high)
}
