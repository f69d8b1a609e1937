//! Floating-point formats: conversion of bits to `f64` and of `f64` to bits, and rounding.

use fusebox_core::hlo::ElementType;

/// The representation of infinities and NaN in a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Special {
    /// Infinities and NaNs have the largest exponent.
    Ieee,
    /// The format has no infinities. All bits of a NaN are ones, except the sign. Overflow gives
    /// NaN.
    Nan,
    /// The format has no infinities. NaN has the bits of negative zero. Overflow gives NaN.
    NanAtNegativeZero,
    /// The format has neither infinities nor NaN. Overflow saturates. A conversion to the format
    /// turns NaN into negative zero.
    Finite,
    /// All numbers are positive powers of two. All bits of NaN are ones.
    PowerOfTwo,
}

/// A floating-point format of at most 64 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FloatFormat {
    exponent_bits: u32,
    mantissa_bits: u32,
    bias: i32,
    special: Special,
}

const fn format(exponent_bits: u32, mantissa_bits: u32, bias: i32, special: Special) -> FloatFormat {
    FloatFormat { exponent_bits, mantissa_bits, bias, special }
}

/// Returns the format of a float type, and the format of `f64` for other types.
pub(crate) const fn float_format(ty: ElementType) -> FloatFormat {
    use ElementType as T;
    match ty {
        T::F4E2M1FN => format(2, 1, 1, Special::Finite),
        T::F6E2M3FN => format(2, 3, 1, Special::Finite),
        T::F6E3M2FN => format(3, 2, 3, Special::Finite),
        T::F8E3M4 => format(3, 4, 3, Special::Ieee),
        T::F8E4M3 => format(4, 3, 7, Special::Ieee),
        T::F8E4M3FN => format(4, 3, 7, Special::Nan),
        T::F8E4M3B11FNUZ => format(4, 3, 11, Special::NanAtNegativeZero),
        T::F8E4M3FNUZ => format(4, 3, 8, Special::NanAtNegativeZero),
        T::F8E5M2 => format(5, 2, 15, Special::Ieee),
        T::F8E5M2FNUZ => format(5, 2, 16, Special::NanAtNegativeZero),
        T::F8E8M0FNU => format(8, 0, 127, Special::PowerOfTwo),
        T::F16 => format(5, 10, 15, Special::Ieee),
        T::BF16 => format(8, 7, 127, Special::Ieee),
        T::F32 => format(8, 23, 127, Special::Ieee),
        _ => format(11, 52, 1023, Special::Ieee),
    }
}

const F64_MANTISSA: u32 = 52;
const F64_INFINITY: u64 = 0x7ff << F64_MANTISSA;

/// Computes 2 to the power of `e`. The result is exact within the range of `f64`.
fn power_of_two(e: i32) -> f64 {
    if e >= -1022 { f64::from_bits(((e + 1023) as u64) << F64_MANTISSA) } else { f64::from_bits(1 << (e + 1074)) }
}

/// Returns the exponent of a positive normal number.
fn exponent(x: f64) -> i32 {
    ((x.to_bits() >> F64_MANTISSA) & 0x7ff) as i32 - 1023
}

impl FloatFormat {
    /// Whether the format has a NaN in place of negative zero.
    pub fn has_nan_for_negative_zero(self) -> bool {
        self.special == Special::NanAtNegativeZero
    }

    /// Returns the number of exponent bits.
    pub fn exponent_bits(self) -> u32 {
        self.exponent_bits
    }

    /// Returns the number of mantissa bits, without the hidden bit.
    pub fn mantissa_bits(self) -> u32 {
        self.mantissa_bits
    }

    /// Returns the exponent of the smallest normal number.
    fn min_exponent(self) -> i32 {
        1 - self.bias
    }

    fn max_field(self) -> u64 {
        (1 << self.exponent_bits) - 1
    }

    /// Returns the largest finite value.
    pub fn max(self) -> f64 {
        let ones = (1u64 << self.mantissa_bits) - 1;
        let (field, mantissa) = match self.special {
            Special::Ieee => (self.max_field() - 1, ones),
            Special::Nan => (self.max_field(), ones - 1),
            Special::PowerOfTwo => (self.max_field() - 1, 0),
            Special::NanAtNegativeZero | Special::Finite => (self.max_field(), ones),
        };
        self.finite(field, mantissa)
    }

    /// Returns the finite value that an exponent field and a mantissa field represent.
    fn finite(self, field: u64, mantissa: u64) -> f64 {
        let fraction = mantissa as f64 * power_of_two(-(self.mantissa_bits as i32));
        if field == 0 && self.special != Special::PowerOfTwo {
            fraction * power_of_two(self.min_exponent())
        } else {
            (1.0 + fraction) * power_of_two(field as i32 - self.bias)
        }
    }

    /// Returns the value of a bit pattern. NaNs keep sign and payload.
    pub fn decode(self, bits: u64) -> f64 {
        if self.mantissa_bits == F64_MANTISSA {
            return f64::from_bits(bits);
        }
        let mantissa = bits & ((1 << self.mantissa_bits) - 1);
        let field = (bits >> self.mantissa_bits) & self.max_field();
        let sign = (bits >> (self.mantissa_bits + self.exponent_bits)) & 1;
        let all_ones = field == self.max_field();
        let magnitude = match self.special {
            Special::Ieee if all_ones => f64::from_bits(F64_INFINITY | mantissa << (F64_MANTISSA - self.mantissa_bits)),
            Special::Nan if all_ones && mantissa == (1 << self.mantissa_bits) - 1 => f64::NAN,
            Special::NanAtNegativeZero if sign == 1 && field == 0 && mantissa == 0 => return f64::NAN,
            Special::PowerOfTwo if all_ones => return f64::NAN,
            _ => self.finite(field, mantissa),
        };
        f64::from_bits(magnitude.to_bits() | sign << 63)
    }

    /// Returns the value of this format nearest to `x`, with ties to even.
    pub fn round(self, x: f64) -> f64 {
        if self.mantissa_bits == F64_MANTISSA {
            return x;
        }
        if x.is_nan() {
            return self.round_nan(x);
        }
        if self.special == Special::PowerOfTwo {
            return self.round_to_power_of_two(x);
        }
        let magnitude = x.abs();
        let rounded = if magnitude == 0.0 || magnitude.is_infinite() {
            magnitude
        } else {
            let quantum = exponent(magnitude).max(self.min_exponent()) - self.mantissa_bits as i32;
            (magnitude * power_of_two(-quantum)).round_ties_even() * power_of_two(quantum)
        };
        if rounded > self.max() {
            return self.overflow(x);
        }
        if rounded == 0.0 && self.special == Special::NanAtNegativeZero { 0.0 } else { rounded.copysign(x) }
    }

    /// Rounds a NaN. In a format without NaN, a NaN becomes negative zero regardless of its sign.
    fn round_nan(self, x: f64) -> f64 {
        match self.special {
            Special::Finite => -0.0,
            _ => x,
        }
    }

    fn overflow(self, x: f64) -> f64 {
        match self.special {
            Special::Ieee => f64::INFINITY.copysign(x),
            Special::Finite => self.max().copysign(x),
            _ => f64::NAN.copysign(x),
        }
    }

    /// Rounds to a power of two. Ties go up, like in XLA. Zero, negative numbers and infinities
    /// become NaN.
    fn round_to_power_of_two(self, x: f64) -> f64 {
        let smallest = power_of_two(-self.bias);
        if x <= 0.0 || x.is_infinite() {
            return f64::NAN;
        }
        if x <= smallest {
            return smallest;
        }
        let lower = power_of_two(exponent(x));
        let rounded = if x >= 1.5 * lower { 2.0 * lower } else { lower };
        if rounded > self.max() { f64::NAN } else { rounded }
    }

    /// Returns the bit pattern of the value nearest to `x`.
    pub fn encode(self, x: f64) -> u64 {
        if self.mantissa_bits == F64_MANTISSA {
            return x.to_bits();
        }
        let x = if x.is_nan() { self.round_nan(x) } else { self.round(x) };
        let sign_bit = u64::from(x.is_sign_negative()) << (self.mantissa_bits + self.exponent_bits);
        if x.is_nan() {
            return self.encode_nan(x, sign_bit);
        }
        let magnitude = x.abs();
        if magnitude.is_infinite() {
            return sign_bit | self.max_field() << self.mantissa_bits;
        }
        if self.special == Special::PowerOfTwo {
            return (exponent(magnitude) + self.bias) as u64;
        }
        if magnitude < power_of_two(self.min_exponent()) {
            return sign_bit | (magnitude * power_of_two(self.mantissa_bits as i32 - self.min_exponent())) as u64;
        }
        let field = (exponent(magnitude) + self.bias) as u64;
        let fraction = magnitude.to_bits() & ((1 << F64_MANTISSA) - 1);
        sign_bit | field << self.mantissa_bits | fraction >> (F64_MANTISSA - self.mantissa_bits)
    }

    fn encode_nan(self, x: f64, sign_bit: u64) -> u64 {
        let ones = (1u64 << self.mantissa_bits) - 1;
        match self.special {
            Special::NanAtNegativeZero => 1 << (self.mantissa_bits + self.exponent_bits),
            Special::PowerOfTwo => self.max_field(),
            Special::Nan => sign_bit | self.max_field() << self.mantissa_bits | ones,
            Special::Ieee | Special::Finite => {
                let payload = (x.to_bits() & ((1 << F64_MANTISSA) - 1)) >> (F64_MANTISSA - self.mantissa_bits);
                let payload = if payload == 0 { 1 << (self.mantissa_bits - 1) } else { payload };
                sign_bit | self.max_field() << self.mantissa_bits | payload
            }
        }
    }
}
