//! Hyperbolic functions.

use super::code::Value;
use super::exp::{EXP2_F32, Reduced, expm1_moderate, expm1_of_remainder, power_of_two, reduce, rounder};

/// `(tanh x - x) / x³` in x² on |x| ≤ 0.55: 2^-33; as many coefficients as [`EXP2_F32`] has.
const TANH_F32: [f64; 6] = [
    -0.3333333134651184,
    0.1333322674036026,
    -0.05394915118813515,
    0.02171139605343342,
    -0.008194277063012123,
    0.0021452726796269417,
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

/// tanh |x|: in f32 a polynomial below 0.55, and above it `1 - 2 / (2^(|x| 2 log2 e) + 1)`;
/// in f64 `t / (t + 2)` with `t = e^(2|x|) - 1`, which loses nothing near 0.
pub fn tanh(x: Value<'_>) -> Value<'_> {
    let magnitude = x.abs().at_most(x.choose(10.0, 20.0));
    if x.is_f32() {
        return tanh_f32(x, magnitude);
    }
    let t = expm1_moderate(magnitude + magnitude);
    (t / (t + 2.0)).copysign(x)
}

fn tanh_f32<'c>(x: Value<'c>, magnitude: Value<'c>) -> Value<'c> {
    let rate = 2.0 * std::f64::consts::LOG2_E;
    let shifted = magnitude.mul_add(rate, rounder(x));
    let r = magnitude.mul_add(rate, rounder(x) - shifted);
    let near = magnitude.lt(0.55);
    let square = magnitude * magnitude;
    let value = near.select(square, r).polynomial_by(near, &TANH_F32, &EXP2_F32);
    let small = value.mul_add(square * magnitude, magnitude);
    let power = value.mul_add(r, 1.0);
    let large = 1.0 - 2.0 / power.mul_add(power_of_two(shifted.to_bits()), 1.0);
    near.select(small, large).copysign(x)
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
