//! Arithmetic on floats as PTX defines it: one rounding, a canonical NaN, subnormals kept or
//! flushed.

use super::format::{Format, Rounding, encode};

/// A float type as bits in a register.
pub trait Float: Copy {
    fn decode(bits: u64) -> f64;
    /// Rounds to the nearest.
    fn encode(value: f64) -> u64;
    const SIGN: u64;
    const NAN: u64;
    /// Bits of infinity.
    const INFINITY: u64;
    /// Bits of the smallest normal number.
    const SMALLEST_NORMAL: u64;

    fn is_nan(bits: u64) -> bool {
        bits & (Self::SIGN - 1) > Self::INFINITY
    }
}

#[derive(Clone, Copy)]
pub struct F16;
#[derive(Clone, Copy)]
pub struct Bf16;
#[derive(Clone, Copy)]
pub struct F32;
#[derive(Clone, Copy)]
pub struct F64;

impl Float for F16 {
    fn decode(bits: u64) -> f64 {
        half::f16::from_bits(bits as u16).to_f64()
    }
    fn encode(value: f64) -> u64 {
        u64::from(encode(value, Format::F16, Rounding::Nearest, false))
    }
    const SIGN: u64 = 0x8000;
    const NAN: u64 = 0x7fff;
    const INFINITY: u64 = 0x7c00;
    const SMALLEST_NORMAL: u64 = 0x400;
}

impl Float for Bf16 {
    fn decode(bits: u64) -> f64 {
        f64::from(f32::from_bits((bits as u32) << 16))
    }
    fn encode(value: f64) -> u64 {
        u64::from(encode(value, Format::BF16, Rounding::Nearest, false))
    }
    const SIGN: u64 = 0x8000;
    const NAN: u64 = 0x7fff;
    const INFINITY: u64 = 0x7f80;
    const SMALLEST_NORMAL: u64 = 0x80;
}

impl Float for F32 {
    #[inline(always)]
    fn decode(bits: u64) -> f64 {
        f64::from(f32::from_bits(bits as u32))
    }
    #[inline(always)]
    fn encode(value: f64) -> u64 {
        canonical(value as f32)
    }
    const SIGN: u64 = 0x8000_0000;
    const NAN: u64 = 0x7fff_ffff;
    const INFINITY: u64 = 0x7f80_0000;
    const SMALLEST_NORMAL: u64 = 0x80_0000;
}

impl Float for F64 {
    #[inline(always)]
    fn decode(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
    #[inline(always)]
    fn encode(value: f64) -> u64 {
        value.to_bits()
    }
    const SIGN: u64 = 1 << 63;
    const NAN: u64 = 0xfff8_0000_0000_0000;
    const INFINITY: u64 = 0x7ff0_0000_0000_0000;
    const SMALLEST_NORMAL: u64 = 0x10_0000_0000_0000;
}

/// Returns the bits of a single; all NaN have the same bits.
#[inline(always)]
pub fn canonical(value: f32) -> u64 {
    if value.is_nan() { F32::NAN } else { u64::from(value.to_bits()) }
}

/// Replaces a subnormal number by zero with its sign.
#[inline(always)]
pub fn flush<T: Float>(bits: u64) -> u64 {
    if bits & (T::SIGN - 1) < T::SMALLEST_NORMAL { bits & T::SIGN } else { bits }
}

/// Rounds an inexact `f64` so that a second rounding, to 32 bits or fewer, is right. The `error` is
/// the part that the first rounding dropped. If the `error` is not zero, the last bit of the result
/// is one.
fn odd(value: f64, error: f64) -> f64 {
    if error == 0.0 || !error.is_finite() || !value.is_finite() || value.to_bits() & 1 == 1 {
        return value;
    }
    if value == 0.0 {
        return f64::from_bits(1).copysign(error);
    }
    // The exact number is beyond the value, or between the value and its neighbour toward zero.
    let is_beyond = (error > 0.0) == (value > 0.0);
    f64::from_bits(if is_beyond { value.to_bits() + 1 } else { value.to_bits() - 1 })
}

/// Returns a sum and the part that its rounding dropped.
fn exact_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_in = sum - a;
    let a_in = sum - b_in;
    (sum, (a - a_in) + (b - b_in))
}

fn single(value: f64, rounding: Rounding) -> u64 {
    u64::from(encode(value, Format::F32, rounding, false))
}

/// Sets the sign of an exact zero sum: negative if the rounding is downward.
fn zero_sum(value: f64, a: f64, b: f64, rounding: Rounding) -> f64 {
    let cancels = value == 0.0 && a.is_sign_negative() != b.is_sign_negative();
    if cancels && rounding == Rounding::Down { -0.0 } else { value }
}

/// Adds singles with a directed rounding.
pub fn add_single(a: u64, b: u64, rounding: Rounding) -> u64 {
    let (a, b) = (F32::decode(a), F32::decode(b));
    let (sum, error) = exact_sum(a, b);
    single(odd(zero_sum(sum, a, b, rounding), error), rounding)
}

/// Multiplies singles with a directed rounding.
pub fn mul_single(a: u64, b: u64, rounding: Rounding) -> u64 {
    single(F32::decode(a) * F32::decode(b), rounding)
}

/// Multiplies and adds singles with a directed rounding.
pub fn fma_single(a: u64, b: u64, c: u64, rounding: Rounding) -> u64 {
    let (product, c) = (F32::decode(a) * F32::decode(b), F32::decode(c));
    let (sum, error) = exact_sum(product, c);
    single(odd(zero_sum(sum, product, c, rounding), error), rounding)
}

/// Divides singles with a directed rounding.
pub fn div_single(a: u64, b: u64, rounding: Rounding) -> u64 {
    let (a, b) = (F32::decode(a), F32::decode(b));
    let quotient = a / b;
    let rest = (-quotient).mul_add(b, a);
    // The quotient is too small in magnitude if the rest has the sign of `a`.
    let error = if b > 0.0 { rest } else { -rest };
    single(odd(quotient, error), rounding)
}

/// Returns the square root of a single with a directed rounding.
pub fn sqrt_single(a: u64, rounding: Rounding) -> u64 {
    let a = F32::decode(a);
    let root = a.sqrt();
    single(odd(root, (-root).mul_add(root, a)), rounding)
}

/// Multiplies and adds numbers of 16 bits with one rounding.
pub fn fma_narrow<T: Float>(a: u64, b: u64, c: u64) -> u64 {
    let (product, c) = (T::decode(a) * T::decode(b), T::decode(c));
    let (sum, error) = exact_sum(product, c);
    T::encode(odd(sum, error))
}
