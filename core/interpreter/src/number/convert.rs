//! Conversions between element types, by value and by bits.

use fusebox_core::hlo::ElementType;

use super::{Complex, float_format, int, round, round_complex, wrap};
use crate::error::{Outcome, ensure};
use crate::value::{Data, Scalar, decode, encode};

/// Converts a value to another type. Conversions of floats to integers truncate and saturate, and
/// turn NaN into 0. Conversions between integers wrap. Conversions to `pred` turn any non-zero
/// value into true. Conversions of complex numbers to real types drop the imaginary part.
#[inline]
pub(crate) fn convert(from: ElementType, to: ElementType, x: Scalar) -> Scalar {
    if to == ElementType::Pred {
        return Scalar::Int(i64::from(is_nonzero(x)));
    }
    if to.is_integer_or_pred() {
        return Scalar::Int(match x {
            Scalar::Int(x) => wrap(to, x),
            Scalar::Float(x) => float_to_int(to, x),
            Scalar::Complex(x) => float_to_int(to, x.re),
        });
    }
    if to.is_complex() {
        return Scalar::Complex(match x {
            Scalar::Int(x) => Complex { re: int_to_float(from, to.real_part(), x), im: 0.0 },
            Scalar::Float(x) => Complex { re: round(to.real_part(), x), im: 0.0 },
            Scalar::Complex(x) => round_complex(to, x),
        });
    }
    Scalar::Float(match x {
        Scalar::Int(x) => int_to_float(from, to, x),
        Scalar::Float(x) => round(to, x),
        Scalar::Complex(x) => round(to, x.re),
    })
}

fn is_nonzero(x: Scalar) -> bool {
    match x {
        Scalar::Int(x) => x != 0,
        Scalar::Float(x) => x != 0.0,
        Scalar::Complex(x) => x.re != 0.0 || x.im != 0.0,
    }
}

/// Converts a float to an integer. Like XLA, Rust's casts truncate, saturate and turn NaN into 0.
fn float_to_int(to: ElementType, x: f64) -> i64 {
    if to == ElementType::U64 {
        return x as u64 as i64;
    }
    let (min, max) = int::range(to);
    (x as i64).clamp(min, max)
}

/// Converts an integer to a float with a single rounding, even if `f64` cannot represent the
/// integer.
fn int_to_float(from: ElementType, to: ElementType, x: i64) -> f64 {
    let (negative, magnitude) = if from == ElementType::U64 { (false, x as u64) } else { (x < 0, x.unsigned_abs()) };
    let rounded = match to {
        ElementType::F64 => magnitude as f64,
        ElementType::F32 => f64::from(magnitude as f32),
        _ => float_format(to).round(to_odd(magnitude)),
    };
    let signed = if negative { -rounded } else { rounded };
    // This second rounding matters only for types without negative numbers, where a negative number
    // becomes NaN.
    if negative { round(to, signed) } else { signed }
}

/// Converts an integer to `f64`, and sets the last bit of the mantissa if the conversion cuts off
/// non-zero bits. Rounding this result to a narrower type gives the same value as rounding the
/// integer directly.
fn to_odd(x: u64) -> f64 {
    let excess = 64u32.saturating_sub(53 + x.leading_zeros());
    let kept = x >> excess;
    let sticky = u64::from(kept << excess != x);
    ((kept | sticky) as f64) * (1u64 << excess) as f64
}

/// Reinterprets the elements' bits as another type. If both types have the same width, the
/// dimensions do not change. If the widths differ, elements along the last dimension are split or
/// joined, low bits first.
pub(crate) fn bitcast(from: ElementType, to: ElementType, data: &Data) -> Outcome<Data> {
    let (from_bits, to_bits) = (from.stored_bits(), to.stored_bits());
    let bytes = encode(from, data);
    if from_bits == to_bits {
        return Ok(decode(to, &bytes));
    }
    let fits = (data.len() as u64 * u64::from(from_bits)).is_multiple_of(u64::from(to_bits));
    ensure!(fits, "{} elements of {from} do not make whole elements of {to}", data.len());
    let packed = repack(&bytes, from_bits as usize, 8);
    Ok(decode(to, &repack(&packed, 8, to_bits as usize)))
}

/// Converts groups of `from` bits to groups of `to` bits. Each group of fewer than 8 bits occupies
/// one byte.
fn repack(bytes: &[u8], from: usize, to: usize) -> Vec<u8> {
    if from >= 8 && to >= 8 {
        return bytes.to_vec();
    }
    let (from, to) = (from.min(8), to.min(8));
    let mut result = Vec::with_capacity(bytes.len() * from / to + 1);
    let (mut held, mut count) = (0u32, 0usize);
    for &byte in bytes {
        held |= (u32::from(byte) & ((1 << from) - 1)) << count;
        count += from;
        while count >= to {
            result.push((held & ((1 << to) - 1)) as u8);
            held >>= to;
            count -= to;
        }
    }
    result
}
