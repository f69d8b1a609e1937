//! Floats of 16 bits and fewer: kept as their bits, widened to f32 and narrowed from it by integer arithmetic
//! that vectorises, rounded to nearest even.

use super::function::Function;
use crate::llvm::{IntPredicate, Op, Ty, Val};
use crate::mlir::FloatFormat;
use llvm_sys::LLVMRealPredicate;

/// What a format's codes beyond its largest number mean.
#[derive(Clone, Copy, PartialEq)]
enum Specials {
    /// As IEEE: the largest exponent is infinity and NaN.
    Ieee,
    /// No infinity; all ones is NaN, and what is too large becomes NaN.
    Finite,
    /// No infinity and no negative zero, whose code is NaN.
    Unsigned0,
    /// Neither infinity nor NaN: too large becomes largest, NaN becomes negative zero.
    None,
}

/// Layout of a format with sign, exponent and mantissa.
#[derive(Clone, Copy)]
struct Layout {
    exponent: u32,
    mantissa: u32,
    bias: i32,
    specials: Specials,
}

impl Layout {
    /// Of every format but `F8E8M0Fnu`, which has neither sign nor mantissa.
    fn of(format: FloatFormat) -> Layout {
        let layout = |exponent, mantissa, bias, specials| Layout { exponent, mantissa, bias, specials };
        match format {
            FloatFormat::F16 => layout(5, 10, 15, Specials::Ieee),
            FloatFormat::F8E5M2 => layout(5, 2, 15, Specials::Ieee),
            FloatFormat::F8E4M3 => layout(4, 3, 7, Specials::Ieee),
            FloatFormat::F8E3M4 => layout(3, 4, 3, Specials::Ieee),
            FloatFormat::F8E4M3Fn => layout(4, 3, 7, Specials::Finite),
            FloatFormat::F8E5M2Fnuz => layout(5, 2, 16, Specials::Unsigned0),
            FloatFormat::F8E4M3Fnuz => layout(4, 3, 8, Specials::Unsigned0),
            FloatFormat::F8E4M3B11Fnuz => layout(4, 3, 11, Specials::Unsigned0),
            FloatFormat::F6E2M3Fn => layout(2, 3, 1, Specials::None),
            FloatFormat::F6E3M2Fn => layout(3, 2, 3, Specials::None),
            FloatFormat::F4E2M1Fn => layout(2, 1, 1, Specials::None),
            _ => layout(8, 7, 127, Specials::Ieee),
        }
    }

    fn sign(self) -> i64 {
        1 << (self.exponent + self.mantissa)
    }

    /// Code of infinity, or of the first magnitude that is none.
    fn infinity(self) -> i64 {
        match self.specials {
            Specials::Ieee => ((1 << self.exponent) - 1) << self.mantissa,
            Specials::Finite => self.sign() - 1,
            Specials::Unsigned0 | Specials::None => self.sign(),
        }
    }

    /// Code of what is too large.
    fn overflow(self) -> i64 {
        match self.specials {
            Specials::Ieee | Specials::Finite | Specials::Unsigned0 => self.infinity(),
            Specials::None => self.sign() - 1,
        }
    }

    /// Code of NaN, without a sign where there is none to keep.
    fn nan(self) -> i64 {
        match self.specials {
            Specials::Ieee => self.infinity() | 1 << (self.mantissa - 1),
            Specials::Finite => self.infinity(),
            Specials::Unsigned0 | Specials::None => self.sign(),
        }
    }

    /// What the smallest positive number is, as a power of two.
    fn smallest_exponent(self) -> i32 {
        1 - self.bias - self.mantissa as i32
    }
}

/// The code of a number that the format holds exactly, or of infinity or NaN.
pub(super) fn encode(format: FloatFormat, value: f64) -> i64 {
    match format {
        FloatFormat::F16 => i64::from(half::f16::from_f64(value).to_bits()),
        FloatFormat::Bf16 => i64::from(half::bf16::from_f64(value).to_bits()),
        FloatFormat::F8E8M0Fnu => {
            (0..256).find(|&code| f64::from(code - 127).exp2() == value && code != 255).unwrap_or(255).into()
        }
        _ => {
            let layout = Layout::of(format);
            if value.is_nan() {
                return layout.nan();
            }
            let codes = (0..2 * layout.sign())
                .filter(|&code| !(layout.specials == Specials::Unsigned0 && code == layout.sign()));
            let mut same = codes.filter(|&code| {
                let found = decode(layout, code);
                found == value && found.is_sign_negative() == value.is_sign_negative()
            });
            same.next().unwrap_or_else(|| layout.overflow() | if value < 0.0 { layout.sign() } else { 0 })
        }
    }
}

fn decode(layout: Layout, code: i64) -> f64 {
    let magnitude = code & (layout.sign() - 1);
    let (exponent, mantissa) = (magnitude >> layout.mantissa, magnitude & ((1 << layout.mantissa) - 1));
    let smallest = f64::from(layout.smallest_exponent()).exp2();
    let value = if magnitude >= layout.infinity() {
        if layout.specials == Specials::Ieee && mantissa == 0 { f64::INFINITY } else { f64::NAN }
    } else if exponent == 0 {
        mantissa as f64 * smallest
    } else {
        (mantissa + (1 << layout.mantissa)) as f64 * smallest * (exponent as f64 - 1.0).exp2()
    };
    if code & layout.sign() != 0 { -value } else { value }
}

/// Integer arithmetic on 32-bit lanes shaped like some value.
struct Lanes<'f, 't, 'k, 's> {
    function: &'f Function<'t, 'k, 's>,
    int: Ty,
    float: Ty,
}

impl Lanes<'_, '_, '_, '_> {
    fn constant(&self, value: i64) -> Val {
        self.function.llvm().const_int(self.int, value)
    }

    fn op(&self, op: Op, a: Val, b: i64) -> Val {
        self.function.llvm().binary(op, a, self.constant(b))
    }

    fn both(&self, op: Op, a: Val, b: Val) -> Val {
        self.function.llvm().binary(op, a, b)
    }

    fn is(&self, predicate: IntPredicate, a: Val, b: i64) -> Val {
        self.function.llvm().compare_int(predicate, a, self.constant(b))
    }

    fn select(&self, condition: Val, a: Val, b: Val) -> Val {
        self.function.llvm().select(condition, a, b)
    }

    fn as_float(&self, bits: Val) -> Val {
        self.function.llvm().cast(Op::LLVMBitCast, bits, self.float)
    }

    fn as_bits(&self, float: Val) -> Val {
        self.function.llvm().cast(Op::LLVMBitCast, float, self.int)
    }
}

impl<'t, 'k, 's> Function<'t, 'k, 's> {
    fn lanes(&self, like: Val) -> Lanes<'_, 't, 'k, 's> {
        let llvm = self.llvm();
        let ty = llvm.type_of(like);
        Lanes { function: self, int: llvm.shaped_like(llvm.int(32), ty), float: llvm.shaped_like(llvm.float(), ty) }
    }

    /// The f32 that these bits mean. Exact.
    pub(super) fn widened(&self, bits: Val, format: FloatFormat) -> Val {
        let lanes = self.lanes(bits);
        if format == FloatFormat::F16 && self.translation.traits.converts_f16 {
            let half = self.llvm().shaped_like(self.llvm().half(), lanes.int);
            return self.llvm().cast(Op::LLVMFPExt, self.llvm().cast(Op::LLVMBitCast, bits, half), lanes.float);
        }
        let wide = self.resized_as(bits, 32, false);
        let result = match format {
            FloatFormat::Bf16 => lanes.op(Op::LLVMShl, wide, 16),
            FloatFormat::F8E8M0Fnu => {
                let normal = lanes.op(Op::LLVMShl, wide, 23);
                let smallest = lanes.is(IntPredicate::LLVMIntEQ, wide, 0);
                let nan = lanes.is(IntPredicate::LLVMIntEQ, wide, 255);
                let number = lanes.select(smallest, lanes.constant(0x0040_0000), normal);
                lanes.select(nan, lanes.constant(0x7fc0_0000), number)
            }
            _ => widen_bits(&lanes, wide, Layout::of(format)),
        };
        lanes.as_float(result)
    }

    /// The bits of the number of the format that is nearest to an f32.
    pub(super) fn narrowed(&self, value: Val, format: FloatFormat) -> Val {
        let lanes = self.lanes(value);
        let traits = self.translation.traits;
        let native = match format {
            FloatFormat::F16 if traits.converts_f16 => Some(self.llvm().half()),
            FloatFormat::Bf16 if traits.converts_bf16 => Some(self.llvm().bfloat()),
            _ => None,
        };
        if let Some(native) = native {
            let native = self.llvm().shaped_like(native, lanes.int);
            let short = self.llvm().shaped_like(self.llvm().int(16), lanes.int);
            return self.llvm().cast(Op::LLVMBitCast, self.llvm().cast(Op::LLVMFPTrunc, value, native), short);
        }
        let bits = lanes.as_bits(value);
        let result = match format {
            FloatFormat::F8E8M0Fnu => narrow_to_exponent(&lanes, bits),
            FloatFormat::Bf16 if self.rounding.is_exact(value) => lanes.op(Op::LLVMLShr, bits, 16),
            FloatFormat::Bf16 => {
                let checks_nan = !(traits.makes_short_nans && self.rounding.has_short_nans(value));
                narrow_to_half(&lanes, value, bits, checks_nan)
            }
            _ => narrow_bits(&lanes, bits, Layout::of(format)),
        };
        self.resized_as(result, 8 * format.bytes(), false)
    }

    /// An f64 as f32, where a last bit of one says that bits were lost: rounding it once more to a narrower
    /// format gives what rounding the f64 at once would have given.
    pub(super) fn rounded_to_odd(&self, value: Val) -> Val {
        let lanes = self.lanes(value);
        let llvm = self.llvm();
        let wide = llvm.type_of(value);
        let nearest = llvm.cast(Op::LLVMFPTrunc, value, lanes.float);
        let back = llvm.cast(Op::LLVMFPExt, nearest, wide);
        let magnitude = |value| llvm.call_intrinsic("llvm.fabs", &[wide], &[value]);
        let too_large = llvm.compare_float(LLVMRealPredicate::LLVMRealOGT, magnitude(back), magnitude(value));
        let inexact = llvm.compare_float(LLVMRealPredicate::LLVMRealUNE, back, value);
        let bits = lanes.as_bits(nearest);
        let towards_zero = lanes.both(Op::LLVMSub, bits, self.llvm().cast(Op::LLVMZExt, too_large, lanes.int));
        lanes.as_float(lanes.both(Op::LLVMOr, towards_zero, llvm.cast(Op::LLVMZExt, inexact, lanes.int)))
    }

    /// A 64-bit integer whose lowest ten bits are gathered into one, so that it fits f64 without rounding
    /// and still rounds like the original to anything narrower than f32.
    pub(super) fn with_sticky_low_bits(&self, value: Val) -> Val {
        let llvm = self.llvm();
        let ty = llvm.type_of(value);
        let low = llvm.binary(Op::LLVMAnd, value, llvm.const_int(ty, 0xfff));
        let lost = llvm.compare_int(IntPredicate::LLVMIntNE, low, llvm.const_int(ty, 0));
        let sticky = llvm.binary(Op::LLVMShl, llvm.cast(Op::LLVMZExt, lost, ty), llvm.const_int(ty, 11));
        let high = llvm.binary(Op::LLVMAnd, value, llvm.const_int(ty, !0xfff));
        let gathered = llvm.binary(Op::LLVMOr, high, sticky);
        // Small numbers are exact as they are, and need their low bits.
        let limit = llvm.const_int(ty, 1 << 52);
        let moved = llvm.binary(Op::LLVMAdd, value, limit);
        let twice = llvm.const_int(ty, 1 << 53);
        let small = llvm.compare_int(IntPredicate::LLVMIntULT, moved, twice);
        llvm.select(small, value, gathered)
    }
}

fn widen_bits(lanes: &Lanes<'_, '_, '_, '_>, wide: Val, layout: Layout) -> Val {
    let Layout { mantissa, bias, .. } = layout;
    let magnitude = lanes.op(Op::LLVMAnd, wide, layout.sign() - 1);
    let sign_bit = lanes.op(Op::LLVMAnd, wide, layout.sign());
    let sign = lanes.op(Op::LLVMShl, sign_bit, i64::from(31 - layout.exponent - mantissa));
    let moved = lanes.op(Op::LLVMShl, magnitude, i64::from(23 - mantissa));
    let normal = lanes.op(Op::LLVMAdd, moved, i64::from(127 - bias) << 23);
    // Below the smallest normal number the magnitude counts multiples of the smallest number.
    let counted = lanes.function.llvm().cast(Op::LLVMUIToFP, magnitude, lanes.float);
    let unit = lanes.function.llvm().const_float(lanes.float, f64::from(layout.smallest_exponent()).exp2());
    let subnormal = lanes.as_bits(lanes.both(Op::LLVMFMul, counted, unit));
    let is_subnormal = lanes.is(IntPredicate::LLVMIntULT, magnitude, 1 << mantissa);
    let number = lanes.select(is_subnormal, subnormal, normal);
    let nan = lanes.constant(0x7fc0_0000);
    let number = match layout.specials {
        Specials::Ieee => {
            let special = lanes.op(Op::LLVMOr, moved, 0x7f80_0000);
            lanes.select(lanes.is(IntPredicate::LLVMIntUGE, magnitude, layout.infinity()), special, number)
        }
        Specials::Finite => lanes.select(lanes.is(IntPredicate::LLVMIntEQ, magnitude, layout.nan()), nan, number),
        Specials::Unsigned0 | Specials::None => number,
    };
    let signed = lanes.both(Op::LLVMOr, number, sign);
    match layout.specials {
        Specials::Unsigned0 => lanes.select(lanes.is(IntPredicate::LLVMIntEQ, wide, layout.nan()), nan, signed),
        _ => signed,
    }
}

fn narrow_bits(lanes: &Lanes<'_, '_, '_, '_>, bits: Val, layout: Layout) -> Val {
    let Layout { exponent, mantissa, bias, .. } = layout;
    let shift = i64::from(23 - mantissa);
    let magnitude = lanes.op(Op::LLVMAnd, bits, 0x7fff_ffff);
    let sign_bit = lanes.op(Op::LLVMLShr, bits, i64::from(31 - exponent - mantissa));
    let sign = lanes.op(Op::LLVMAnd, sign_bit, layout.sign());
    // Round to nearest even by adding just under half, and the rest of it if the last bit kept is one.
    let last = lanes.op(Op::LLVMAnd, lanes.op(Op::LLVMLShr, magnitude, shift), 1);
    let rounded = lanes.both(Op::LLVMAdd, lanes.op(Op::LLVMAdd, magnitude, (1 << (shift - 1)) - 1), last);
    let normal = lanes.op(Op::LLVMSub, lanes.op(Op::LLVMLShr, rounded, shift), i64::from(127 - bias) << mantissa);
    let number = if exponent == 8 {
        normal
    } else {
        lanes.select(
            lanes.is(IntPredicate::LLVMIntULT, magnitude, i64::from(128 - bias) << 23),
            narrow_subnormal(lanes, magnitude, layout),
            normal,
        )
    };
    let too_large = lanes.is(IntPredicate::LLVMIntUGE, number, layout.infinity());
    let number = lanes.select(too_large, lanes.constant(layout.overflow()), number);
    let nan = lanes.is(IntPredicate::LLVMIntUGT, magnitude, 0x7f80_0000);
    match layout.specials {
        Specials::Ieee | Specials::Finite => {
            lanes.both(Op::LLVMOr, lanes.select(nan, lanes.constant(layout.nan()), number), sign)
        }
        Specials::None => lanes.select(nan, lanes.constant(layout.nan()), lanes.both(Op::LLVMOr, number, sign)),
        Specials::Unsigned0 => {
            let zero = lanes.is(IntPredicate::LLVMIntEQ, number, 0);
            let sign = lanes.select(zero, lanes.constant(0), sign);
            let code = lanes.both(Op::LLVMOr, number, sign);
            lanes.select(nan, lanes.constant(layout.nan()), code)
        }
    }
}

/// To the upper half of the bits: rounding carries into the exponent, and past the largest number into infinity.
/// Past infinity it carries only if the lower half of a NaN is not zero.
fn narrow_to_half(lanes: &Lanes<'_, '_, '_, '_>, value: Val, bits: Val, checks_nan: bool) -> Val {
    let last = lanes.op(Op::LLVMAnd, lanes.op(Op::LLVMLShr, bits, 16), 1);
    // Just under half, and the rest of it if the last bit kept is one.
    let mut rounded = lanes.op(Op::LLVMAdd, lanes.both(Op::LLVMAdd, bits, last), 0x7fff);
    if checks_nan {
        let nan = lanes.function.llvm().compare_float(LLVMRealPredicate::LLVMRealUNO, value, value);
        rounded = lanes.select(nan, lanes.op(Op::LLVMOr, bits, 0x0040_0000), rounded);
    }
    lanes.op(Op::LLVMLShr, rounded, 16)
}

/// Below the smallest normal number: the addition of a number whose last bit is worth as much as the format's
/// smallest number rounds as wanted.
fn narrow_subnormal(lanes: &Lanes<'_, '_, '_, '_>, magnitude: Val, layout: Layout) -> Val {
    let magic = f64::from(layout.smallest_exponent() + 23).exp2();
    let sum =
        lanes.both(Op::LLVMFAdd, lanes.as_float(magnitude), lanes.function.llvm().const_float(lanes.float, magic));
    lanes.op(Op::LLVMSub, lanes.as_bits(sum), i64::from((magic as f32).to_bits()))
}

/// To a bare power of two: ties go up, zero and negative numbers are NaN, small ones the smallest power.
fn narrow_to_exponent(lanes: &Lanes<'_, '_, '_, '_>, bits: Val) -> Val {
    let normal = lanes.op(Op::LLVMLShr, lanes.op(Op::LLVMAdd, bits, 0x0040_0000), 23);
    let low = lanes.is(IntPredicate::LLVMIntUGE, bits, 0x0060_0000);
    let low = lanes.function.llvm().cast(Op::LLVMZExt, low, lanes.int);
    let number = lanes.select(lanes.is(IntPredicate::LLVMIntULT, bits, 0x0080_0000), low, normal);
    // Not a positive finite number: zero wraps around to the largest.
    let invalid = lanes.is(IntPredicate::LLVMIntUGE, lanes.op(Op::LLVMSub, bits, 1), 0x7f7f_ffff);
    lanes.select(invalid, lanes.constant(255), number)
}
