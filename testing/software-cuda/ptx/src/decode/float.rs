//! Arithmetic on floats.

use super::integer::operands;
use super::reader::Reader;
use crate::code::{Kind, LaneFn, lanes};
use crate::error::LoadError;
use crate::numbers::{
    Bf16, F16, F32, F64, Float, Rounding, add_double, add_single, canonical, div_double, div_single, flush, fma_double,
    fma_narrow, fma_single, mul_double, mul_single, sqrt_double, sqrt_single,
};
use crate::text::Type;

/// Modifiers of arithmetic on floats.
#[derive(Clone, Copy)]
pub struct Modes {
    pub rounding: Option<Rounding>,
    pub flushes: bool,
    pub saturates: bool,
}

pub const ROUNDINGS: [(&str, Rounding); 4] =
    [("rn", Rounding::Nearest), ("rz", Rounding::Zero), ("rm", Rounding::Down), ("rp", Rounding::Up)];

impl Modes {
    pub fn read(reader: &mut Reader) -> Modes {
        Modes { rounding: reader.choose(&ROUNDINGS), flushes: reader.take("ftz"), saturates: reader.take("sat") }
    }

    fn is_plain(self) -> bool {
        !self.flushes && !self.saturates
    }
}

/// Clamps a float to the range from 0 to 1. NaN becomes 0.
fn saturate<T: Float>(bits: u64) -> u64 {
    let value = T::decode(bits);
    if value >= 1.0 {
        T::encode(1.0)
    } else if value > 0.0 {
        bits
    } else {
        0
    }
}

/// Returns the function that executes an instruction on a float type. The instruction's modes
/// determine the function.
macro_rules! with_modes {
    ($apply:ident, $ty:ty, $modes:expr, |$($a:ident),+| $body:expr) => {
        match ($modes.flushes, $modes.saturates) {
            (false, false) => lanes!($apply, |$($a: u64),+| $body),
            (true, false) => lanes!($apply, |$($a: u64),+| {
                $(let $a = flush::<$ty>($a);)+
                flush::<$ty>($body)
            }),
            (false, true) => lanes!($apply, |$($a: u64),+| saturate::<$ty>($body)),
            (true, true) => lanes!($apply, |$($a: u64),+| {
                $(let $a = flush::<$ty>($a);)+
                saturate::<$ty>(flush::<$ty>($body))
            }),
        }
    };
}

/// Returns the function that executes an instruction on pairs of floats of 16 bits. The
/// instruction's modes determine the function.
macro_rules! with_modes_on_pairs {
    ($apply:ident, $ty:ty, $modes:expr, |$($a:ident),+| $body:expr) => {{
        fn plain($($a: u64),+) -> u64 { $body }
        fn flushed($($a: u64),+) -> u64 { flush::<$ty>(plain($(flush::<$ty>($a)),+)) }
        fn saturated($($a: u64),+) -> u64 { saturate::<$ty>(plain($($a),+)) }
        fn both($($a: u64),+) -> u64 { saturate::<$ty>(flushed($($a),+)) }
        match ($modes.flushes, $modes.saturates) {
            (false, false) => lanes!($apply, |$($a: u64),+| plain($($a & 0xffff),+) | plain($($a >> 16),+) << 16),
            (true, false) => lanes!($apply, |$($a: u64),+| flushed($($a & 0xffff),+) | flushed($($a >> 16),+) << 16),
            (false, true) => {
                lanes!($apply, |$($a: u64),+| saturated($($a & 0xffff),+) | saturated($($a >> 16),+) << 16)
            }
            (true, true) => lanes!($apply, |$($a: u64),+| both($($a & 0xffff),+) | both($($a >> 16),+) << 16),
        }
    }};
}

fn f32_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn f64_of(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// Returns the function that executes an instruction on singles. The instruction's rounding and its
/// other modes determine the function.
macro_rules! rounded {
    ($apply:ident, $modes:expr, |$($a:ident),+| $nearest:expr, $directed:ident) => {
        match $modes.rounding.unwrap_or(Rounding::Nearest) {
            Rounding::Zero => with_modes!($apply, F32, $modes, |$($a),+| $directed($($a),+, Rounding::Zero)),
            Rounding::Down => with_modes!($apply, F32, $modes, |$($a),+| $directed($($a),+, Rounding::Down)),
            Rounding::Up => with_modes!($apply, F32, $modes, |$($a),+| $directed($($a),+, Rounding::Up)),
            Rounding::Nearest | Rounding::Away => with_modes!($apply, F32, $modes, |$($a),+| $nearest),
        }
    };
}

/// Returns the function that executes an instruction on doubles. The instruction's rounding
/// determines the function.
macro_rules! rounded_double {
    ($apply:ident, $modes:expr, |$($a:ident),+| $nearest:expr, $directed:ident) => {
        match $modes.rounding.unwrap_or(Rounding::Nearest) {
            Rounding::Zero => lanes!($apply, |$($a),+| $directed($($a),+, Rounding::Zero)),
            Rounding::Down => lanes!($apply, |$($a),+| $directed($($a),+, Rounding::Down)),
            Rounding::Up => lanes!($apply, |$($a),+| $directed($($a),+, Rounding::Up)),
            Rounding::Nearest | Rounding::Away => lanes!($apply, |$($a: u64),+| ($nearest).to_bits()),
        }
    };
}

/// Returns the function that executes an instruction on pairs of singles. The instruction's
/// rounding determines the function.
macro_rules! rounded_words {
    ($apply:ident, $modes:expr, |$($a:ident),+| $nearest:expr, $directed:ident) => {
        match $modes.rounding.unwrap_or(Rounding::Nearest) {
            Rounding::Zero => lanes!($apply, |$($a),+| words(|[$($a),+]| $directed($($a),+, Rounding::Zero), [$($a),+])),
            Rounding::Down => lanes!($apply, |$($a),+| words(|[$($a),+]| $directed($($a),+, Rounding::Down), [$($a),+])),
            Rounding::Up => lanes!($apply, |$($a),+| words(|[$($a),+]| $directed($($a),+, Rounding::Up), [$($a),+])),
            Rounding::Nearest | Rounding::Away => {
                lanes!($apply, |$($a),+| words(|[$($a),+]| canonical($nearest), [$($a),+]))
            }
        }
    };
}

const NEGATE_SINGLE: u64 = F32::SIGN;

/// Reads `add`, `sub` or `mul` on floats. The caller has read the type.
pub fn binary(reader: &mut Reader, ty: Type, modes: Modes) -> Result<Kind, LoadError> {
    if let Some(run) = mixed(reader, ty, modes)? {
        return Ok(run);
    }
    let is_nearest = matches!(modes.rounding, None | Some(Rounding::Nearest));
    let mnemonic = reader.instruction.mnemonic;
    macro_rules! narrow {
        ($macro:ident, $ty:ty) => {
            match mnemonic {
                "add" => $macro!(two, $ty, modes, |a, b| <$ty>::encode(<$ty>::decode(a) + <$ty>::decode(b))),
                "sub" => $macro!(two, $ty, modes, |a, b| <$ty>::encode(<$ty>::decode(a) - <$ty>::decode(b))),
                _ => $macro!(two, $ty, modes, |a, b| <$ty>::encode(<$ty>::decode(a) * <$ty>::decode(b))),
            }
        };
    }
    let run = match ty {
        Type::F(32) => match mnemonic {
            "add" => rounded!(two, modes, |a, b| canonical(f32_of(a) + f32_of(b)), add_single),
            "sub" => rounded!(two, modes, |a, b| canonical(f32_of(a) - f32_of(b)), sub_single),
            _ => rounded!(two, modes, |a, b| canonical(f32_of(a) * f32_of(b)), mul_single),
        },
        Type::F(64) if modes.is_plain() => match mnemonic {
            "add" => rounded_double!(two, modes, |a, b| f64_of(a) + f64_of(b), add_double),
            "sub" => rounded_double!(two, modes, |a, b| f64_of(a) - f64_of(b), sub_double),
            _ => rounded_double!(two, modes, |a, b| f64_of(a) * f64_of(b), mul_double),
        },
        Type::F(16) if is_nearest => narrow!(with_modes, F16),
        Type::F16x2 if is_nearest => narrow!(with_modes_on_pairs, F16),
        Type::Bf16 if is_nearest && modes.is_plain() => narrow!(with_modes, Bf16),
        Type::Bf16x2 if is_nearest && modes.is_plain() => narrow!(with_modes_on_pairs, Bf16),
        Type::F32x2 if modes.is_plain() => {
            reader.needs(100, 86)?;
            match mnemonic {
                "add" => rounded_words!(two, modes, |a, b| f32_of(a) + f32_of(b), add_single),
                "sub" => rounded_words!(two, modes, |a, b| f32_of(a) - f32_of(b), sub_single),
                _ => rounded_words!(two, modes, |a, b| f32_of(a) * f32_of(b), mul_single),
            }
        }
        _ => return reader.unknown(),
    };
    if ty == Type::Bf16 || ty == Type::Bf16x2 {
        reader.needs(90, 78)?;
    }
    Ok(Kind::Lanes(run, operands(reader, ty, &[ty, ty])?))
}

/// Applies a function to each of the two singles in the operands.
fn words<const N: usize>(f: impl Fn([u64; N]) -> u64, from: [u64; N]) -> u64 {
    f(from.map(|value| value & 0xffff_ffff)) | f(from.map(|value| value >> 32)) << 32
}

fn sub_double(a: u64, b: u64, rounding: Rounding) -> u64 {
    add_double(a, b ^ F64::SIGN, rounding)
}

fn sub_single(a: u64, b: u64, rounding: Rounding) -> u64 {
    add_single(a, b ^ NEGATE_SINGLE, rounding)
}

/// Reads `add`, `sub` or `fma` on singles with operands of 16 bits, such as `add.f32.f16`. Returns
/// `None` for any other types.
fn mixed(reader: &mut Reader, ty: Type, modes: Modes) -> Result<Option<Kind>, LoadError> {
    if ty != Type::F(32) || !matches!(reader.peek(), Some("f16" | "bf16")) {
        return Ok(None);
    }
    reader.needs(100, 86)?;
    let from = reader.ty()?;
    if modes.flushes || !matches!(modes.rounding, None | Some(Rounding::Nearest)) {
        return reader.unknown();
    }
    macro_rules! of {
        ($ty:ty) => {
            match reader.instruction.mnemonic {
                "add" => with_modes!(two, F32, modes, |a, c| canonical(<$ty>::decode(a) as f32 + f32_of(c))),
                "sub" => with_modes!(two, F32, modes, |a, c| canonical(<$ty>::decode(a) as f32 - f32_of(c))),
                "fma" => with_modes!(three, F32, modes, |a, b, c| {
                    canonical((<$ty>::decode(a) as f32).mul_add(<$ty>::decode(b) as f32, f32_of(c)))
                }),
                _ => return reader.unknown(),
            }
        };
    }
    let run = if from == Type::Bf16 { of!(Bf16) } else { of!(F16) };
    let at = match reader.instruction.mnemonic {
        "fma" => operands(reader, ty, &[from, from, ty])?,
        _ => operands(reader, ty, &[from, ty])?,
    };
    Ok(Some(Kind::Lanes(run, at)))
}

/// `fma` and `mad` on floats.
pub fn fma(reader: &mut Reader) -> Result<Kind, LoadError> {
    let mut modes = Modes::read(reader);
    let relu = reader.take("relu");
    let ty = reader.ty()?;
    if modes.rounding.is_none() {
        return reader.error("fma needs a rounding");
    }
    if reader.instruction.mnemonic == "mad" && !matches!(ty, Type::F(32 | 64)) {
        return reader.unknown();
    }
    if let Some(run) = mixed(reader, ty, modes)? {
        return Ok(run);
    }
    let is_nearest = modes.rounding == Some(Rounding::Nearest);
    macro_rules! relu {
        ($macro:ident, $ty:ty) => {
            if relu {
                modes.saturates = false;
                $macro!(three, $ty, modes, |a, b, c| above_zero::<$ty>(fma_narrow::<$ty>(a, b, c)))
            } else {
                $macro!(three, $ty, modes, |a, b, c| fma_narrow::<$ty>(a, b, c))
            }
        };
    }
    let run = match ty {
        Type::F(32) if !relu => {
            rounded!(three, modes, |a, b, c| canonical(f32_of(a).mul_add(f32_of(b), f32_of(c))), fma_single)
        }
        Type::F(64) if modes.is_plain() && !relu => {
            rounded_double!(three, modes, |a, b, c| f64_of(a).mul_add(f64_of(b), f64_of(c)), fma_double)
        }
        Type::F(16) if is_nearest => relu!(with_modes, F16),
        Type::F16x2 if is_nearest => relu!(with_modes_on_pairs, F16),
        Type::Bf16 if is_nearest && modes.is_plain() => relu!(with_modes, Bf16),
        Type::Bf16x2 if is_nearest && modes.is_plain() => relu!(with_modes_on_pairs, Bf16),
        Type::F32x2 if modes.is_plain() && !relu => {
            reader.needs(100, 86)?;
            rounded_words!(three, modes, |a, b, c| f32_of(a).mul_add(f32_of(b), f32_of(c)), fma_single)
        }
        _ => return reader.unknown(),
    };
    Ok(Kind::Lanes(run, operands(reader, ty, &[ty; 3])?))
}

/// Replaces a negative number by zero, and a NaN by the canonical NaN.
fn above_zero<T: Float>(bits: u64) -> u64 {
    if T::is_nan(bits) {
        T::NAN
    } else if bits & T::SIGN != 0 {
        0
    } else {
        bits
    }
}

/// Reads `div` on floats. The caller has read only the mnemonic.
pub fn quotient(reader: &mut Reader) -> Result<Kind, LoadError> {
    let is_approximate = reader.choose(&[("approx", ()), ("full", ())]).is_some();
    let modes = Modes::read(reader);
    let ty = reader.ty()?;
    if is_approximate == modes.rounding.is_some() {
        return reader.error("div on floats needs either a rounding, .approx or .full");
    }
    let run = match ty {
        Type::F(32) if !modes.saturates => {
            rounded!(two, modes, |a, b| canonical(f32_of(a) / f32_of(b)), div_single)
        }
        Type::F(64) if modes.is_plain() && modes.rounding.is_some() => {
            rounded_double!(two, modes, |a, b| f64_of(a) / f64_of(b), div_double)
        }
        _ => return reader.unknown(),
    };
    Ok(Kind::Lanes(run, operands(reader, ty, &[ty, ty])?))
}

/// `rcp` and `sqrt`.
pub fn root(reader: &mut Reader) -> Result<Kind, LoadError> {
    let is_approximate = reader.take("approx");
    let modes = Modes::read(reader);
    let ty = reader.ty()?;
    if is_approximate == modes.rounding.is_some() || modes.saturates {
        return reader.unknown();
    }
    let is_root = reader.instruction.mnemonic == "sqrt";
    let run = match (ty, is_root) {
        (Type::F(32), true) => rounded!(one, modes, |a| canonical(f32_of(a).sqrt()), sqrt_single),
        (Type::F(32), false) => rounded!(one, modes, |a| canonical(1.0 / f32_of(a)), reciprocal_single),
        (Type::F(64), true) if modes.is_plain() && modes.rounding.is_some() => {
            rounded_double!(one, modes, |a| f64_of(a).sqrt(), sqrt_double)
        }
        (Type::F(64), false) if modes.is_plain() && modes.rounding.is_some() => {
            rounded_double!(one, modes, |a| 1.0 / f64_of(a), reciprocal_double)
        }
        _ => return reader.unknown(),
    };
    Ok(Kind::Lanes(run, operands(reader, ty, &[ty])?))
}

fn reciprocal_double(a: u64, rounding: Rounding) -> u64 {
    div_double(F64::encode(1.0), a, rounding)
}

fn reciprocal_single(a: u64, rounding: Rounding) -> u64 {
    div_single(F32::encode(1.0), a, rounding)
}

/// `ex2`, `lg2`, `sin`, `cos`, `tanh`, `rsqrt`. The interpreter computes the results in `f64` and
/// rounds them. The error of these results is smaller than the error that the PTX manual states.
pub fn approximate(reader: &mut Reader) -> Result<Kind, LoadError> {
    if !reader.take("approx") {
        return reader.error("this instruction needs .approx");
    }
    let modes = Modes { rounding: None, flushes: reader.take("ftz"), saturates: false };
    let ty = reader.ty()?;
    macro_rules! of {
        ($macro:ident, $ty:ty, $f:expr) => {
            $macro!(one, $ty, modes, |a| {
                let f: fn(f64) -> f64 = $f;
                <$ty>::encode(f(<$ty>::decode(a)))
            })
        };
    }
    macro_rules! of_any {
        ($f:expr) => {
            match ty {
                Type::F(32) => of!(with_modes, F32, $f),
                Type::F(16) if !modes.flushes => of!(with_modes, F16, $f),
                Type::F16x2 if !modes.flushes => of!(with_modes_on_pairs, F16, $f),
                Type::Bf16 => of!(with_modes, Bf16, $f),
                Type::Bf16x2 => of!(with_modes_on_pairs, Bf16, $f),
                _ => return reader.unknown(),
            }
        };
    }
    if matches!(ty, Type::Bf16 | Type::Bf16x2) {
        reader.needs(90, 78)?;
    }
    let run = match (reader.instruction.mnemonic, ty) {
        ("ex2", Type::Bf16 | Type::Bf16x2) if !modes.flushes => return reader.unknown(),
        ("tanh", _) if modes.flushes => return reader.unknown(),
        ("ex2", _) => of_any!(f64::exp2),
        ("tanh", _) => of_any!(f64::tanh),
        ("lg2", Type::F(32)) => of!(with_modes, F32, f64::log2),
        ("sin", Type::F(32)) => of!(with_modes, F32, f64::sin),
        ("cos", Type::F(32)) => of!(with_modes, F32, f64::cos),
        ("rsqrt", Type::F(32)) => of!(with_modes, F32, |a| 1.0 / a.sqrt()),
        ("rsqrt", Type::F(64)) if !modes.flushes => lanes!(one, |a| (1.0 / f64_of(a).sqrt()).to_bits()),
        _ => return reader.unknown(),
    };
    Ok(Kind::Lanes(run, operands(reader, ty, &[ty])?))
}

/// Returns the smaller number, or with `MAX` the larger number; -0 is less than +0. Returns NaN if
/// both operands are NaN, or, with `N`, if one operand is NaN.
fn extremum_of<T: Float, const MAX: bool, const N: bool>(a: u64, b: u64) -> u64 {
    match (T::is_nan(a), T::is_nan(b)) {
        (true, true) => T::NAN,
        (true, false) | (false, true) if N => T::NAN,
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            // The order of the numbers as signed integers.
            let key = |bits: u64| {
                let magnitude = (bits & (T::SIGN - 1)) as i64;
                if bits & T::SIGN == 0 { magnitude } else { -1 - magnitude }
            };
            if (key(a) < key(b)) == MAX { b } else { a }
        }
    }
}

/// Reads `min` or `max` on floats. The caller has read `.ftz`, if present.
pub fn extremum(reader: &mut Reader, flushes: bool) -> Result<Kind, LoadError> {
    let keeps_nan = reader.take("NaN");
    let modes = Modes { rounding: None, flushes, saturates: false };
    let ty = reader.ty()?;
    let is_max = reader.instruction.mnemonic == "max";
    macro_rules! of {
        ($macro:ident, $ty:ty) => {
            match (is_max, keeps_nan) {
                (false, false) => $macro!(two, $ty, modes, |a, b| extremum_of::<$ty, false, false>(a, b)),
                (false, true) => $macro!(two, $ty, modes, |a, b| extremum_of::<$ty, false, true>(a, b)),
                (true, false) => $macro!(two, $ty, modes, |a, b| extremum_of::<$ty, true, false>(a, b)),
                (true, true) => $macro!(two, $ty, modes, |a, b| extremum_of::<$ty, true, true>(a, b)),
            }
        };
    }
    if keeps_nan {
        reader.needs(80, 70)?;
    }
    let run = match ty {
        Type::F(32) => of!(with_modes, F32),
        Type::F(64) if !flushes && !keeps_nan => of!(with_modes, F64),
        Type::F(16) => of!(with_modes, F16),
        Type::F16x2 => of!(with_modes_on_pairs, F16),
        Type::Bf16 if !flushes => of!(with_modes, Bf16),
        Type::Bf16x2 if !flushes => of!(with_modes_on_pairs, Bf16),
        _ => return reader.unknown(),
    };
    Ok(Kind::Lanes(run, operands(reader, ty, &[ty, ty])?))
}

/// Reads `abs` or `neg` on floats. The caller has read `.ftz`, if present.
pub fn sign(reader: &mut Reader, flushes: bool) -> Result<Kind, LoadError> {
    let modes = Modes { rounding: None, flushes, saturates: false };
    let ty = reader.ty()?;
    let is_abs = reader.instruction.mnemonic == "abs";
    macro_rules! of {
        ($macro:ident, $ty:ty) => {
            if is_abs {
                $macro!(one, $ty, modes, |a| a & (<$ty>::SIGN - 1))
            } else {
                $macro!(one, $ty, modes, |a| a ^ <$ty>::SIGN)
            }
        };
    }
    let run: LaneFn = match ty {
        Type::F(32) => of!(with_modes, F32),
        Type::F(64) if !flushes => of!(with_modes, F64),
        Type::F(16) => of!(with_modes, F16),
        Type::F16x2 => of!(with_modes_on_pairs, F16),
        Type::Bf16 if !flushes => of!(with_modes, Bf16),
        Type::Bf16x2 if !flushes => of!(with_modes_on_pairs, Bf16),
        _ => return reader.unknown(),
    };
    Ok(Kind::Lanes(run, operands(reader, ty, &[ty])?))
}

/// `copysign`: the sign of the first operand with the magnitude of the second.
pub fn copy_sign(reader: &mut Reader) -> Result<Kind, LoadError> {
    let ty = reader.ty()?;
    let run = match ty {
        Type::F(32) => lanes!(two, |a, b| a & F32::SIGN | b & (F32::SIGN - 1)),
        Type::F(64) => lanes!(two, |a, b| a & F64::SIGN | b & (F64::SIGN - 1)),
        _ => return reader.unknown(),
    };
    Ok(Kind::Lanes(run, operands(reader, ty, &[ty, ty])?))
}
