//! Logarithms.
//!
//! Integer arithmetic on the bits of `x` splits `x` into `2^k (1 + f)` with √½ ≤ 1 + f < √2. In f32
//! `ln(1 + f)` is `f - f²/2 + f³ P(f)` with a minimax polynomial P. In f64 `ln(1 + f)` is the odd
//! series in `s = f / (2 + f)`. As in Sun's fdlibm, the series is written as
//! `f - (f²/2 - s (f²/2 + R(s²)))`, so that the leading term has no error.

use super::pair::two_sum;
use fusebox_core::builder::Term;

/// Coefficients of `(ln(1 + f) - f + f²/2) / f³`. The error of ln(1 + f) is 2^-27.
const LOG_TAIL_F32: [f64; 8] = [
    0.3333333134651184,
    -0.25000834465026855,
    0.20001274347305298,
    -0.16622890532016754,
    0.14200285077095032,
    -0.1316346824169159,
    0.1277388632297516,
    -0.07640993595123291,
];
/// Coefficients of `(2 artanh s - 2 s) / s³` as a polynomial in s². The error of ln(1 + f) is
/// 2^-58.
const LOG_SERIES_F64: [f64; 7] = [
    0.6666666666666735,
    0.39999999999409347,
    0.28571428743688737,
    0.22222198428698312,
    0.1818357236929971,
    0.15313831864250568,
    0.1479826052721947,
];

/// A positive number, split into `2^k (1 + f)`.
pub(super) struct Split<'f> {
    /// `k` as a float.
    pub k: Term<'f>,
    pub f: Term<'f>,
    /// `k` plus the bias, as an integer.
    pub biased: Term<'f>,
}

/// Splits a positive normal number into `2^k (1 + f)`.
pub(super) fn split_normal(x: Term<'_>) -> Split<'_> {
    split_scaled(x, x.number(x.choose(127.0, 1023.0)))
}

/// Splits a positive number into `2^k (1 + f)`. The number may be subnormal, unless the target
/// flushes subnormal numbers to zero.
pub(super) fn split(x: Term<'_>) -> Split<'_> {
    if x.has_flushing() {
        return split_normal(x);
    }
    let tiny = x.lt(x.choose(f64::from(f32::MIN_POSITIVE), f64::MIN_POSITIVE));
    let scaled = x * x.choose(8388608.0, 4503599627370496.0);
    let (bias, scaled_bias) = x.choose((127.0, 150.0), (1023.0, 1075.0));
    split_scaled(tiny.select(scaled, x), tiny.select(scaled_bias, x.number(bias)))
}

/// Splits a normal number into `2^k (1 + f)`. `bias` is the bias of the exponent. If the caller has
/// multiplied the number by 2^s, `bias` also includes s.
fn split_scaled<'f>(x: Term<'f>, bias: Term<'f>) -> Split<'f> {
    let root = x.choose(0x3f35_04f3_i64, 0x3fe6_a09e_667f_3bcd);
    let one = x.choose(0x3f80_0000_i64, 0x3ff0_0000_0000_0000);
    let mantissa = x.choose(0x007f_ffff_i64, 0x000f_ffff_ffff_ffff);
    let bits = x.to_bits() + (one - root);
    let biased = bits.shrui(x.choose(23_i64, 52));
    // Adds `biased` to the bits of 2^(p-1) and subtracts 2^(p-1) as a float, which is cheaper than
    // a conversion in f64.
    let offset = x.choose(8388608.0, 4503599627370496.0);
    let offset_bits = x.choose(0x4b00_0000_i64, 0x4330_0000_0000_0000);
    let k = (biased | offset_bits).to_float() - (bias + offset);
    Split { k, f: ((bits & mantissa) + root).to_float() - 1.0, biased }
}

/// Computes `ln(1 + f) - f`, where `f` comes from a [`Split`].
pub(super) fn log_tail(f: Term<'_>) -> Term<'_> {
    if f.is_f32() {
        let square = f * f;
        let cubic = f.polynomial_in_parallel(&LOG_TAIL_F32).mul_add(f, -0.5);
        return square * cubic;
    }
    let s = f / (f + 2.0);
    let square = s * s;
    let series = square * square.polynomial(&LOG_SERIES_F64);
    let half_square = f * 0.5 * f;
    s * (half_square + series) - half_square
}

/// Returns `result`, the logarithm of `x`. If `x` is infinite, NaN, zero or negative, returns the
/// special value that the logarithm has for `x`.
fn with_special_cases<'f>(x: Term<'f>, result: Term<'f>) -> Term<'f> {
    let result = x.lt(f64::INFINITY).select(result, x);
    let result = x.lt(0.0).select(f64::NAN, result);
    x.eq(0.0).select(f64::NEG_INFINITY, result)
}

/// Computes `k ln 2 + f + tail`.
fn log_sum<'f>(k: Term<'f>, f: Term<'f>, tail: Term<'f>) -> Term<'f> {
    let high = k.choose(0.693359375, 6.93147180369123816490e-01);
    let low = k.choose(-2.12194440e-4, 1.90821492927058770002e-10);
    k.mul_add(high, f + k.mul_add(low, tail))
}

pub fn log(x: Term<'_>) -> Term<'_> {
    let Split { k, f, .. } = split(x);
    with_special_cases(x, log_sum(k, f, log_tail(f)))
}

/// Computes a logarithm to the base 2 or 10: `k · log 2 + (f + tail) / ln base`. With FMA, a sum of
/// two numbers represents the leading product `f / ln base` exactly.
fn log_to_base<'f>(x: Term<'f>, log_of_2: (f64, f64), inverse: (f64, f64)) -> Term<'f> {
    let Split { k, f, .. } = split(x);
    let leading = f * inverse.0;
    let error = if x.has_fma() { f.mul_add(inverse.0, -leading) } else { x.number(0.0) };
    let rest = log_tail(f).mul_add(inverse.0, f.mul_add(inverse.1, error));
    let low = k.mul_add(log_of_2.1, rest);
    let high = k.mul_add(log_of_2.0, leading);
    with_special_cases(x, high + low)
}

/// Computes the logarithm to base 2.
pub fn log2(x: Term<'_>) -> Term<'_> {
    let inverse = x.choose((1.4426950216293335, 1.9259629911266175e-8), (1.4426950408889634, 2.0355273740931033e-17));
    log_to_base(x, (1.0, 0.0), inverse)
}

/// Computes the logarithm to base 10.
pub fn log10(x: Term<'_>) -> Term<'_> {
    let of_2 = x.choose((0.30102920532226563, 7.903415166765626e-7), (0.30102999566361177, 3.694239077158931e-13));
    let inverse = x.choose((0.4342944920063019, -1.0103049952192578e-8), (0.4342944819032518, 1.098319650216765e-17));
    log_to_base(x, of_2, inverse)
}

/// Computes `ln(1 + x)` for x ≥ -1, where `sum + error` is `1 + x`. The code scales `error` by
/// `2^-k` and adds it to `f`.
pub(super) fn log_of_sum<'f>(sum: Term<'f>, error: Term<'f>) -> Term<'f> {
    let Split { k, f, biased } = split_normal(sum);
    // `inverse` is 2^-k. `k` may be limited, because near the maximum of `k` the error does not
    // matter.
    let (bias, digits) = sum.choose((127_i64, 23_i64), (1023, 52));
    let limited = biased.gt(2 * bias - 1).select(2 * bias - 1, biased);
    let inverse = (-limited + 2 * bias).shli(digits).to_float();
    let f = error.mul_add(inverse, f);
    log_sum(k, f, log_tail(f))
}

/// Computes ln(1 + x).
pub fn log1p(x: Term<'_>) -> Term<'_> {
    let sum = two_sum(x, x.number(1.0));
    let result = log_of_sum(sum.high, sum.low);
    let result = x.lt(f64::INFINITY).select(result, x);
    let result = x.lt(-1.0).select(f64::NAN, result);
    let result = x.eq(-1.0).select(f64::NEG_INFINITY, result);
    x.eq(0.0).select(x, result)
}
