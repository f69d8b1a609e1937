//! `reduce-precision` and `stochastic-convert`.

use fusebox_core::hlo::ElementType;

use super::{float_format, int, round, wrap};

/// Reduces the precision of a number by changing its bits, as XLA defines it. Rounds the mantissa
/// to the nearest value, with ties to even. After this rounding, a number whose exponent is above
/// the reduced range becomes infinity, and a number whose exponent is below the reduced range
/// becomes zero. NaN remains NaN even if the mantissa has no bits.
///
/// Numbers of types with at most 8 bits are reduced as `f32`, because some of these types have no
/// infinities.
pub(crate) fn reduce_precision(ty: ElementType, exponent_bits: u32, mantissa_bits: u32, x: f64) -> f64 {
    if ty.bits() <= 8 {
        return round(ty, reduce_precision(ElementType::F32, exponent_bits, mantissa_bits, x));
    }
    let format = float_format(ty);
    if x.is_nan() {
        return x;
    }
    let source_mantissa = format.mantissa_bits();
    let mut bits = format.encode(x);
    let sign = bits & 1 << (source_mantissa + format.exponent_bits());
    bits ^= sign;
    if mantissa_bits < source_mantissa {
        let last = 1u64 << (source_mantissa - mantissa_bits);
        let odd = u64::from(bits & last != 0);
        bits = (bits + (last >> 1) - 1 + odd) & !(last - 1);
    }
    if exponent_bits < format.exponent_bits() {
        let infinity = ((1 << format.exponent_bits()) - 1) << source_mantissa;
        let bias = (1u64 << (format.exponent_bits() - 1)) - 1;
        let reduced_bias = (1u64 << (exponent_bits - 1)) - 1;
        let field = bits >> source_mantissa;
        if field > bias + reduced_bias {
            bits = infinity;
        } else if field <= bias - reduced_bias {
            bits = 0;
        }
    }
    format.decode(bits | sign)
}

/// Rounds `x` to an integer. Rounds away from zero with a probability equal to the fraction of `x`,
/// and towards zero otherwise. Rounds away from zero if the fraction, scaled to the range of the
/// random number, exceeds the random number.
pub(crate) fn stochastic_convert(to: ElementType, random_bits: u32, x: f64, random: i64) -> i64 {
    let (min, max) = int::range(to);
    if x.is_nan() {
        return 0;
    }
    if x >= max as f64 {
        return max;
    }
    if x <= min as f64 {
        return min;
    }
    let truncated = x.abs().trunc();
    let fraction = x.abs() - truncated;
    let threshold = fraction * 2f64.powi(random_bits as i32);
    let up = (random as u64 as f64) < threshold.trunc();
    let magnitude = truncated as i64 + i64::from(up);
    wrap(to, if x < 0.0 { -magnitude } else { magnitude }).clamp(min, max)
}
