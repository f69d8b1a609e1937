//! Hyperbolic functions.

use super::code::Value;
use super::exp::{Reduced, exp_moderate, expm1_moderate, expm1_of_remainder, power_of_two, reduce};

/// `(tanh x - x) / x³` in x² on |x| ≤ 0.6: 2^-31.
const TANH_F32: [f64; 6] = [
    -0.333333283662796,
    0.13333112001419067,
    -0.05393514409661293,
    0.021638689562678337,
    -0.008028398267924786,
    0.0020106686279177666,
];

/// `(sinh x - x) / x³` in x² on |x| ≤ 1: 2^-27 and 2^-61.
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

/// tanh |x|: in f32 a polynomial below 0.6, and above it `1 - 2 / (e^(2|x|) + 1)`;
/// in f64 `t / (t + 2)` with `t = e^(2|x|) - 1`, which loses nothing near 0.
pub fn tanh(x: Value<'_>) -> Value<'_> {
    let magnitude = x.abs().at_most(x.choose(10.0, 20.0));
    let double = magnitude + magnitude;
    if !x.is_f32() {
        let t = expm1_moderate(double);
        return (t / (t + 2.0)).copysign(x);
    }
    let square = x * x;
    let small = square.polynomial(&TANH_F32).mul_add(square * x, x);
    let large = 1.0 - 2.0 / (exp_moderate(double) + 1.0);
    magnitude.lt(0.6).select(small, large).copysign(x)
}

/// `(e^|x| - 1) / 4`, which is finite wherever sinh and cosh are.
fn quarter_expm1(magnitude: Value<'_>) -> Value<'_> {
    let Reduced { shifted, r } = reduce(magnitude.at_most(magnitude.choose(89.5, 710.6)));
    let quarter_power = power_of_two((shifted - 2.0).to_bits());
    expm1_of_remainder(r).mul_add(quarter_power, quarter_power - 0.25)
}

/// sinh |x|: a polynomial below 1, above it (t + t / (t + 1)) / 2 with t = e^|x| - 1.
pub fn sinh(x: Value<'_>) -> Value<'_> {
    let magnitude = x.abs();
    let square = magnitude * magnitude;
    let small = square.polynomial(x.choose(&SINH_F32[..], &SINH_F64)).mul_add(square * magnitude, magnitude);
    let quarter = quarter_expm1(magnitude);
    let large = (quarter / (quarter + 0.25)).mul_add(0.5, quarter + quarter);
    magnitude.lt(1.0).select(small, large).copysign(x)
}

/// cosh x = e^|x| / 2 + 1 / (2 e^|x|).
pub fn cosh(x: Value<'_>) -> Value<'_> {
    let quarter = quarter_expm1(x.abs()) + 0.25;
    (quarter + quarter) + 0.125 / quarter
}
