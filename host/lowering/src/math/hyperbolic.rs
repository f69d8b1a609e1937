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

/// sinh |x| = (t + t / (t + 1)) / 2 with t = e^|x| - 1.
pub fn sinh(x: Value<'_>) -> Value<'_> {
    let magnitude = x.abs();
    let quarter = quarter_expm1(magnitude);
    let result = (quarter / (quarter + 0.25)).mul_add(0.5, quarter + quarter).copysign(x);
    magnitude.lt(x.choose(2f64.powi(-13), 2f64.powi(-28))).select(x, result)
}

/// cosh x = e^|x| / 2 + 1 / (2 e^|x|).
pub fn cosh(x: Value<'_>) -> Value<'_> {
    let quarter = quarter_expm1(x.abs()) + 0.25;
    (quarter + quarter) + 0.125 / quarter
}
