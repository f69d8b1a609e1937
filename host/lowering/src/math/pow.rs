//! Powers: `x^y = 2^(y log2 |x|)`, with the signs and special cases of IEEE 754.
//!
//! The power multiplies the error of the logarithm by up to 150 (f32) or 1075 (f64). The power of
//! an f32 is therefore computed in f64. In f64 the logarithm is a sum of two numbers with an error
//! of 2^-65.

use super::exp::{exp2_of_remainder, power_of_two, rounder, scale};
use super::log::{Split, split, split_normal};
use super::pair::{Pair, fast_two_sum, two_product, two_sum};
use fusebox_core::builder::{Scalar, Term};

/// Coefficients of `log2((1 + s) / (1 - s)) / s` as a polynomial in s², with error 2^-38.
const LOG2_SERIES_F32: [f64; 5] =
    [2.8853900817901454, 0.9617966732643949, 0.5770836005852602, 0.41167173352844894, 0.34074917377323527];
/// Coefficients of 2^r on |r| ≤ 1/2, with error 2^-29.
const EXP2_F32: [f64; 7] = [
    1.000000000554951,
    0.6931472057673493,
    0.24022646886355817,
    0.055503287113129005,
    0.009618489223886953,
    0.0013399957843330092,
    0.00015345793747036148,
];
/// Coefficients of `((2 artanh s / s - 2) / s² - 2/3) / s²` as a polynomial in s². The error of the
/// logarithm is 2^-72.
const LOG_SERIES_F64: [f64; 8] = [
    0.3999999999999998,
    0.2857142857144387,
    0.2222222221777861,
    0.18181818845734304,
    0.1538455829082493,
    0.13336270356710292,
    0.1167565278410861,
    0.11982880065255049,
];

pub fn pow<'f>(x: Term<'f>, y: Term<'f>) -> Term<'f> {
    let magnitude = x.absf();
    let result = if x.is_f32() { magnitude_f32(magnitude, y) } else { magnitude_f64(magnitude, y) };
    let integer = y.trunc().eq(y);
    let half = y * 0.5;
    let odd = integer & half.trunc().ne(half);
    // If |x| is 1, the magnitude of the power is 1, even for an infinite exponent.
    let result = magnitude.eq(1.0).select(1.0, result);
    let result = (x.lt(0.0) & x.gt(f64::NEG_INFINITY) & !integer).select(f64::NAN, result);
    let result = odd.select(result.copysign(x), result);
    let result = (x.is_nan() | y.is_nan()).select(x + y, result);
    (x.eq(1.0) | y.eq(0.0)).select(1.0, result)
}

/// Replaces the logarithm of 0 by -∞ and the logarithm of infinity by ∞, so that products with
/// these logarithms are infinite.
fn with_special_logarithms<'f>(magnitude: Term<'f>, logarithm: Term<'f>) -> Term<'f> {
    let logarithm = magnitude.eq(0.0).select(f64::NEG_INFINITY, logarithm);
    magnitude.eq(f64::INFINITY).select(f64::INFINITY, logarithm)
}

fn magnitude_f32<'f>(magnitude: Term<'f>, y: Term<'f>) -> Term<'f> {
    // Every f32 is a normal f64.
    let wide = magnitude.extf(Scalar::F64);
    let Split { k, f, .. } = split_normal(wide);
    let s = f / (f + 2.0);
    let logarithm = (s * s).polynomial(&LOG2_SERIES_F32).mul_add(s, k);
    let exponent = y.extf(Scalar::F64) * with_special_logarithms(wide, logarithm);
    let exponent = exponent.at_most(200.0).at_least(-200.0);
    let shifted = exponent + rounder(wide);
    let r = exponent - (shifted - rounder(wide));
    let power = power_of_two(shifted.to_bits());
    (r.polynomial(&EXP2_F32) * power).truncf(Scalar::F32)
}

fn magnitude_f64<'f>(magnitude: Term<'f>, y: Term<'f>) -> Term<'f> {
    let Pair { high, low } = log2_pair(magnitude);
    let high = with_special_logarithms(magnitude, high);
    let product = two_product(y, high);
    let low = y.mul_add(low, product.low);
    let exponent = product.high.at_most(1100.0).at_least(-1100.0);
    let low = exponent.eq(product.high).select(low, low.number(0.0));
    let shifted = exponent + rounder(exponent);
    let r = (exponent - (shifted - rounder(exponent))) + low;
    scale(exp2_of_remainder(r), shifted)
}

/// Computes log2 of a positive number.
fn log2_pair(x: Term<'_>) -> Pair<'_> {
    let Split { k, f, .. } = split(x);
    // s = f / (2 + f), where 2 + f is a sum of two numbers.
    let denominator = two_sum(f.number(2.0), f);
    let quotient = f / denominator.high;
    let product = two_product(quotient, denominator.high);
    let residue = (f - product.high) - product.low - quotient * denominator.low;
    let s = Pair { high: quotient, low: residue / denominator.high };
    // ln(1 + f) = 2 s + s³ (2/3 + s² V).
    let square = s.times(s);
    let small = square.high * square.high.polynomial(&LOG_SERIES_F64);
    let two_thirds = Pair::of(x, 0.6666666666666666, 3.700743415417188e-17);
    let sum = fast_two_sum(two_thirds.high, small);
    let series = Pair { high: sum.high, low: sum.low + two_thirds.low };
    let cubic = s.times(square).times(series);
    let leading = two_sum(s.high + s.high, cubic.high);
    let natural = fast_two_sum(leading.high, leading.low + (s.low + s.low) + cubic.low);
    let binary = natural.times(Pair::of(x, std::f64::consts::LOG2_E, 2.0355273740931033e-17));
    let sum = two_sum(k, binary.high);
    fast_two_sum(sum.high, sum.low + binary.low)
}
