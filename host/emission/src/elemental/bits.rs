//! Operations on bit patterns.

use fusebox_core::builder::{IntPredicate, Scalar, Term};
use fusebox_core::hlo::{ElementType, FloatFormat};

use super::float_types::{narrow, widen};

/// Returns the same bits as a value of another type of equal width. A `pred` is a byte of 0 or 1.
pub fn reinterpret(from: ElementType, to: ElementType, x: Term<'_>) -> Term<'_> {
    if from == to { x } else { from_bits(to, to_bits(from, x)) }
}

/// Returns the bits of a value as an integer of the value's width. The real part of a complex
/// number is in the low bits.
fn to_bits(from: ElementType, x: Term<'_>) -> Term<'_> {
    match from {
        ElementType::Pred => x.extui(Scalar::I8),
        _ if from.is_complex() => {
            let (part, wide) = (from.real_part(), Scalar::Int(from.bits()));
            let [low, high] = [x.re(), x.im()].map(Term::to_bits).map(|bits| bits.extui(wide));
            low | high.shli(i64::from(part.bits()))
        }
        _ => x.to_bits(),
    }
}

/// Returns the value whose bits are those of the integer `bits`. The integer has the value's width.
fn from_bits(to: ElementType, bits: Term<'_>) -> Term<'_> {
    match to {
        ElementType::Pred => bits.ne(0_i64),
        _ if to.is_complex() => {
            let part = to.real_part();
            let halves = [bits, bits.shrui(i64::from(part.bits()))].map(|half| half.trunci(Scalar::Int(part.bits())));
            let [re, im] = halves.map(|half| from_bits(part, half));
            re.complex(im)
        }
        _ => bits.bitcast(Scalar::of_element(to)),
    }
}

/// Computes `reduce-precision`. Rounds the mantissa to nearest even. Values that are too large for
/// the exponent become infinite, and values that are too small become zero. NaN is unchanged.
/// Values of types with at most 8 bits are converted to `f32` before the reduction, because some of
/// these types have no infinities.
pub fn reduce_precision(
    ty: ElementType,
    exponent_bits: i64,
    mantissa_bits: i64,
    x: Term<'_>,
) -> Result<Term<'_>, String> {
    if ty.bits() <= 8 {
        let reduced = reduce_precision(ElementType::F32, exponent_bits, mantissa_bits, widen(x))?;
        return Ok(narrow(ty, reduced));
    }
    let format = FloatFormat::of(ty).ok_or_else(|| format!("reduce-precision is not defined on {ty}"))?;
    let (exponent, mantissa) = (format.exponent_bits, format.mantissa_bits);
    // Reducing to more bits than the type has changes nothing.
    let kept = |count: i64, least| count.clamp(least, 64) as u32;
    let (exponent_bits, mantissa_bits) = (kept(exponent_bits, 1), kept(mantissa_bits, 0));
    let mut bits = x.to_bits();
    if mantissa_bits < mantissa {
        bits = round_mantissa(bits, mantissa - mantissa_bits);
    }
    if exponent_bits < exponent {
        bits = limit_exponent(bits, exponent, mantissa, exponent_bits);
    }
    let reduced = bits.bitcast(x.scalar());
    Ok(widen(x).is_nan().select(x, reduced))
}

fn round_mantissa(bits: Term<'_>, dropped: u32) -> Term<'_> {
    let unit = 1i64 << dropped;
    let last = bits.shrui(i64::from(dropped)) & 1_i64;
    let bias = last + ((unit >> 1) - 1);
    (bits + bias) & !(unit - 1)
}

fn limit_exponent(bits: Term<'_>, exponent: u32, mantissa: u32, target: u32) -> Term<'_> {
    let (bias, reduced_bias) = ((1i64 << (exponent - 1)) - 1, (1i64 << (target.max(1) - 1)) - 1);
    let field = ((1i64 << exponent) - 1) << mantissa;
    let found = bits & field;
    let sign = bits & 1i64.wrapping_shl(bits.scalar().bits() - 1);
    let infinity = sign | field;
    let too_large = found.cmpi(IntPredicate::Ugt, (bias + reduced_bias) << mantissa);
    let too_small = found.cmpi(IntPredicate::Ule, (bias - reduced_bias) << mantissa);
    too_small.select(sign, too_large.select(infinity, bits))
}

/// Splits the bits of a value into parts of type `to`, and returns one part. `part` is the part's
/// number, counted from the low bits, and has type `index`.
pub fn part<'f>(from: ElementType, to: ElementType, x: Term<'f>, part: Term<'f>) -> Term<'f> {
    let bits = to_bits(from, x);
    let (wide, width) = (Scalar::Int(from.stored_bits()), to.stored_bits());
    let amount = part * i64::from(width);
    let amount = amount.index_castui(Scalar::Int(wide.bits().min(64))).extui(wide);
    from_bits(to, bits.shrui(amount).trunci(Scalar::Int(width)))
}

/// Returns the value of type `to` that consists of these parts, the lowest bits first.
pub fn joined<'f>(from: ElementType, to: ElementType, parts: &[Term<'f>]) -> Result<Term<'f>, String> {
    let (wide, width) = (Scalar::Int(to.stored_bits()), i64::from(from.stored_bits()));
    let shifted = (0i64..).zip(parts).map(|(k, &part)| to_bits(from, part).extui(wide).shli(k * width));
    let all = shifted.reduce(|all, part| all | part);
    all.map(|all| from_bits(to, all)).ok_or_else(|| "has no parts".into())
}
