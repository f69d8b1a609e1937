//! Hyperbolic functions.

use super::exp::{
    LN_2_HIGH_F32, LN_2_LOW_F32, Reduced, expm1_moderate, expm1_of_remainder, power_of_two, reduce, rounder,
};
use fusebox_core::builder::Term;

/// Coefficients of `(e^(2r) - 1 - 2r) / r²` on |r| ≤ ln 2 / 4. The error of e^(2r) - 1 is 2^-26.
const TANH_F32: [f64; 5] =
    [1.9999998807907104, 1.3333218097686768, 0.666681706905365, 0.2678157091140747, 0.08867818862199783];

/// Coefficients of `(sinh x - x) / x³` as a polynomial in x² on |x| ≤ 1. The errors are 2^-27 (f32)
/// and 2^-61 (f64).
const SINH_F32: [f64; 4] = [0.1666666716337204, 0.008333349600434303, 0.0001983615948120132, 2.8169511097075883e-06];
const SINH_F64: [f64; 7] = [
    0.16666666666666669,
    0.008333333333332912,
    0.00019841269841593408,
    2.755731910675831e-06,
    2.50521309983265e-08,
    1.6056659210888105e-10,
    7.776598400166539e-13,
];

/// Computes tanh |x| = t / (t + 2) with t = e^(2|x|) - 1. Near 0, t / (t + 2) loses no accuracy.
pub fn tanh(x: Term<'_>) -> Term<'_> {
    let magnitude = x.absf().at_most(x.choose(10.0, 20.0));
    let t = if x.is_f32() { expm1_twice_f32(magnitude) } else { expm1_moderate(magnitude + magnitude) };
    (t / (t + 2.0)).copysign(x)
}

/// Computes e^(2x) - 1 for x from 0 to 10. The larger `t = e^(2x) - 1` is, the less an error of `t`
/// affects `t / (t + 2)`. For tanh, the first 24 bits of `ln 2` therefore suffice if the product of
/// these bits with `n` is exact.
fn expm1_twice_f32(x: Term<'_>) -> Term<'_> {
    let shifted = x.mul_add(2.0 * std::f64::consts::LOG2_E, rounder(x));
    let n = shifted - rounder(x);
    let r = if x.has_fma() {
        n.mul_add(-0.5 * std::f64::consts::LN_2, x)
    } else {
        x - n * (0.5 * LN_2_HIGH_F32) - n * (0.5 * LN_2_LOW_F32)
    };
    let power = power_of_two(shifted.to_bits());
    let scaled = r * power;
    let linear = scaled.mul_add(2.0, power - 1.0);
    r.polynomial(&TANH_F32).mul_add(scaled * r, linear)
}

/// Computes `(e^|x| - 1) / 4`, which is finite whenever sinh x and cosh x are finite.
fn quarter_expm1(magnitude: Term<'_>) -> Term<'_> {
    let Reduced { shifted, r } = reduce(magnitude.at_most(magnitude.choose(89.5, 710.6)));
    let quarter_power = power_of_two((shifted - 2.0).to_bits());
    expm1_of_remainder(r).mul_add(quarter_power, quarter_power - 0.25)
}

/// Computes sinh |x|: a polynomial below 1, else (t + t / (t + 1)) / 2 with t = e^|x| - 1.
pub fn sinh(x: Term<'_>) -> Term<'_> {
    let magnitude = x.absf();
    let square = magnitude * magnitude;
    let small = square.polynomial(x.choose(&SINH_F32[..], &SINH_F64)).mul_add(square * magnitude, magnitude);
    let quarter = quarter_expm1(magnitude);
    let large = (quarter / (quarter + 0.25)).mul_add(0.5, quarter + quarter);
    magnitude.lt(1.0).select(small, large).copysign(x)
}

/// Computes cosh x = e^|x| / 2 + 1 / (2 e^|x|).
pub fn cosh(x: Term<'_>) -> Term<'_> {
    let quarter = quarter_expm1(x.absf()) + 0.25;
    (quarter + quarter) + 0.125 / quarter
}
