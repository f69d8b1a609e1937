//! Operations on bit patterns.

use fusebox_core::builder::{FloatPredicate, FunctionBuilder, IntPredicate, Scalar, Value};
use fusebox_core::hlo::ElementType;

use super::float_types::widen;
use crate::access::bitcast_bits;

/// The same bits as another type of equal width, where `pred` is a byte of 0 or 1.
pub fn reinterpret(b: &mut FunctionBuilder, from: ElementType, to: ElementType, x: Value) -> Result<Value, String> {
    if from == to {
        return Ok(x);
    }
    let bits = to_bits(b, from, x)?;
    from_bits(b, to, bits)
}

/// The bits of a value as an integer of its width.
pub fn to_bits(b: &mut FunctionBuilder, from: ElementType, x: Value) -> Result<Value, String> {
    match from {
        ElementType::Pred => Ok(b.extui(x, Scalar::I8)),
        _ if from.is_complex() => Err("bitcast-convert is not defined on complex numbers".into()),
        _ if from.is_float() => Ok(b.bitcast(x, Scalar::Int(from.bits()))),
        _ => Ok(x),
    }
}

/// The value whose bits are given as an integer of its width.
pub fn from_bits(b: &mut FunctionBuilder, to: ElementType, bits: Value) -> Result<Value, String> {
    match to {
        ElementType::Pred => {
            let zero = b.int(0, Scalar::I8);
            Ok(b.cmpi(IntPredicate::Ne, bits, zero))
        }
        _ if to.is_complex() => Err("bitcast-convert is not defined on complex numbers".into()),
        _ if to.is_float() => Ok(b.bitcast(bits, Scalar::of_element(to))),
        _ => Ok(bits),
    }
}

/// Bits of exponent and mantissa of an IEEE-like type.
fn exponent_and_mantissa(ty: ElementType) -> Option<(u32, u32)> {
    match ty {
        ElementType::F16 => Some((5, 10)),
        ElementType::BF16 => Some((8, 7)),
        ElementType::F32 => Some((8, 23)),
        ElementType::F64 => Some((11, 52)),
        ElementType::F8E5M2 => Some((5, 2)),
        ElementType::F8E4M3 => Some((4, 3)),
        ElementType::F8E3M4 => Some((3, 4)),
        _ => None,
    }
}

/// `reduce-precision`: the mantissa rounded to nearest even, what is too large made infinite, what is too
/// small for the exponent made zero, NaN kept.
pub fn reduce_precision(
    b: &mut FunctionBuilder,
    ty: ElementType,
    exponent_bits: i64,
    mantissa_bits: i64,
    x: Value,
) -> Result<Value, String> {
    let (exponent, mantissa) =
        exponent_and_mantissa(ty).ok_or_else(|| format!("reduce-precision of {ty} is not supported"))?;
    let (exponent_bits, mantissa_bits) = (exponent_bits as u32, mantissa_bits as u32);
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
    let (wide, width) = (Scalar::Int(from.bits()), bitcast_bits(to));
    let width_value = b.index(i64::from(width));
    let amount = b.muli(part, width_value);
    let amount = b.index_castui(amount, wide);
    let shifted = b.shrui(bits, amount);
    let cut = b.trunci(shifted, Scalar::Int(width));
    from_bits(b, to, cut)
}

/// The value of type `to` whose parts, from the low bits up, are given.
pub fn joined(b: &mut FunctionBuilder, from: ElementType, to: ElementType, parts: &[Value]) -> Result<Value, String> {
    let wide = Scalar::Int(to.bits());
    let width = bitcast_bits(from);
    let mut all = b.int(0, wide);
    for (k, &part) in parts.iter().enumerate() {
        let bits = to_bits(b, from, part)?;
        let bits = b.extui(bits, wide);
        let amount = b.int(k as i64 * i64::from(width), wide);
        let bits = b.shli(bits, amount);
        all = b.ori(all, bits);
    }
    from_bits(b, to, all)
}
