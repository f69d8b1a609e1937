//! Converts floats of 16 bits and fewer, which are represented by their bits. Integer arithmetic
//! widens floats of 16 bits and fewer to f32. Integer arithmetic also narrows an f32 to 16 bits and
//! fewer, with rounding to nearest even. LLVM can vectorise this integer arithmetic.

use fusebox_core::builder::IntPredicate;
use fusebox_core::hlo::{FloatFormat, Specials};
use fusebox_core::ir::{Float, OpKind, Scalar, Value};

use super::Scalars;
use crate::stages::rewrite::Stage;
use crate::stages::writer::Number;

/// The encoding of a float format that has a sign, an exponent and a mantissa.
#[derive(Clone, Copy)]
struct Layout(FloatFormat);

impl Layout {
    fn sign(self) -> i64 {
        1 << (self.0.exponent_bits + self.0.mantissa_bits)
    }

    /// Returns the code of infinity. In a format without infinity, returns the first code beyond
    /// the finite magnitudes.
    fn infinity(self) -> i64 {
        match self.0.specials {
            Specials::Ieee => ((1 << self.0.exponent_bits) - 1) << self.0.mantissa_bits,
            Specials::NanAllOnes => self.sign() - 1,
            Specials::NanNegativeZero | Specials::None => self.sign(),
        }
    }

    /// Returns the code that represents numbers too large for the format.
    fn overflow(self) -> i64 {
        if self.0.specials == Specials::None { self.sign() - 1 } else { self.infinity() }
    }

    /// Returns the code of NaN, with a sign bit of 0 if the format has NaNs of both signs. In a
    /// format without NaN, returns negative zero.
    fn nan(self) -> i64 {
        match self.0.specials {
            Specials::Ieee => self.infinity() | 1 << (self.0.mantissa_bits - 1),
            Specials::NanAllOnes => self.infinity(),
            Specials::NanNegativeZero | Specials::None => self.sign(),
        }
    }

    /// Returns the exponent of the smallest positive number, which is a power of two.
    fn smallest_exponent(self) -> i32 {
        1 - self.0.bias - self.0.mantissa_bits as i32
    }
}

impl Scalars<'_, '_> {
    /// Widens a float, represented by its bits, to f32. The conversion is exact.
    pub(super) fn widened(&mut self, bits: Value, float: Float) -> Value {
        if float == Float::F16 && self.target.converts_f16 {
            let half = self.out().cast(OpKind::Bitcast, bits, Scalar::F16);
            return self.out().cast(OpKind::ExtF, half, Scalar::F32);
        }
        let wide = self.out().resized(bits, 32, false);
        self.out().formula(&[wide], |wide| widened(wide[0], float).to_float())
    }

    /// Narrows an f32 to the format `float`. Returns the bits of the format's number that is
    /// nearest to the f32.
    pub(super) fn narrowed(&mut self, value: Value, float: Float) -> Value {
        let native = match float {
            Float::F16 => self.target.converts_f16,
            Float::BF16 => self.target.converts_bf16,
            _ => false,
        };
        if native {
            let short = self.out().cast(OpKind::TruncF, value, Scalar::Float(float));
            return self.out().cast(OpKind::Bitcast, short, Scalar::I16);
        }
        let is_exact = self.rounding.is_exact(value);
        let checks_nan = !(self.target.makes_short_nans && self.rounding.has_short_nans(value));
        let result = self.out().formula(&[value], |value| {
            let (value, bits) = (value[0], value[0].to_bits());
            match (float, float.format()) {
                (Float::F8E8M0FNU, _) => narrow_to_exponent(bits),
                (Float::BF16, _) | (_, None) if is_exact => bits.shrui(16_i64),
                (Float::BF16, _) | (_, None) => narrow_to_half(value, bits, checks_nan),
                (_, Some(format)) => narrow_bits(bits, Layout(format)),
            }
        });
        self.out().resized(result, 8 * float.bytes(), false)
    }

    /// Rounds an f64 to f32 towards zero and sets the last bit if bits were lost. Rounding the
    /// result to a narrower format then gives the same number as rounding the f64 directly.
    pub(super) fn rounded_to_odd(&mut self, value: Value) -> Value {
        self.out().formula(&[value], |value| {
            let value = value[0];
            let nearest = value.truncf(Scalar::F32);
            let back = nearest.extf(Scalar::F64);
            let (too_large, inexact) = (back.absf().gt(value.absf()), back.ne(value));
            let towards_zero = nearest.to_bits() - too_large.extui(Scalar::I32);
            (towards_zero | inexact.extui(Scalar::I32)).to_float()
        })
    }

    /// Replaces the lowest twelve bits of a large 64-bit integer by one bit, which is set if any of
    /// the twelve bits is set. An f64 holds the result exactly, and rounding the result to a format
    /// narrower than f32 gives the same number as rounding the original.
    pub(super) fn with_sticky_low_bits(&mut self, value: Value) -> Value {
        self.out().formula(&[value], |value| {
            let value = value[0];
            let lost = (value & 0xfff_i64).ne(0_i64).extui(value.scalar());
            let sticky = lost.shli(11_i64);
            let gathered = (value & !0xfff_i64) | sticky;
            // Small numbers are exact in f64 and need their low bits.
            let small = (value + (1_i64 << 52)).cmpi(IntPredicate::Ult, 1_i64 << 53);
            small.select(value, gathered)
        })
    }
}

/// Converts the bits of a float to the bits of the f32 with the same value.
fn widened(wide: Number<'_>, float: Float) -> Number<'_> {
    match (float, float.format()) {
        (Float::F8E8M0FNU, _) => {
            let normal = wide.shli(23_i64);
            let (smallest, nan) = (wide.eq(0_i64), wide.eq(255_i64));
            nan.select(0x7fc0_0000_i64, smallest.select(0x0040_0000_i64, normal))
        }
        (Float::BF16, _) | (_, None) => wide.shli(16_i64),
        (_, Some(format)) => widen_bits(wide, Layout(format)),
    }
}

fn widen_bits(wide: Number<'_>, layout: Layout) -> Number<'_> {
    let FloatFormat { exponent_bits, mantissa_bits, bias, specials, .. } = layout.0;
    let magnitude = wide & (layout.sign() - 1);
    let sign = (wide & layout.sign()).shli(i64::from(31 - exponent_bits - mantissa_bits));
    let moved = magnitude.shli(i64::from(23 - mantissa_bits));
    let normal = moved + (i64::from(127 - bias) << 23);
    // The magnitude of a subnormal number is a multiple of the smallest number.
    let subnormal = (magnitude.uitofp(Scalar::F32) * f64::from(layout.smallest_exponent()).exp2()).to_bits();
    let number = magnitude.cmpi(IntPredicate::Ult, 1_i64 << mantissa_bits).select(subnormal, normal);
    let number = match specials {
        Specials::Ieee => {
            let special = moved | 0x7f80_0000_i64;
            magnitude.cmpi(IntPredicate::Uge, layout.infinity()).select(special, number)
        }
        Specials::NanAllOnes => magnitude.eq(layout.nan()).select(0x7fc0_0000_i64, number),
        Specials::NanNegativeZero | Specials::None => number,
    };
    let signed = number | sign;
    match specials {
        Specials::NanNegativeZero => wide.eq(layout.nan()).select(0x7fc0_0000_i64, signed),
        _ => signed,
    }
}

fn narrow_bits(bits: Number<'_>, layout: Layout) -> Number<'_> {
    let FloatFormat { exponent_bits, mantissa_bits, bias, specials, .. } = layout.0;
    let shift = i64::from(23 - mantissa_bits);
    let magnitude = bits & 0x7fff_ffff_i64;
    let sign = bits.shrui(i64::from(31 - exponent_bits - mantissa_bits)) & layout.sign();
    // Rounds to nearest even: adds one less than half a unit of the last kept bit, and one more if
    // this bit is one.
    let last = magnitude.shrui(shift) & 1_i64;
    let rounded = magnitude + ((1_i64 << (shift - 1)) - 1) + last;
    let normal = rounded.shrui(shift) - (i64::from(127 - bias) << mantissa_bits);
    let number = if exponent_bits == 8 {
        normal
    } else {
        let is_subnormal = magnitude.cmpi(IntPredicate::Ult, i64::from(128 - bias) << 23);
        is_subnormal.select(narrow_subnormal(magnitude, layout), normal)
    };
    let too_large = number.cmpi(IntPredicate::Uge, layout.infinity());
    let number = too_large.select(layout.overflow(), number);
    let nan = magnitude.cmpi(IntPredicate::Ugt, 0x7f80_0000_i64);
    match specials {
        Specials::Ieee | Specials::NanAllOnes => nan.select(layout.nan(), number) | sign,
        Specials::None => nan.select(layout.nan(), number | sign),
        Specials::NanNegativeZero => {
            let sign = number.eq(0_i64).select(0_i64, sign);
            nan.select(layout.nan(), number | sign)
        }
    }
}

/// Rounds an f32 to the upper half of its bits. A carry increases the exponent, and turns the
/// largest number into infinity. A carry corrupts a NaN only if the lower half of the NaN's bits is
/// not zero.
fn narrow_to_half<'f>(value: Number<'f>, bits: Number<'f>, checks_nan: bool) -> Number<'f> {
    let last = bits.shrui(16_i64) & 1_i64;
    // Adds one less than half a unit of the last kept bit, and one more if this bit is one.
    let rounded = bits + last + 0x7fff_i64;
    let kept = if checks_nan { value.is_nan().select(bits | 0x0040_0000_i64, rounded) } else { rounded };
    kept.shrui(16_i64)
}

/// Narrows a number that is less than the format's smallest normal number. The code adds a float
/// whose last bit has the value of the format's smallest positive number, so that the addition
/// rounds correctly.
fn narrow_subnormal(magnitude: Number<'_>, layout: Layout) -> Number<'_> {
    let magic = f64::from(layout.smallest_exponent() + 23).exp2();
    (magnitude.to_float() + magic).to_bits() - i64::from((magic as f32).to_bits())
}

/// Rounds an f32 to a power of two. Ties round up, zero and negative numbers become NaN, and small
/// numbers become the smallest power.
fn narrow_to_exponent(bits: Number<'_>) -> Number<'_> {
    let normal = (bits + 0x0040_0000_i64).shrui(23_i64);
    let low = bits.cmpi(IntPredicate::Uge, 0x0060_0000_i64).extui(Scalar::I32);
    let number = bits.cmpi(IntPredicate::Ult, 0x0080_0000_i64).select(low, normal);
    // True if the number is not both positive and finite. Zero is included, because zero minus one
    // wraps around to the largest integer.
    let invalid = (bits - 1_i64).cmpi(IntPredicate::Uge, 0x7f7f_ffff_i64);
    invalid.select(255_i64, number)
}
