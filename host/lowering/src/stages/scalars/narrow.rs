//! Floats of 16 bits and fewer: kept as their bits, widened to f32 and narrowed from it by integer arithmetic
//! that vectorises, rounded to nearest even.

use fusebox_core::builder::{FloatPredicate, IntPredicate};
use fusebox_core::hlo::{FloatFormat, Specials};
use fusebox_core::ir::{Float, OpKind, Scalar, Type, Value};

use super::Scalars;
use crate::stages::rewrite::Stage;
use crate::stages::writer::Writer;

/// Codes of a format with sign, exponent and mantissa.
#[derive(Clone, Copy)]
struct Layout(FloatFormat);

impl Layout {
    fn sign(self) -> i64 {
        1 << (self.0.exponent_bits + self.0.mantissa_bits)
    }

    /// Code of infinity, or of the first magnitude that is none.
    fn infinity(self) -> i64 {
        match self.0.specials {
            Specials::Ieee => ((1 << self.0.exponent_bits) - 1) << self.0.mantissa_bits,
            Specials::NanAllOnes => self.sign() - 1,
            Specials::NanNegativeZero | Specials::None => self.sign(),
        }
    }

    /// Code of what is too large.
    fn overflow(self) -> i64 {
        if self.0.specials == Specials::None { self.sign() - 1 } else { self.infinity() }
    }

    /// Code of NaN, without a sign where there is none to keep. Where there is no NaN it becomes negative zero.
    fn nan(self) -> i64 {
        match self.0.specials {
            Specials::Ieee => self.infinity() | 1 << (self.0.mantissa_bits - 1),
            Specials::NanAllOnes => self.infinity(),
            Specials::NanNegativeZero | Specials::None => self.sign(),
        }
    }

    /// What the smallest positive number is, as a power of two.
    fn smallest_exponent(self) -> i32 {
        1 - self.0.bias - self.0.mantissa_bits as i32
    }
}

/// Integer arithmetic on 32-bit lanes shaped like some value.
struct Lanes<'w> {
    out: &'w mut Writer,
    int: Type,
    float: Type,
}

impl Lanes<'_> {
    fn constant(&mut self, value: i64) -> Value {
        self.out.int(value, &self.int)
    }

    fn op(&mut self, kind: OpKind, a: Value, b: i64) -> Value {
        let b = self.constant(b);
        self.out.binary(kind, a, b)
    }

    fn both(&mut self, kind: OpKind, a: Value, b: Value) -> Value {
        self.out.binary(kind, a, b)
    }

    fn is(&mut self, predicate: IntPredicate, a: Value, b: i64) -> Value {
        let b = self.constant(b);
        self.out.compare(predicate, a, b)
    }

    fn select(&mut self, condition: Value, a: Value, b: Value) -> Value {
        self.out.select(condition, a, b)
    }

    /// A constant where the condition holds.
    fn constant_if(&mut self, condition: Value, constant: i64, otherwise: Value) -> Value {
        let constant = self.constant(constant);
        self.select(condition, constant, otherwise)
    }

    fn as_float(&mut self, bits: Value) -> Value {
        self.out.cast(OpKind::Bitcast, bits, Scalar::F32)
    }

    fn as_bits(&mut self, float: Value) -> Value {
        self.out.cast(OpKind::Bitcast, float, Scalar::I32)
    }
}

impl Scalars<'_, '_> {
    fn lanes(&mut self, like: Value) -> Lanes<'_> {
        let ty = self.out().type_of(like).clone();
        Lanes { int: ty.with_element(Scalar::I32), float: ty.with_element(Scalar::F32), out: self.out() }
    }

    /// The f32 that these bits mean. Exact.
    pub(super) fn widened(&mut self, bits: Value, float: Float) -> Value {
        if float == Float::F16 && self.target.converts_f16 {
            let half = self.out().cast(OpKind::Bitcast, bits, Scalar::F16);
            return self.out().cast(OpKind::ExtF, half, Scalar::F32);
        }
        let wide = self.out().resized(bits, 32, false);
        let mut lanes = self.lanes(wide);
        let result = match (float, float.format()) {
            (Float::F8E8M0FNU, _) => {
                let normal = lanes.op(OpKind::ShlI, wide, 23);
                let smallest = lanes.is(IntPredicate::Eq, wide, 0);
                let nan = lanes.is(IntPredicate::Eq, wide, 255);
                let number = lanes.constant_if(smallest, 0x0040_0000, normal);
                lanes.constant_if(nan, 0x7fc0_0000, number)
            }
            (Float::BF16, _) | (_, None) => lanes.op(OpKind::ShlI, wide, 16),
            (_, Some(format)) => widen_bits(&mut lanes, wide, Layout(format)),
        };
        lanes.as_float(result)
    }

    /// The bits of the number of the format that is nearest to an f32.
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
        let mut lanes = self.lanes(value);
        let bits = lanes.as_bits(value);
        let result = match (float, float.format()) {
            (Float::F8E8M0FNU, _) => narrow_to_exponent(&mut lanes, bits),
            (Float::BF16, _) | (_, None) if is_exact => lanes.op(OpKind::ShrUI, bits, 16),
            (Float::BF16, _) | (_, None) => narrow_to_half(&mut lanes, value, bits, checks_nan),
            (_, Some(format)) => narrow_bits(&mut lanes, bits, Layout(format)),
        };
        self.out().resized(result, 8 * float.bytes(), false)
    }

    /// An f64 as f32, where a last bit of one says that bits were lost: rounding it once more to a narrower
    /// format gives what rounding the f64 at once would have given.
    pub(super) fn rounded_to_odd(&mut self, value: Value) -> Value {
        let mut lanes = self.lanes(value);
        let nearest = lanes.out.cast(OpKind::TruncF, value, Scalar::F32);
        let back = lanes.out.cast(OpKind::ExtF, nearest, Scalar::F64);
        let (size_back, size) = (lanes.out.unary(OpKind::AbsF, back), lanes.out.unary(OpKind::AbsF, value));
        let too_large = lanes.out.comparison(OpKind::CmpF, FloatPredicate::Ogt as i64, size_back, size);
        let inexact = lanes.out.comparison(OpKind::CmpF, FloatPredicate::Une as i64, back, value);
        let bits = lanes.as_bits(nearest);
        let too_large = lanes.out.cast(OpKind::ExtUI, too_large, Scalar::I32);
        let towards_zero = lanes.both(OpKind::SubI, bits, too_large);
        let inexact = lanes.out.cast(OpKind::ExtUI, inexact, Scalar::I32);
        let odd = lanes.both(OpKind::OrI, towards_zero, inexact);
        lanes.as_float(odd)
    }

    /// A 64-bit integer whose lowest ten bits are gathered into one, so that it fits f64 without rounding
    /// and still rounds like the original to anything narrower than f32.
    pub(super) fn with_sticky_low_bits(&mut self, value: Value) -> Value {
        let out = self.out();
        let ty = out.type_of(value).clone();
        let constants = [0xfff, 0, 11, !0xfff, 1 << 52, 1 << 53].map(|value| out.int(value, &ty));
        let [low_bits, zero, eleven, high_bits, limit, twice] = constants;
        let low = out.binary(OpKind::AndI, value, low_bits);
        let lost = out.compare(IntPredicate::Ne, low, zero);
        let lost = out.cast(OpKind::ExtUI, lost, ty.element());
        let sticky = out.binary(OpKind::ShlI, lost, eleven);
        let high = out.binary(OpKind::AndI, value, high_bits);
        let gathered = out.binary(OpKind::OrI, high, sticky);
        // Small numbers are exact as they are, and need their low bits.
        let moved = out.binary(OpKind::AddI, value, limit);
        let small = out.compare(IntPredicate::Ult, moved, twice);
        out.select(small, value, gathered)
    }
}

fn widen_bits(lanes: &mut Lanes<'_>, wide: Value, layout: Layout) -> Value {
    let FloatFormat { exponent_bits, mantissa_bits, bias, specials, .. } = layout.0;
    let magnitude = lanes.op(OpKind::AndI, wide, layout.sign() - 1);
    let sign_bit = lanes.op(OpKind::AndI, wide, layout.sign());
    let sign = lanes.op(OpKind::ShlI, sign_bit, i64::from(31 - exponent_bits - mantissa_bits));
    let moved = lanes.op(OpKind::ShlI, magnitude, i64::from(23 - mantissa_bits));
    let normal = lanes.op(OpKind::AddI, moved, i64::from(127 - bias) << 23);
    // Below the smallest normal number the magnitude counts multiples of the smallest number.
    let counted = lanes.out.cast(OpKind::UIToFP, magnitude, Scalar::F32);
    let unit = lanes.out.float(f64::from(layout.smallest_exponent()).exp2(), &lanes.float);
    let subnormal = lanes.both(OpKind::MulF, counted, unit);
    let subnormal = lanes.as_bits(subnormal);
    let is_subnormal = lanes.is(IntPredicate::Ult, magnitude, 1 << mantissa_bits);
    let number = lanes.select(is_subnormal, subnormal, normal);
    let number = match specials {
        Specials::Ieee => {
            let special = lanes.op(OpKind::OrI, moved, 0x7f80_0000);
            let is_special = lanes.is(IntPredicate::Uge, magnitude, layout.infinity());
            lanes.select(is_special, special, number)
        }
        Specials::NanAllOnes => {
            let is_nan = lanes.is(IntPredicate::Eq, magnitude, layout.nan());
            lanes.constant_if(is_nan, 0x7fc0_0000, number)
        }
        Specials::NanNegativeZero | Specials::None => number,
    };
    let signed = lanes.both(OpKind::OrI, number, sign);
    match specials {
        Specials::NanNegativeZero => {
            let is_nan = lanes.is(IntPredicate::Eq, wide, layout.nan());
            lanes.constant_if(is_nan, 0x7fc0_0000, signed)
        }
        _ => signed,
    }
}

fn narrow_bits(lanes: &mut Lanes<'_>, bits: Value, layout: Layout) -> Value {
    let FloatFormat { exponent_bits, mantissa_bits, bias, specials, .. } = layout.0;
    let shift = i64::from(23 - mantissa_bits);
    let magnitude = lanes.op(OpKind::AndI, bits, 0x7fff_ffff);
    let sign_bit = lanes.op(OpKind::ShrUI, bits, i64::from(31 - exponent_bits - mantissa_bits));
    let sign = lanes.op(OpKind::AndI, sign_bit, layout.sign());
    // Round to nearest even by adding just under half, and the rest of it if the last bit kept is one.
    let last = lanes.op(OpKind::ShrUI, magnitude, shift);
    let last = lanes.op(OpKind::AndI, last, 1);
    let rounded = lanes.op(OpKind::AddI, magnitude, (1 << (shift - 1)) - 1);
    let rounded = lanes.both(OpKind::AddI, rounded, last);
    let normal = lanes.op(OpKind::ShrUI, rounded, shift);
    let normal = lanes.op(OpKind::SubI, normal, i64::from(127 - bias) << mantissa_bits);
    let number = if exponent_bits == 8 {
        normal
    } else {
        let is_subnormal = lanes.is(IntPredicate::Ult, magnitude, i64::from(128 - bias) << 23);
        let subnormal = narrow_subnormal(lanes, magnitude, layout);
        lanes.select(is_subnormal, subnormal, normal)
    };
    let too_large = lanes.is(IntPredicate::Uge, number, layout.infinity());
    let number = lanes.constant_if(too_large, layout.overflow(), number);
    let nan = lanes.is(IntPredicate::Ugt, magnitude, 0x7f80_0000);
    match specials {
        Specials::Ieee | Specials::NanAllOnes => {
            let code = lanes.constant_if(nan, layout.nan(), number);
            lanes.both(OpKind::OrI, code, sign)
        }
        Specials::None => {
            let signed = lanes.both(OpKind::OrI, number, sign);
            lanes.constant_if(nan, layout.nan(), signed)
        }
        Specials::NanNegativeZero => {
            let zero = lanes.is(IntPredicate::Eq, number, 0);
            let sign = lanes.constant_if(zero, 0, sign);
            let code = lanes.both(OpKind::OrI, number, sign);
            lanes.constant_if(nan, layout.nan(), code)
        }
    }
}

/// To the upper half of the bits: rounding carries into the exponent, and past the largest number into infinity.
/// Past infinity it carries only if the lower half of a NaN is not zero.
fn narrow_to_half(lanes: &mut Lanes<'_>, value: Value, bits: Value, checks_nan: bool) -> Value {
    let last = lanes.op(OpKind::ShrUI, bits, 16);
    let last = lanes.op(OpKind::AndI, last, 1);
    // Just under half, and the rest of it if the last bit kept is one.
    let rounded = lanes.both(OpKind::AddI, bits, last);
    let mut rounded = lanes.op(OpKind::AddI, rounded, 0x7fff);
    if checks_nan {
        let nan = lanes.out.comparison(OpKind::CmpF, FloatPredicate::Uno as i64, value, value);
        let quiet = lanes.op(OpKind::OrI, bits, 0x0040_0000);
        rounded = lanes.select(nan, quiet, rounded);
    }
    lanes.op(OpKind::ShrUI, rounded, 16)
}

/// Below the smallest normal number: the addition of a number whose last bit is worth as much as the format's
/// smallest number rounds as wanted.
fn narrow_subnormal(lanes: &mut Lanes<'_>, magnitude: Value, layout: Layout) -> Value {
    let magic = f64::from(layout.smallest_exponent() + 23).exp2();
    let constant = lanes.out.float(magic, &lanes.float);
    let float = lanes.as_float(magnitude);
    let sum = lanes.both(OpKind::AddF, float, constant);
    let bits = lanes.as_bits(sum);
    lanes.op(OpKind::SubI, bits, i64::from((magic as f32).to_bits()))
}

/// To a bare power of two: ties go up, zero and negative numbers are NaN, small ones the smallest power.
fn narrow_to_exponent(lanes: &mut Lanes<'_>, bits: Value) -> Value {
    let normal = lanes.op(OpKind::AddI, bits, 0x0040_0000);
    let normal = lanes.op(OpKind::ShrUI, normal, 23);
    let low = lanes.is(IntPredicate::Uge, bits, 0x0060_0000);
    let low = lanes.out.cast(OpKind::ExtUI, low, Scalar::I32);
    let is_low = lanes.is(IntPredicate::Ult, bits, 0x0080_0000);
    let number = lanes.select(is_low, low, normal);
    // Not a positive finite number: zero wraps around to the largest.
    let below = lanes.op(OpKind::SubI, bits, 1);
    let invalid = lanes.is(IntPredicate::Uge, below, 0x7f7f_ffff);
    lanes.constant_if(invalid, 255, number)
}
