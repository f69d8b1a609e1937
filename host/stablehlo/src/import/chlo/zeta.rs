//! Hurwitz's zeta function, and the derivatives of the digamma function.

use fusebox_core::hlo::Comparison;

use super::gamma::{digamma, lgamma};
use super::value::Value;

/// Number of terms of the sum that are added one by one.
const TERMS: usize = 10;
/// `B₂ₖ / (2k)!` for k from 12 to 1, with Bernoulli's numbers B.
const BERNOULLI: [f64; 12] = [
    -1.3954464685812522e-19,
    5.5090028283602295e-18,
    -2.1748686985580617e-16,
    8.586062056277845e-15,
    -3.389680296322583e-13,
    1.3382536530684679e-11,
    -5.284190138687493e-10,
    2.08767569878681e-8,
    -8.267195767195768e-7,
    0.00003306878306878307,
    -0.001388888888888889,
    0.08333333333333333,
];

/// Returns the sum of `(q + n)^-x` for n = 0, 1, …. Adds the first terms one by one, and computes
/// the sum of the remaining terms by the formula of Euler and Maclaurin.
pub(super) fn zeta<'f>(x: Value<'f>, q: Value<'f>) -> Value<'f> {
    let exponent = -x;
    let (mut base, mut sum) = (q, q.power(exponent));
    for _ in 1..TERMS {
        base = base + 1.0;
        sum = sum + base.power(exponent);
    }
    base = base + 1.0;
    let last = base.power(exponent);
    let integral = last * base / (x - 1.0);
    let total = sum + integral + last * (0.5 + x / base * corrections(x, base));
    // The definition in artifacts regards a term as negligible only if its ratio to the sum is
    // below the smallest number.
    let smallest = if x.is_double() { f64::from_bits(1) } else { f32::from_bits(1).into() };
    let (next, so_far) = (last.abs(), sum.abs());
    let total = next.is(Comparison::Lt, so_far * smallest).choose(sum, total);
    at_special_points(x, q, total)
}

/// Returns Maclaurin's corrections with the factor `x / base` removed: the sum of
/// `B₂ₖ / (2k)! · (x + 1) … (x + 2k - 2) / base^(2k - 2)`.
fn corrections<'f>(x: Value<'f>, base: Value<'f>) -> Value<'f> {
    let inverse_square = 1.0 / (base * base);
    let [higher @ .., first] = BERNOULLI;
    let mut corrections = x.filled(0.0);
    for (k, coefficient) in (1..=higher.len() as u32).rev().zip(higher) {
        let factors = (x + f64::from(2 * k)) * (x + f64::from(2 * k - 1));
        corrections = factors * (inverse_square * (corrections + coefficient));
    }
    first + corrections
}

/// Returns the values of zeta at poles and outside of its domain, and `usual` elsewhere.
fn at_special_points<'f>(x: Value<'f>, q: Value<'f>, usual: Value<'f>) -> Value<'f> {
    let (x_floor, q_floor) = (x.floor(), q.floor());
    let is_low = q.is(Comparison::Le, 0.0);
    let result = x.is(Comparison::Lt, 1.0).choose(f64::NAN, usual);
    // A power of a negative number is real only if the exponent is an integer.
    let result = is_low.and(x.is(Comparison::Ne, x_floor)).choose(f64::NAN, result);
    // One of the terms is a power of zero. Both sides of the pole have the same sign if x is even.
    let remainder = x.remainder(2.0);
    let is_even = x.is(Comparison::Eq, x_floor).and(remainder.is(Comparison::Eq, 0.0));
    let pole = is_even.choose(f64::INFINITY, x.filled(f64::NAN));
    let result = is_low.and(q.is(Comparison::Eq, q_floor)).choose(pole, result);
    x.is(Comparison::Eq, 1.0).choose(f64::INFINITY, result)
}

/// Returns the derivative of order `n` of the digamma function: `(-1)^(n + 1) n! ζ(n + 1, x)`.
pub(super) fn polygamma<'f>(n: Value<'f>, x: Value<'f>) -> Value<'f> {
    let sign = 2.0 * n.remainder(2.0) - 1.0;
    let next = n + 1.0;
    let factorial = lgamma(next).exp();
    let derivative = sign * factorial * zeta(next, x);
    let result = n.is(Comparison::Eq, 0.0).choose(digamma(x), derivative);
    let is_fraction = n.is(Comparison::Ne, n.floor());
    is_fraction.or(n.is(Comparison::Lt, 0.0)).choose(f64::NAN, result)
}
