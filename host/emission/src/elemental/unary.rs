//! Operations of one operand.

use fusebox_core::builder::{FloatPredicate, FunctionBuilder, IntPredicate, OpKind, Scalar, Value};
use fusebox_core::hlo::{ElementType, UnaryOp};

use super::complex;
use super::float_types::{computed_in, narrow, widen, widened};

/// The operation on a value of type `ty`.
pub fn unary(b: &mut FunctionBuilder, op: UnaryOp, ty: ElementType, x: Value) -> Result<Value, String> {
    match (op, ty) {
        (_, ty) if ty.is_complex() => complex::unary(b, op, ty, x),
        (UnaryOp::Real, _) => Ok(x),
        (UnaryOp::Imag, _) => {
            // Rounded like any other result: a type without zero has NaN there.
            let zero = b.float(0.0, Scalar::of_element(computed_in(ty)));
            Ok(narrow(b, ty, zero))
        }
        (UnaryOp::IsFinite, ty) if ty.is_float() => Ok(is_finite(b, ty, x)),
        (_, ty) if ty.is_float() => widened(b, ty, [x], |b, [x]| float(b, op, computed_in(ty), x)),
        (_, ElementType::Pred) => pred(b, op, x),
        _ => integer(b, op, ty, x),
    }
}

fn is_finite(b: &mut FunctionBuilder, ty: ElementType, x: Value) -> Value {
    let x = widen(b, ty, x);
    let size = b.float_unary(OpKind::AbsF, x);
    let infinity = b.float(f64::INFINITY, Scalar::of_element(computed_in(ty)));
    b.cmpf(FloatPredicate::Olt, size, infinity)
}

/// `ty` is `f32` or `f64`.
fn float(b: &mut FunctionBuilder, op: UnaryOp, ty: ElementType, x: Value) -> Result<Value, String> {
    let name = match op {
        UnaryOp::Abs => OpKind::AbsF,
        UnaryOp::Acos => OpKind::Acos,
        UnaryOp::Acosh => OpKind::Acosh,
        UnaryOp::Asin => OpKind::Asin,
        UnaryOp::Asinh => OpKind::Asinh,
        UnaryOp::Atanh => OpKind::Atanh,
        UnaryOp::Cbrt => OpKind::Cbrt,
        UnaryOp::Ceil => OpKind::Ceil,
        UnaryOp::Cosh => OpKind::Cosh,
        UnaryOp::Cosine => OpKind::Cos,
        UnaryOp::Erf => OpKind::Erf,
        UnaryOp::Exponential => OpKind::Exp,
        UnaryOp::ExponentialMinusOne => OpKind::Expm1,
        UnaryOp::Floor => OpKind::Floor,
        UnaryOp::Log => OpKind::Log,
        UnaryOp::LogPlusOne => OpKind::Log1p,
        UnaryOp::Negate => OpKind::NegF,
        UnaryOp::RoundNearestAfz => OpKind::Round,
        UnaryOp::RoundNearestEven => OpKind::RoundEven,
        UnaryOp::Rsqrt => OpKind::Rsqrt,
        UnaryOp::Sine => OpKind::Sin,
        UnaryOp::Sinh => OpKind::Sinh,
        UnaryOp::Sqrt => OpKind::Sqrt,
        UnaryOp::Tan => OpKind::Tan,
        UnaryOp::Tanh => OpKind::Tanh,
        UnaryOp::Logistic => return Ok(logistic(b, ty, x)),
        UnaryOp::Sign => return Ok(float_sign(b, ty, x)),
        UnaryOp::CountLeadingZeros
        | UnaryOp::Imag
        | UnaryOp::IsFinite
        | UnaryOp::Not
        | UnaryOp::Popcnt
        | UnaryOp::Real => return Err(format!("{} is not defined on {ty}", op.opcode())),
    };
    Ok(b.float_unary(name, x))
}

/// `1 / (1 + exp(-x))`, with an exponential that never overflows.
fn logistic(b: &mut FunctionBuilder, ty: ElementType, x: Value) -> Value {
    let scalar = Scalar::of_element(ty);
    let (zero, one) = (b.float(0.0, scalar), b.float(1.0, scalar));
    let size = b.float_unary(OpKind::AbsF, x);
    let size = b.negf(size);
    let e = b.float_unary(OpKind::Exp, size);
    let negative = b.cmpf(FloatPredicate::Olt, x, zero);
    let dividend = b.select(negative, e, one);
    let divisor = b.addf(one, e);
    b.divf(dividend, divisor)
}

/// NaN and zeros stay, everything else becomes 1 with its sign.
fn float_sign(b: &mut FunctionBuilder, ty: ElementType, x: Value) -> Value {
    let scalar = Scalar::of_element(ty);
    let (zero, one) = (b.float(0.0, scalar), b.float(1.0, scalar));
    let unit = b.float_binary(OpKind::CopySign, one, x);
    let ordinary = b.cmpf(FloatPredicate::One, x, zero);
    b.select(ordinary, unit, x)
}

fn pred(b: &mut FunctionBuilder, op: UnaryOp, x: Value) -> Result<Value, String> {
    match op {
        UnaryOp::Not => {
            let on = b.bool(true);
            Ok(b.xori(x, on))
        }
        UnaryOp::Popcnt | UnaryOp::Sign | UnaryOp::Abs => Ok(x),
        _ => Err(format!("{} is not defined on pred", op.opcode())),
    }
}

fn integer(b: &mut FunctionBuilder, op: UnaryOp, ty: ElementType, x: Value) -> Result<Value, String> {
    let scalar = Scalar::of_element(ty);
    match op {
        UnaryOp::Abs if ty.is_unsigned_integer() => Ok(x),
        UnaryOp::Abs => {
            let negated = negate(b, scalar, x);
            Ok(b.maxsi(x, negated))
        }
        UnaryOp::Negate => Ok(negate(b, scalar, x)),
        UnaryOp::Not => {
            let ones = b.int(-1, scalar);
            Ok(b.xori(x, ones))
        }
        UnaryOp::Popcnt => Ok(counted(b, ty, x, OpKind::CtPop)),
        UnaryOp::CountLeadingZeros => Ok(counted(b, ty, x, OpKind::Ctlz)),
        UnaryOp::Sign => Ok(integer_sign(b, ty, x)),
        _ => Err(format!("{} is not defined on {ty}", op.opcode())),
    }
}

fn negate(b: &mut FunctionBuilder, scalar: Scalar, x: Value) -> Value {
    let zero = b.int(0, scalar);
    b.subi(zero, x)
}

/// A count of bits. Types narrower than 32 bits are counted in 32, as those have an instruction.
fn counted(b: &mut FunctionBuilder, ty: ElementType, x: Value, name: OpKind) -> Value {
    if ty.bits() >= 32 {
        return b.int_unary(name, x);
    }
    let wide = b.extui(x, Scalar::I32);
    let mut count = b.int_unary(name, wide);
    if name == OpKind::Ctlz {
        let extra = b.int(i64::from(32 - ty.bits()), Scalar::I32);
        count = b.subi(count, extra);
    }
    b.trunci(count, Scalar::of_element(ty))
}

fn integer_sign(b: &mut FunctionBuilder, ty: ElementType, x: Value) -> Value {
    let scalar = Scalar::of_element(ty);
    let (zero, one) = (b.int(0, scalar), b.int(1, scalar));
    let nonzero = b.cmpi(IntPredicate::Ne, x, zero);
    let unit = if ty.is_signed_integer() {
        let top = b.int(i64::from(ty.bits()) - 1, scalar);
        let sign = b.shrsi(x, top);
        b.ori(sign, one)
    } else {
        one
    };
    b.select(nonzero, unit, zero)
}
