//! Operations on bit patterns.

use fusebox_core::builder::{FloatPredicate, FunctionBuilder, IntPredicate, Scalar, Value};
use fusebox_core::hlo::{ElementType, FloatFormat};

use super::float_types::{narrow, widen};

/// The same bits as another type of equal width, where `pred` is a byte of 0 or 1.
pub fn reinterpret(b: &mut FunctionBuilder, from: ElementType, to: ElementType, x: Value) -> Result<Value, String> {
    if from == to {
        return Ok(x);
    }
    let bits = to_bits(b, from, x)?;
    from_bits(b, to, bits)
}

/// The bits of a value as an integer of its width; of a complex number the real part's are the low ones.
pub fn to_bits(b: &mut FunctionBuilder, from: ElementType, x: Value) -> Result<Value, String> {
    match from {
        ElementType::Pred => Ok(b.extui(x, Scalar::I8)),
        _ if from.is_complex() => {
            let (part, wide) = (from.real_part(), Scalar::Int(from.bits()));
            let (re, im) = (b.re(x), b.im(x));
            let (re, im) = (to_bits(b, part, re)?, to_bits(b, part, im)?);
            let (low, high) = (b.extui(re, wide), b.extui(im, wide));
            let half = constant(b, part.bits(), wide);
            let high = b.shli(high, half);
            Ok(b.ori(low, high))
        }
        _ if from.is_float() => Ok(b.bitcast(x, Scalar::Int(from.bits()))),
        _ => Ok(x),
    }
}

/// A number as an integer of any width: constants have at most 64 bits.
pub fn constant(b: &mut FunctionBuilder, value: u32, ty: Scalar) -> Value {
    if ty.bits() <= 64 {
        return b.int(i64::from(value), ty);
    }
    let narrow = b.int(i64::from(value), Scalar::I64);
    b.extui(narrow, ty)
}

/// The value whose bits are given as an integer of its width.
pub fn from_bits(b: &mut FunctionBuilder, to: ElementType, bits: Value) -> Result<Value, String> {
    match to {
        ElementType::Pred => {
            let zero = b.int(0, Scalar::I8);
            Ok(b.cmpi(IntPredicate::Ne, bits, zero))
        }
        _ if to.is_complex() => {
            let (part, wide) = (to.real_part(), Scalar::Int(to.bits()));
            let half = constant(b, part.bits(), wide);
            let high = b.shrui(bits, half);
            let (re, im) = (b.trunci(bits, Scalar::Int(part.bits())), b.trunci(high, Scalar::Int(part.bits())));
            let (re, im) = (from_bits(b, part, re)?, from_bits(b, part, im)?);
            Ok(b.complex(re, im))
        }
        _ if to.is_float() => Ok(b.bitcast(bits, Scalar::of_element(to))),
        _ => Ok(bits),
    }
}

/// `reduce-precision`: the mantissa rounded to nearest even, what is too large made infinite, what is too
/// small for the exponent made zero, NaN kept. Types of 8 bits and fewer, of which some have no infinities, are
/// reduced as `f32`.
pub fn reduce_precision(
    b: &mut FunctionBuilder,
    ty: ElementType,
    exponent_bits: i64,
    mantissa_bits: i64,
    x: Value,
) -> Result<Value, String> {
    if ty.bits() <= 8 {
        let wide = widen(b, ty, x);
        let reduced = reduce_precision(b, ElementType::F32, exponent_bits, mantissa_bits, wide)?;
        return Ok(narrow(b, ty, reduced));
    }
    let format = FloatFormat::of(ty).ok_or_else(|| format!("reduce-precision is not defined on {ty}"))?;
    let (exponent, mantissa) = (format.exponent_bits, format.mantissa_bits);
    // Beyond the type's own bits there is nothing to reduce.
    let bits = |count: i64, least| count.clamp(least, 64) as u32;
    let (exponent_bits, mantissa_bits) = (bits(exponent_bits, 1), bits(mantissa_bits, 0));
    let scalar = Scalar::of_element(ty);
    let integer = Scalar::Int(ty.bits());
    let mut bits = b.bitcast(x, integer);
    if mantissa_bits < mantissa {
        bits = round_mantissa(b, integer, bits, mantissa - mantissa_bits);
    }
    if exponent_bits < exponent {
        bits = limit_exponent(b, integer, bits, exponent, mantissa, exponent_bits);
    }
    let reduced = b.bitcast(bits, scalar);
    let wide = widen(b, ty, x);
    let is_nan = b.cmpf(FloatPredicate::Uno, wide, wide);
    Ok(b.select(is_nan, x, reduced))
}

fn round_mantissa(b: &mut FunctionBuilder, integer: Scalar, bits: Value, dropped: u32) -> Value {
    let unit = 1i64 << dropped;
    let (shift, one) = (b.int(i64::from(dropped), integer), b.int(1, integer));
    let last = b.shrui(bits, shift);
    let last = b.andi(last, one);
    let half = b.int((unit >> 1) - 1, integer);
    let bias = b.addi(last, half);
    let rounded = b.addi(bits, bias);
    let mask = b.int(!(unit - 1), integer);
    b.andi(rounded, mask)
}

fn limit_exponent(
    b: &mut FunctionBuilder,
    integer: Scalar,
    bits: Value,
    exponent: u32,
    mantissa: u32,
    target: u32,
) -> Value {
    let (bias, reduced_bias) = ((1i64 << (exponent - 1)) - 1, (1i64 << (target.max(1) - 1)) - 1);
    let field = b.int(((1i64 << exponent) - 1) << mantissa, integer);
    let sign = b.int(1i64.wrapping_shl(integer.bits() - 1), integer);
    let found = b.andi(bits, field);
    let sign = b.andi(bits, sign);
    let infinity = b.ori(sign, field);
    let largest = b.int((bias + reduced_bias) << mantissa, integer);
    let smallest = b.int((bias - reduced_bias) << mantissa, integer);
    let too_large = b.cmpi(IntPredicate::Ugt, found, largest);
    let too_small = b.cmpi(IntPredicate::Ule, found, smallest);
    let bits = b.select(too_large, infinity, bits);
    b.select(too_small, sign, bits)
}

/// Part `part` (an `index`, counted from the low bits) of a value.
pub fn part(
    b: &mut FunctionBuilder,
    from: ElementType,
    to: ElementType,
    x: Value,
    part: Value,
) -> Result<Value, String> {
    let bits = to_bits(b, from, x)?;
    let (wide, width) = (Scalar::Int(bitcast_bits(from)), bitcast_bits(to));
    let width_value = b.index(i64::from(width));
    let amount = b.muli(part, width_value);
    let amount = if wide.bits() <= 64 {
        b.index_castui(amount, wide)
    } else {
        let amount = b.index_castui(amount, Scalar::I64);
        b.extui(amount, wide)
    };
    let shifted = b.shrui(bits, amount);
    let cut = b.trunci(shifted, Scalar::Int(width));
    from_bits(b, to, cut)
}

/// The value of type `to` whose parts, from the low bits up, are given.
pub fn joined(b: &mut FunctionBuilder, from: ElementType, to: ElementType, parts: &[Value]) -> Result<Value, String> {
    let wide = Scalar::Int(bitcast_bits(to));
    let width = bitcast_bits(from);
    let mut all = constant(b, 0, wide);
    for (k, &part) in parts.iter().enumerate() {
        let bits = to_bits(b, from, part)?;
        let bits = b.extui(bits, wide);
        let amount = constant(b, k as u32 * width, wide);
        let bits = b.shli(bits, amount);
        all = b.ori(all, bits);
    }
    from_bits(b, to, all)
}

/// Width for `bitcast-convert`, where `pred` counts as a byte.
fn bitcast_bits(ty: ElementType) -> u32 {
    if ty == ElementType::Pred { 8 } else { ty.bits() }
}
