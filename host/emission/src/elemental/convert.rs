//! Conversions of values between element types.

use fusebox_core::builder::{FloatPredicate, FunctionBuilder, IntPredicate, OpKind, Scalar, Value};
use fusebox_core::hlo::ElementType;

use super::float_types::{computed_in, float_to_float, is_narrow, narrow, widen};

/// `x` of type `from` as the nearest value of type `to`.
pub fn convert(b: &mut FunctionBuilder, from: ElementType, to: ElementType, x: Value) -> Result<Value, String> {
    let value = match (from, to) {
        _ if from == to => x,
        _ if from.is_complex() => from_complex(b, from, to, x)?,
        _ if to.is_complex() => {
            let re = convert(b, from, to.real_part(), x)?;
            let im = b.zero(&Scalar::of_element(to.real_part()).into());
            b.complex(re, im)
        }
        (_, ElementType::Pred) => is_nonzero(b, from, x),
        _ if from.is_float() && to.is_float() => float_to_float(b, from, to, x),
        _ if from.is_float() => float_to_integer(b, from, to, x),
        _ if to.is_float() => integer_to_float(b, from, to, x),
        _ => integer_to_integer(b, from, to, x),
    };
    Ok(value)
}

/// The real part counts, except for `pred`, which is whether the number is not 0.
fn from_complex(b: &mut FunctionBuilder, from: ElementType, to: ElementType, x: Value) -> Result<Value, String> {
    let (re, im, part) = (b.re(x), b.im(x), from.real_part());
    if to.is_complex() {
        let (re, im) = (convert(b, part, to.real_part(), re)?, convert(b, part, to.real_part(), im)?);
        return Ok(b.complex(re, im));
    }
    let value = convert(b, part, to, re)?;
    if to != ElementType::Pred {
        return Ok(value);
    }
    let im = is_nonzero(b, part, im);
    Ok(b.ori(value, im))
}

fn is_nonzero(b: &mut FunctionBuilder, from: ElementType, x: Value) -> Value {
    let x = widen(b, from, x);
    let zero = b.zero(&Scalar::of_element(computed_in(from)).into());
    if from.is_float() { b.cmpf(FloatPredicate::Une, x, zero) } else { b.cmpi(IntPredicate::Ne, x, zero) }
}

fn integer_to_integer(b: &mut FunctionBuilder, from: ElementType, to: ElementType, x: Value) -> Value {
    let target = Scalar::of_element(to);
    match from.bits().cmp(&to.bits()) {
        std::cmp::Ordering::Equal => x,
        std::cmp::Ordering::Greater => b.trunci(x, target),
        std::cmp::Ordering::Less if from.is_signed_integer() => b.extsi(x, target),
        std::cmp::Ordering::Less => b.extui(x, target),
    }
}

fn to_float(b: &mut FunctionBuilder, signed: bool, x: Value, to: Scalar) -> Value {
    if signed { b.sitofp(x, to) } else { b.uitofp(x, to) }
}

/// Rounded once. Narrow targets are reached through a type that holds the integer exactly, or, for 64
/// bits, one that keeps what rounding needs.
fn integer_to_float(b: &mut FunctionBuilder, from: ElementType, to: ElementType, x: Value) -> Value {
    let signed = from.is_signed_integer();
    if !is_narrow(to) {
        return to_float(b, signed, x, Scalar::of_element(to));
    }
    match from.bits() {
        0..=16 => {
            let exact = to_float(b, signed, x, Scalar::F32);
            narrow(b, to, exact)
        }
        17..=32 => {
            let exact = to_float(b, signed, x, Scalar::F64);
            float_to_float(b, ElementType::F64, to, exact)
        }
        _ => {
            let exact = long_to_f64(b, signed, x);
            float_to_float(b, ElementType::F64, to, exact)
        }
    }
}

/// A 64-bit integer as an `f64` that rounds to narrower floats as the integer itself would: what lies below
/// 53 bits of a large one only shows in that the last bit is odd.
fn long_to_f64(b: &mut FunctionBuilder, signed: bool, x: Value) -> Value {
    let direct = to_float(b, signed, x, Scalar::F64);
    let (zero, one, eleven, low) =
        (b.int(0, Scalar::I64), b.int(1, Scalar::I64), b.int(11, Scalar::I64), b.int(2047, Scalar::I64));
    let high = if signed { b.shrsi(x, eleven) } else { b.shrui(x, eleven) };
    let rest = b.andi(x, low);
    let inexact = b.cmpi(IntPredicate::Ne, rest, zero);
    let sticky = b.select(inexact, one, zero);
    let odd = b.ori(high, sticky);
    let odd = to_float(b, signed, odd, Scalar::F64);
    let scale = b.float(2048.0, Scalar::F64);
    let scaled = b.mulf(odd, scale);
    let (size, limit) = (b.float_unary(OpKind::AbsF, direct), b.float(4503599627370496.0, Scalar::F64));
    let small = b.cmpf(FloatPredicate::Olt, size, limit);
    b.select(small, direct, scaled)
}

/// Towards zero; out of range gives the nearest integer of the type, NaN gives 0.
fn float_to_integer(b: &mut FunctionBuilder, from: ElementType, to: ElementType, x: Value) -> Value {
    let x = widen(b, from, x);
    let float = Scalar::of_element(computed_in(from));
    let (bits, signed) = (to.bits(), to.is_signed_integer());
    let (target, work) = (Scalar::of_element(to), Scalar::Int(bits.max(32)));
    // Powers of two and 0: exact in every float type this is computed in.
    let (lower, upper) = match signed {
        true => (-(2f64.powi(bits as i32 - 1)), 2f64.powi(bits as i32 - 1)),
        false => (0.0, 2f64.powi(bits as i32)),
    };
    let (lower, upper, zero) = (b.float(lower, float), b.float(upper, float), b.float(0.0, float));
    let (above, below) = (b.cmpf(FloatPredicate::Oge, x, upper), b.cmpf(FloatPredicate::Ole, x, lower));
    let inside = {
        let (over, under) = (b.cmpf(FloatPredicate::Olt, x, upper), b.cmpf(FloatPredicate::Ogt, x, lower));
        b.andi(over, under)
    };
    let safe = b.select(inside, x, zero);
    let value = if signed { b.fptosi(safe, work) } else { b.fptoui(safe, work) };
    let value = if work == target { value } else { b.trunci(value, target) };
    let (smallest, largest) = match signed {
        true => (b.int(i64::MIN >> (64 - bits), target), b.int(i64::MAX >> (64 - bits), target)),
        false => (b.int(0, target), b.int(-1, target)),
    };
    let value = b.select(above, largest, value);
    b.select(below, smallest, value)
}

/// To an integer: towards zero, then away from it with the probability of the fraction, as the random
/// bits decide.
pub fn stochastic(
    b: &mut FunctionBuilder,
    from: ElementType,
    random: ElementType,
    to: ElementType,
    x: Value,
    bits: Value,
) -> Result<Value, String> {
    if !from.is_float() || !to.is_signed_integer() {
        return Err(format!("stochastic-convert from {from} to {to} is not supported; convert to a signed integer"));
    }
    let wide = widen(b, from, x);
    let float = Scalar::of_element(computed_in(from));
    let size = b.float_unary(OpKind::AbsF, wide);
    let whole = b.float_unary(OpKind::Floor, size);
    let fraction = b.subf(size, whole);
    let scale = b.float(2f64.powi(random.bits() as i32), float);
    let threshold = b.mulf(fraction, scale);
    let threshold = float_to_integer(b, computed_in(from), random, threshold);
    let up = b.cmpi(IntPredicate::Ult, bits, threshold);
    let one = b.float(1.0, float);
    let next = b.addf(whole, one);
    let chosen = b.select(up, next, whole);
    let chosen = b.float_binary(OpKind::CopySign, chosen, wide);
    // NaN stays NaN up to here and becomes 0.
    Ok(float_to_integer(b, computed_in(from), to, chosen))
}
