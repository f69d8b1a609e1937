//! The conversions `cvt` and `cvt.pack`.

use super::integer::operands;
use super::reader::{Reader, Width};
use crate::code::{Kind, LaneFn, Operands, Registers, lanes, one, two};
use crate::error::LoadError;
use crate::numbers::integer as int;
use crate::numbers::{Bf16, F16, F32, F64, Float, Format, Rounding, canonical, decode, encode, flush, to_integer};
use crate::text::{Operand, Type};

/// How to convert. An instruction stores the packed mode in [`Operands::extra`].
#[derive(Clone, Copy)]
struct Mode {
    rounding: Rounding,
    /// Whether the result is rounded to an integer.
    is_integral: bool,
    flushes: bool,
    saturates: bool,
    relu: bool,
    is_finite: bool,
    from: Integer,
    to: Integer,
    /// Number of bits of the result's register.
    register_bits: u32,
}

/// An integer type.
#[derive(Clone, Copy)]
struct Integer {
    bits: u32,
    is_signed: bool,
}

const ROUNDINGS: [(&str, (Rounding, bool)); 9] = [
    ("rn", (Rounding::Nearest, false)),
    ("rz", (Rounding::Zero, false)),
    ("rm", (Rounding::Down, false)),
    ("rp", (Rounding::Up, false)),
    ("rna", (Rounding::Away, false)),
    ("rni", (Rounding::Nearest, true)),
    ("rzi", (Rounding::Zero, true)),
    ("rmi", (Rounding::Down, true)),
    ("rpi", (Rounding::Up, true)),
];

const ORDER: [Rounding; 5] = [Rounding::Nearest, Rounding::Away, Rounding::Zero, Rounding::Down, Rounding::Up];

impl Mode {
    fn packed(self) -> u32 {
        let flags = [self.is_integral, self.flushes, self.saturates, self.relu, self.is_finite];
        let flags = flags.iter().fold(0, |all, flag| all << 1 | u32::from(*flag));
        let rounding = ORDER.iter().position(|it| *it == self.rounding).unwrap_or(0) as u32;
        let size = |bits: u32| bits.trailing_zeros();
        let integer = |it: Integer| size(it.bits) << 1 | u32::from(it.is_signed);
        rounding | flags << 3 | integer(self.from) << 8 | integer(self.to) << 12 | size(self.register_bits) << 16
    }

    #[inline(always)]
    fn unpacked(packed: u32) -> Mode {
        let flag = |number: u32| packed >> (7 - number) & 1 == 1;
        let integer = |at: u32| Integer { bits: 1 << (packed >> (at + 1) & 7), is_signed: packed >> at & 1 == 1 };
        Mode {
            rounding: ORDER[(packed & 7) as usize % ORDER.len()],
            is_integral: flag(0),
            flushes: flag(1),
            saturates: flag(2),
            relu: flag(3),
            is_finite: flag(4),
            from: integer(8),
            to: integer(12),
            register_bits: 1 << (packed >> 16 & 7),
        }
    }
}

/// A number that a conversion has read from the source type and not yet written in the target type.
#[derive(Clone, Copy)]
enum Number {
    Integer(i128),
    Float(f64),
}

trait Source {
    /// Whether the type is `f64`.
    const IS_DOUBLE: bool = false;
    fn read(bits: u64, mode: Mode) -> Number;
}

trait Target {
    fn write(number: Number, mode: Mode, from_double: bool) -> u64;
}

struct Whole;
struct Tf32;

impl Source for Whole {
    #[inline(always)]
    fn read(bits: u64, mode: Mode) -> Number {
        let Integer { bits: wide, is_signed } = mode.from;
        let extended = int::extend(bits, wide, is_signed);
        Number::Integer(if is_signed { i128::from(extended as i64) } else { i128::from(extended) })
    }
}

macro_rules! float_source {
    ($ty:ty, $is_double:literal) => {
        impl Source for $ty {
            const IS_DOUBLE: bool = $is_double;
            #[inline(always)]
            fn read(bits: u64, mode: Mode) -> Number {
                let bits = bits & (<$ty>::SIGN | (<$ty>::SIGN - 1));
                Number::Float(<$ty>::decode(if mode.flushes { flush::<$ty>(bits) } else { bits }))
            }
        }
    };
}
float_source!(F16, false);
float_source!(Bf16, false);
float_source!(F32, false);
float_source!(F64, true);

impl Target for Whole {
    #[inline(always)]
    fn write(number: Number, mode: Mode, from_double: bool) -> u64 {
        let Integer { bits, is_signed } = mode.to;
        let value = match number {
            Number::Integer(value) if mode.saturates => {
                let (low, high) = if is_signed {
                    (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
                } else {
                    (0, i128::from(int::mask(bits)))
                };
                value.clamp(low, high) as u64
            }
            Number::Integer(value) => value as u64,
            Number::Float(value) => {
                let nan = if from_double || bits == 64 { 1 << (bits - 1) } else { 0 };
                to_integer(value, mode.rounding, bits, is_signed, nan)
            }
        };
        int::extend(value, bits, is_signed) & int::mask(mode.register_bits)
    }
}

/// Returns an `f64` that rounds to a narrower float exactly as the integer would. If the integer
/// has bits that do not fit into an `f64`, sets the last bit of the `f64`.
fn sticky(value: i128) -> f64 {
    let magnitude = value.unsigned_abs() as u64;
    let excess = (64 - magnitude.leading_zeros()).saturating_sub(53);
    let kept = magnitude >> excess << excess;
    let kept = if kept == magnitude { kept } else { kept | 1 << excess };
    let float = kept as f64;
    if value < 0 { -float } else { float }
}

/// Rounds a float to an integer.
fn integral(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Away => value.round(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

#[inline(always)]
fn as_float(number: Number, mode: Mode) -> f64 {
    let value = match number {
        Number::Integer(value) => sticky(value),
        Number::Float(value) if mode.is_integral => integral(value, mode.rounding),
        Number::Float(value) => value,
    };
    // NaN becomes zero by `sat`, and stays by `relu`.
    // The sum makes a positive zero of a negative one.
    let clamped = if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) + 0.0 };
    let value = if mode.saturates { clamped } else { value };
    if mode.relu && value <= 0.0 { 0.0 } else { value }
}

macro_rules! float_target {
    ($ty:ty, $format:expr) => {
        impl Target for $ty {
            #[inline(always)]
            fn write(number: Number, mode: Mode, _: bool) -> u64 {
                u64::from(encode(as_float(number, mode), $format, mode.rounding, mode.is_finite))
            }
        }
    };
}
float_target!(F16, Format::F16);
float_target!(Bf16, Format::BF16);

impl Target for F32 {
    #[inline(always)]
    fn write(number: Number, mode: Mode, _: bool) -> u64 {
        let value = as_float(number, mode);
        let bits = if mode.rounding == Rounding::Nearest {
            canonical(value as f32)
        } else {
            u64::from(encode(value, Format::F32, mode.rounding, false))
        };
        if mode.flushes { flush::<F32>(bits) } else { bits }
    }
}

impl Target for Tf32 {
    fn write(number: Number, mode: Mode, _: bool) -> u64 {
        u64::from(encode(as_float(number, mode), Format::TF32, mode.rounding, mode.is_finite)) << 13
    }
}

impl Target for F64 {
    #[inline(always)]
    fn write(number: Number, mode: Mode, _: bool) -> u64 {
        match number {
            Number::Float(_) => as_float(number, mode).to_bits(),
            Number::Integer(value) => rounded_to_double(value, mode.rounding).to_bits(),
        }
    }
}

/// Rounds an integer to `f64`.
fn rounded_to_double(value: i128, rounding: Rounding) -> f64 {
    let nearest = value as f64;
    let error = value - nearest as i128;
    let is_above = error < 0;
    let next = |up: bool| {
        let away = up == (nearest > 0.0);
        f64::from_bits(if away { nearest.to_bits() + 1 } else { nearest.to_bits() - 1 })
    };
    match rounding {
        Rounding::Down if is_above => next(false),
        Rounding::Up if error > 0 => next(true),
        Rounding::Zero if is_above && value > 0 => next(false),
        Rounding::Zero if error > 0 && value < 0 => next(true),
        _ => nearest,
    }
}

fn run<S: Source, T: Target>(registers: &mut Registers, at: &Operands, mask: u32) {
    let mode = Mode::unpacked(at.extra);
    one(registers, at, mask, |a| T::write(S::read(a, mode), mode, S::IS_DOUBLE));
}

/// Converts two numbers. Writes the first number to the upper half of a register, and the second
/// number to the lower half.
fn run_pair<T: Target, const SHIFT: u32>(registers: &mut Registers, at: &Operands, mask: u32) {
    let mode = Mode::unpacked(at.extra);
    let write = |a| T::write(F32::read(a, mode), mode, false);
    two(registers, at, mask, |a, b| write(a) << SHIFT | write(b));
}

fn integer(ty: Type) -> Option<Integer> {
    match ty {
        Type::U(bits) => Some(Integer { bits, is_signed: false }),
        Type::S(bits) => Some(Integer { bits, is_signed: true }),
        _ => None,
    }
}

/// Chooses the function that converts to the type `to`.
fn function<S: Source>(to: Type) -> Option<LaneFn> {
    match to {
        Type::U(_) | Type::S(_) => Some(run::<S, Whole>),
        Type::F(16) => Some(run::<S, F16>),
        Type::Bf16 => Some(run::<S, Bf16>),
        Type::F(32) => Some(run::<S, F32>),
        Type::F(64) => Some(run::<S, F64>),
        _ => None,
    }
}

/// `cvt`.
pub fn convert(reader: &mut Reader) -> Result<Kind, LoadError> {
    let rounding = reader.choose(&ROUNDINGS);
    let relu_first = reader.take("relu");
    let is_finite = reader.take("satfinite");
    let relu = reader.take("relu") || relu_first;
    let (flushes, saturates) = (reader.take("ftz"), reader.take("sat"));
    let none = Integer { bits: 32, is_signed: false };
    let (direction, is_integral) = rounding.unwrap_or((Rounding::Nearest, false));
    let mut mode = Mode {
        rounding: direction,
        is_integral,
        flushes,
        saturates,
        relu,
        is_finite,
        from: none,
        to: none,
        register_bits: 32,
    };
    if matches!(reader.peek(), Some("f16x2" | "bf16x2" | "tf32" | "e4m3x2" | "e5m2x2")) {
        return special(reader, mode, rounding.is_some());
    }
    let (to, from) = (reader.ty()?, reader.ty()?);
    mode.from = integer(from).unwrap_or(none);
    mode.to = integer(to).unwrap_or(none);
    check_rounding(reader, to, from, rounding)?;
    if relu && !matches!(to, Type::F(16) | Type::Bf16) || is_finite && to.bits() != 16 {
        return reader.unknown();
    }
    if flushes && to != Type::F(32) && from != Type::F(32) {
        return reader.unknown();
    }
    let has_bf16 = to == Type::Bf16 || from == Type::Bf16;
    let has_byte = matches!(to, Type::U(8) | Type::S(8)) || matches!(from, Type::U(8) | Type::S(8));
    if has_bf16 && (saturates || has_byte) || saturates && !can_exceed(to, from) {
        return reader.unknown();
    }
    let function = match from {
        Type::U(_) | Type::S(_) => function::<Whole>(to),
        Type::F(16) => function::<F16>(to),
        Type::Bf16 => function::<Bf16>(to),
        Type::F(32) => function::<F32>(to),
        Type::F(64) => function::<F64>(to),
        _ => None,
    };
    let Some(function) = function else { return reader.unknown() };
    if has_bf16 && (flushes || !matches!((to, from), (Type::Bf16, Type::F(32)) | (Type::F(32), Type::Bf16))) {
        // Only the conversions from and to `f32` are older.
        reader.needs(90, 78)?;
    }
    reader.finish(2)?;
    let source = reader.source_of(reader.operand(1)?, from, Width::Relaxed)?;
    let result = reader.operand(0)?;
    mode.register_bits = register_bits(reader, result).unwrap_or(to.bits());
    let to = reader.dest_of(result, to, Width::Relaxed)?;
    Ok(Kind::Lanes(function, Operands { to, from: [source, 0, 0, 0], extra: mode.packed() }))
}

fn register_bits(reader: &Reader, operand: &Operand) -> Option<u32> {
    match operand {
        Operand::Name(name) => match reader.names.find(name)? {
            super::names::Meaning::Slot(_, ty) => Some(ty.bits()),
            super::names::Meaning::Variable { .. } => None,
        },
        _ => None,
    }
}

/// Whether a number of the type `from` can be outside of the range to which `sat` clamps a result
/// of the type `to`.
fn can_exceed(to: Type, from: Type) -> bool {
    let (Some(to), Some(from)) = (integer(to), integer(from)) else { return true };
    let loses_sign = from.is_signed && !to.is_signed;
    let value_bits = |it: Integer| it.bits - u32::from(it.is_signed);
    loses_sign || value_bits(from) > value_bits(to)
}

/// Checks that a conversion states a rounding if, and only if, its types need a rounding.
fn check_rounding(reader: &Reader, to: Type, from: Type, rounding: Option<(Rounding, bool)>) -> Result<(), LoadError> {
    let is_float = |ty: Type| integer(ty).is_none();
    let narrows = to.bits() < from.bits() || to.bits() == from.bits() && to != from;
    let fits = match (is_float(from), is_float(to), rounding) {
        (false, false, None) => true,
        (false, true, Some((direction, is_integral))) => !is_integral && direction != Rounding::Away,
        (true, false, Some((_, is_integral))) => is_integral,
        (true, true, Some((direction, false))) => narrows && direction != Rounding::Away,
        (true, true, Some((_, true))) => to == from,
        (true, true, None) => !narrows,
        _ => false,
    };
    if fits { Ok(()) } else { reader.error("the rounding does not fit the types of this cvt") }
}

/// Reads conversions to and from pairs, `tf32` and floats of 8 bits.
fn special(reader: &mut Reader, mode: Mode, has_rounding: bool) -> Result<Kind, LoadError> {
    let to = reader.peek().unwrap_or_default();
    reader.choose(&[(to, ())]);
    let from = reader.peek().unwrap_or_default();
    reader.choose(&[(from, ())]);
    if mode.flushes || mode.saturates || mode.is_integral || !has_rounding {
        return reader.unknown();
    }
    let at = |at: Operands| Operands { extra: mode.packed(), ..at };
    let single = Type::F(32);
    let pair = |reader: &mut Reader, function: LaneFn, to: Type| {
        Ok(Kind::Lanes(function, at(operands(reader, to, &[single, single])?)))
    };
    match (to, from) {
        ("f16x2", "f32") => pair(reader, run_pair::<F16, 16>, Type::B(32)),
        ("bf16x2", "f32") => pair(reader, run_pair::<Bf16, 16>, Type::B(32)),
        ("e4m3x2", "f32") if mode.is_finite => pair(reader, run_pair::<E4m3, 8>, Type::B(16)),
        ("e5m2x2", "f32") if mode.is_finite => pair(reader, run_pair::<E5m2, 8>, Type::B(16)),
        ("tf32", "f32") if matches!(mode.rounding, Rounding::Away | Rounding::Nearest | Rounding::Zero) => {
            Ok(Kind::Lanes(run::<F32, Tf32>, at(operands(reader, Type::B(32), &[single])?)))
        }
        ("f16x2", "e4m3x2") => halves(reader, lanes!(one, |a| widened(a, Format::E4M3))),
        ("f16x2", "e5m2x2") => halves(reader, lanes!(one, |a| widened(a, Format::E5M2))),
        ("e4m3x2", "f16x2") if mode.is_finite => bytes(reader, lanes!(one, |a| narrowed(a, Format::E4M3))),
        ("e5m2x2", "f16x2") if mode.is_finite => bytes(reader, lanes!(one, |a| narrowed(a, Format::E5M2))),
        _ => reader.unknown(),
    }
}

struct E4m3;
struct E5m2;
float_target!(E4m3, Format::E4M3);
float_target!(E5m2, Format::E5M2);

fn halves(reader: &mut Reader, run: LaneFn) -> Result<Kind, LoadError> {
    Ok(Kind::Lanes(run, operands(reader, Type::B(32), &[Type::B(16)])?))
}

fn bytes(reader: &mut Reader, run: LaneFn) -> Result<Kind, LoadError> {
    Ok(Kind::Lanes(run, operands(reader, Type::B(16), &[Type::B(32)])?))
}

/// Converts two floats of 8 bits to `f16`.
fn widened(bits: u64, format: Format) -> u64 {
    let half = |byte: u64| F16::encode(decode((byte & 0xff) as u32, format));
    half(bits) | half(bits >> 8) << 16
}

/// Converts two `f16` to floats of 8 bits.
fn narrowed(bits: u64, format: Format) -> u64 {
    let byte = |half: u64| u64::from(encode(F16::decode(half & 0xffff), format, Rounding::Nearest, true));
    byte(bits) | byte(bits >> 16) << 8
}

/// `cvt.pack`.
pub fn pack(reader: &mut Reader) -> Result<Kind, LoadError> {
    if !reader.take("pack") || !reader.take("sat") {
        return reader.unknown();
    }
    let (to, from) = (reader.ty()?, reader.ty()?);
    if from != Type::S(32) || !matches!(to, Type::U(16) | Type::S(16)) {
        return reader.unknown();
    }
    let run: LaneFn = if to == Type::U(16) {
        lanes!(two, |a, b| clamped(a, 0, 0xffff) << 16 | clamped(b, 0, 0xffff))
    } else {
        lanes!(two, |a, b| clamped(a, -0x8000, 0x7fff) << 16 | clamped(b, -0x8000, 0x7fff))
    };
    Ok(Kind::Lanes(run, operands(reader, Type::B(32), &[from, from])?))
}

fn clamped(bits: u64, low: i32, high: i32) -> u64 {
    u64::from((bits as i32).clamp(low, high) as u16)
}
