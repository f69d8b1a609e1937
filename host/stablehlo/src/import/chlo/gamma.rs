//! The logarithm of the gamma function, and the derivative of this logarithm.
//!
//! Both functions use Lanczos's approximation with g = 7 and 9 terms (Cornelius Lanczos, "A
//! precision approximation of the gamma function", 1964). For x below 1/2, both functions use the
//! reflection formula.

use std::f64::consts::PI;

use fusebox_core::hlo::Comparison;

use super::value::Value;

const G: f64 = 7.0;
const BASE: f64 = 0.9999999999998099;
const TERMS: [f64; 8] = [
    676.5203681218851,
    -1259.1392167224028,
    771.3234287776531,
    -176.6150291621406,
    12.507343278686905,
    -0.13857109526572012,
    9.984369578019572e-6,
    1.5056327351493116e-7,
];
/// Logarithm of `G + 0.5`.
const LOG_G: f64 = 2.0149030205422647;
/// Logarithm of the square root of 2π.
const LOG_ROOT: f64 = 0.9189385332046727;
const LOG_PI: f64 = 1.1447298858494002;

/// Intermediate values of Lanczos's approximation at `x`. The value `z` is `x - 1`, or `-x` if `x`
/// is below 1/2.
struct Lanczos<'f> {
    is_reflected: Value<'f>,
    z: Value<'f>,
    /// The divisor `z + i + 1` of each term `i`.
    divisors: [Value<'f>; TERMS.len()],
    /// `BASE` plus the sum of the terms, each divided by its divisor.
    sum: Value<'f>,
    /// `z + G + 0.5`, and its logarithm.
    t: Value<'f>,
    log_t: Value<'f>,
}

fn lanczos(x: Value) -> Lanczos {
    let is_reflected = x.is(Comparison::Lt, 0.5);
    let z = is_reflected.choose(-x, x - 1.0);
    let divisors = std::array::from_fn(|i| z + (i + 1) as f64);
    let sum = TERMS.iter().zip(divisors).fold(x.filled(BASE), |sum, (&term, divisor)| sum + term / divisor);
    let t = (G + 0.5) + z;
    // The logarithm of a sum near G + 0.5, without losing the digits of a small z.
    let log_t = LOG_G + (z / (G + 0.5)).log_plus_one();
    Lanczos { is_reflected, z, divisors, sum, t, log_t }
}

/// Returns the logarithm of `|Γ(x)|`.
pub(super) fn lgamma(x: Value) -> Value {
    let Lanczos { is_reflected, z, sum, t, log_t, .. } = lanczos(x);
    // (z + 1/2) log t - t as a single product, which does not overflow before the result does.
    let power = (z + 0.5 - t / log_t) * log_t;
    let log = LOG_ROOT + power + sum.log();

    // log |Γ(x)| = log π - log |sin πx| - log Γ(1 - x). The magnitude of the sine has the period 1
    // in x, and a fraction of at most 1/2 makes the sine accurate.
    let magnitude = x.abs();
    let fraction = magnitude - magnitude.floor();
    let fraction = fraction.filled(0.5).is(Comparison::Lt, fraction).choose(1.0 - fraction, fraction);
    let log_sine = (PI * fraction).sin().log();
    let reflected = LOG_PI - log_sine - log;
    // Γ has a pole at zero and at each negative integer.
    let reflected = log_sine.is_finite().choose(reflected, -log_sine);
    let result = is_reflected.choose(reflected, log);
    magnitude.is(Comparison::Eq, f64::INFINITY).choose(f64::INFINITY, result)
}

/// Returns the derivative of the logarithm of `Γ(x)`.
pub(super) fn digamma(x: Value) -> Value {
    let Lanczos { is_reflected, divisors, sum, t, log_t, .. } = lanczos(x);
    let derivative = TERMS.iter().zip(divisors);
    let derivative = derivative.fold(x.filled(0.0), |sum, (&term, divisor)| sum - term / (divisor * divisor));
    let positive = log_t + derivative / sum - G / t;

    // ψ(x) = ψ(1 - x) - π / tan πx. The tangent has the period π, and a small angle makes it
    // accurate.
    let fraction = x + (x + 0.5).floor().abs();
    let angle = PI * fraction;
    let reflected = positive - PI * angle.cos() / angle.sin();
    let result = is_reflected.choose(reflected, positive);

    let is_integer = x.is(Comparison::Eq, x.floor());
    let is_pole = x.is(Comparison::Le, 0.0).and(is_integer);
    is_pole.choose(f64::NAN, result)
}
