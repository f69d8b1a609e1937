//! The exact remainder of a truncated division, C's `fmod`.
//!
//! * On cpu targets with FMA, f32 operands are divided in f64 by long division, each step of which
//!   computes 28 bits of the quotient. For f64 operands, a quotient below 2^52 is rounded to an
//!   integer `n`, and `x - n y` is exact.
//! * On other targets, and for larger quotients of f64 operands, the code splits both operands into
//!   integers and powers of two: `|x| = m 2^e` and `|y| = n 2^g`. The remainder is
//!   `(m 2^(e-g) mod n) 2^g`. `2^(e-g)` is split into several factors. A loop multiplies by one
//!   factor of `2^(e-g)` per iteration, so that each product fits 64 bits. If the exponents are
//!   close, the loop ends after at most one iteration.

use super::exp::{power_of_two, rounder};
use fusebox_core::builder::{Scalar, Term};

/// Computes x - trunc(x / y) y.
pub fn fmod<'f>(x: Term<'f>, y: Term<'f>) -> Term<'f> {
    let (dividend, divisor) = (x.absf(), y.absf());
    let result = if !(x.has_fma() && x.has_branches()) {
        of_integers(dividend, divisor)
    } else if x.is_f32() {
        of_singles(dividend, divisor)
    } else {
        of_doubles(dividend, divisor)
    };
    let result = dividend.lt(divisor).select(dividend, result).copysign(x);
    let invalid = y.eq(0.0) | !dividend.lt(f64::INFINITY) | y.is_nan();
    invalid.select(f64::NAN, result)
}

/// Computes the remainder of two f64. The rounded quotient may be one too large. In that case, the
/// rest `x - n y` is negative but still exact, because the rest is a multiple of the last bit of
/// `y`, and the magnitude of the rest is at most `y`.
fn of_doubles<'f>(x: Term<'f>, y: Term<'f>) -> Term<'f> {
    let is_large = x.ge(y * 2f64.powi(52));
    let rest = (-(x / y).trunc()).mul_add(y, x);
    let rest = rest.lt(0.0).select(rest + y, rest);
    let [rest] = x.formula().branch(is_large, || [of_integers(x, y)], [rest]);
    rest
}

/// Number of quotient bits that one step of the long division computes. The product of an f32 and a
/// number of [`BITS`] bits is exact in f64.
const BITS: i32 = 28;
/// Number of division steps for the largest quotient of two f32, which is below 2^277.
const STEPS: i32 = 10;

/// Divides in f64 by long division, each step of which computes [`BITS`] bits of the quotient. Each
/// step rounds its part of the quotient to nearest, so the rest after a step may be negative. Only
/// large quotients, which are rare, take more than one step. For small quotients, a branch in
/// scalar code skips all steps but the last. The function has no loop, so LLVM can vectorise a loop
/// that calls it.
fn of_singles<'f>(dividend: Term<'f>, divisor: Term<'f>) -> Term<'f> {
    let (x, y) = (dividend.extf(Scalar::F64), divisor.extf(Scalar::F64));
    let inverse = x.number(1.0) / y;
    let step = |rest: Term<'f>, number: i32| {
        let digit = rest.mul_add(inverse * 2f64.powi(-BITS * number), rounder(x)) - rounder(x);
        (-digit).mul_add(y * 2f64.powi(BITS * number), rest)
    };
    let is_large = x.ge(y * 2f64.powi(BITS));
    let [x] = x.formula().branch(is_large, || [(1..STEPS).rev().fold(x, &step)], [x]);
    let rest = step(x, 0);
    rest.lt(0.0).select(rest + y, rest).truncf(Scalar::F32)
}

/// Computes the remainder of two f32 or two f64 by integer arithmetic.
fn of_integers<'f>(x: Term<'f>, y: Term<'f>) -> Term<'f> {
    let (digits, bias) = x.choose((23_i64, 127_i64), (52, 1023));
    let (m, e) = integer_and_exponent(x, digits);
    let (n, g) = integer_and_exponent(y, digits);
    // If |y| is 0 the result does not matter, but the integer division must be defined.
    let n = n.eq(0_i64).select(1_i64, n);
    let step = 63 - digits;
    let [remainder, _] = x.formula().repeat_while(
        [m.remui(n), e - g],
        |[_, distance]| distance.gt(0_i64),
        |[remainder, distance]| {
            let by = distance.gt(step).select(step, distance);
            [remainder.shli(by).remui(n), distance - by]
        },
    );
    let unscaled = remainder.sitofp(Scalar::F64) * 2f64.powi(-(digits as i32));
    let small_enough = if x.is_f32() { unscaled.truncf(Scalar::F32) } else { unscaled };
    let exponent = if x.is_f32() { g.trunci(Scalar::I32) } else { g };
    small_enough * power_of_two(exponent - bias)
}

/// Splits a finite number into an integer and an exponent of 64 bits each. A subnormal number gets
/// the exponent of the smallest normal number.
fn integer_and_exponent(magnitude: Term<'_>, digits: i64) -> (Term<'_>, Term<'_>) {
    let bits = magnitude.to_bits().extui(Scalar::I64);
    let biased = bits.shrui(digits);
    let fraction = bits & ((1_i64 << digits) - 1);
    let normal = biased.ne(0_i64);
    (normal.select(fraction | (1_i64 << digits), fraction), normal.select(biased, biased.integer(1)))
}
