//! Conversions between `f64` and narrower floats, with every rounding of PTX.

use super::integer::{mask, signed};

/// A rounding mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearest, ties to even.
    Nearest,
    /// To the nearest, ties away from zero.
    Away,
    Zero,
    Down,
    Up,
}

/// A binary float format of at most 32 bits with a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    pub exponent_bits: u32,
    pub fraction_bits: u32,
    /// Whether the largest exponent has infinities. Without infinities, the largest exponent has
    /// numbers, and only its largest fraction may stand for NaN.
    pub has_infinity: bool,
    /// Bits of the NaN that operations return, without sign.
    pub nan: u32,
    /// Bits of the largest number, without sign.
    pub largest: u32,
}

impl Format {
    pub const F32: Format =
        Format { exponent_bits: 8, fraction_bits: 23, has_infinity: true, nan: 0x7fff_ffff, largest: 0x7f7f_ffff };
    pub const TF32: Format =
        Format { exponent_bits: 8, fraction_bits: 10, has_infinity: true, nan: 0x3_ffff, largest: 0x3_fbff };
    pub const F16: Format =
        Format { exponent_bits: 5, fraction_bits: 10, has_infinity: true, nan: 0x7fff, largest: 0x7bff };
    pub const BF16: Format =
        Format { exponent_bits: 8, fraction_bits: 7, has_infinity: true, nan: 0x7fff, largest: 0x7f7f };
    pub const E4M3: Format =
        Format { exponent_bits: 4, fraction_bits: 3, has_infinity: false, nan: 0x7f, largest: 0x7e };
    pub const E5M2: Format =
        Format { exponent_bits: 5, fraction_bits: 2, has_infinity: true, nan: 0x7f, largest: 0x7b };

    fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    fn sign(self) -> u32 {
        1 << (self.exponent_bits + self.fraction_bits)
    }

    fn infinity(self) -> u32 {
        ((1 << self.exponent_bits) - 1) << self.fraction_bits
    }
}

/// Returns the value of a float's bits.
pub fn decode(bits: u32, format: Format) -> f64 {
    let magnitude = bits & (format.sign() - 1);
    let exponent = (magnitude >> format.fraction_bits) as i32;
    let fraction = magnitude & ((1 << format.fraction_bits) - 1);
    let value = if format.has_infinity && magnitude >= format.infinity() {
        if magnitude == format.infinity() { f64::INFINITY } else { f64::NAN }
    } else if !format.has_infinity && magnitude == format.nan {
        f64::NAN
    } else if exponent == 0 {
        f64::from(fraction) * power(1 - format.bias() - format.fraction_bits as i32)
    } else {
        f64::from(fraction | 1 << format.fraction_bits) * power(exponent - format.bias() - format.fraction_bits as i32)
    };
    if bits & format.sign() == 0 { value } else { -value }
}

/// Returns a power of two whose exponent is in the range of normal numbers.
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// Rounds a number to a format. A number beyond the largest number of the format becomes infinity.
/// Such a number becomes the format's largest number instead if `saturates` is true, if the format
/// has no infinity, or if a directed rounding is toward zero.
pub fn encode(value: f64, format: Format, rounding: Rounding, saturates: bool) -> u32 {
    if value.is_nan() {
        return format.nan;
    }
    let sign = if value.is_sign_negative() { format.sign() } else { 0 };
    let overflow = |stays: bool| {
        if stays || saturates || !format.has_infinity { format.largest } else { format.infinity() }
    };
    let magnitude = value.abs();
    if magnitude == 0.0 {
        return sign;
    }
    if magnitude.is_infinite() {
        return sign | overflow(false);
    }
    // The number is `mantissa` * 2^`exponent`, with 53 bits in front.
    let bits = magnitude.to_bits();
    let (mantissa, exponent) = match bits >> 52 {
        0 => (bits, -1074),
        biased => (bits & ((1 << 52) - 1) | 1 << 52, biased as i32 - 1075),
    };
    // The exponent of the last bit of the result.
    let top = exponent + 63 - mantissa.leading_zeros() as i32;
    let last = (top - format.fraction_bits as i32).max(1 - format.bias() - format.fraction_bits as i32);
    let shift = last - exponent;
    let (kept, half, rest) = match shift {
        ..=0 => (mantissa << -shift, false, false),
        1..=63 => {
            let dropped = mantissa & ((1 << shift) - 1);
            let half = 1 << (shift - 1);
            (mantissa >> shift, dropped & half != 0, dropped & (half - 1) != 0)
        }
        _ => (0, false, true),
    };
    let is_negative = sign != 0;
    let increments = match rounding {
        Rounding::Nearest => half && (rest || kept & 1 == 1),
        Rounding::Away => half,
        Rounding::Zero => false,
        Rounding::Down => is_negative && (half || rest),
        Rounding::Up => !is_negative && (half || rest),
    };
    let kept = kept + u64::from(increments);
    if kept == 0 {
        return sign;
    }
    // The leading bit of a normal number, and a carry, add one to the exponent in front.
    let biased = last + format.fraction_bits as i32 + format.bias();
    let result = kept + ((u64::from(biased.unsigned_abs()) - 1) << format.fraction_bits);
    if result > u64::from(format.largest) {
        let stays = match rounding {
            Rounding::Zero => true,
            Rounding::Down => !is_negative,
            Rounding::Up => is_negative,
            Rounding::Nearest | Rounding::Away => false,
        };
        return sign | overflow(stays);
    }
    sign | result as u32
}

/// Rounds a number to an integer, and clamps the integer to the range of a type. NaN becomes `nan`,
/// for which the caller passes 0 or the type's largest power of two.
pub fn to_integer(value: f64, rounding: Rounding, bits: u32, is_signed: bool, nan: u64) -> u64 {
    if value.is_nan() {
        return nan;
    }
    let rounded = match rounding {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Away => value.round(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    };
    if is_signed {
        // Casts clamp.
        let (low, high) = (signed(1 << (bits - 1), bits), (mask(bits) >> 1) as i64);
        (rounded as i64).clamp(low, high) as u64 & mask(bits)
    } else {
        (rounded as u64).min(mask(bits))
    }
}
