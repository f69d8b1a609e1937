//! The exact remainder of a truncated division, C's `fmod`.
//!
//! With both operands as integers times powers of two, `|x| = m 2^e` and `|y| = n 2^g`, the remainder is
//! `(m 2^(e-g) mod n) 2^g`. The power is taken in steps that leave no more than 64 bits, so a loop is needed; it
//! ends at once where the exponents are close.

use super::exp::power_of_two;
use fusebox_core::builder::{Scalar, Term};

/// x - trunc(x / y) y.
pub fn fmod<'f>(x: Term<'f>, y: Term<'f>) -> Term<'f> {
    let (digits, bias) = x.choose((23_i64, 127_i64), (52, 1023));
    let (dividend, divisor) = (x.absf(), y.absf());
    let (m, e) = integer_and_exponent(dividend, digits);
    let (n, g) = integer_and_exponent(divisor, digits);
    // Where |y| is 0 the result does not matter; division must have a meaning.
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
    let result = small_enough * power_of_two(exponent - bias);
    let result = dividend.lt(divisor).select(dividend, result).copysign(x);
    let invalid = y.eq(0.0) | !dividend.lt(f64::INFINITY) | y.is_nan();
    invalid.select(f64::NAN, result)
}

/// A finite number as an integer and an exponent, in 64 bits; denormal ones have the exponent of the smallest normal.
fn integer_and_exponent(magnitude: Term<'_>, digits: i64) -> (Term<'_>, Term<'_>) {
    let bits = magnitude.to_bits().extui(Scalar::I64);
    let biased = bits.shrui(digits);
    let fraction = bits & ((1_i64 << digits) - 1);
    let normal = biased.ne(0_i64);
    (normal.select(fraction | (1_i64 << digits), fraction), normal.select(biased, biased.integer(1)))
}
