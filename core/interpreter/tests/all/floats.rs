//! Real and complex elementwise operations, comparisons.

use crate::support::{self, binary, bits, body, compare, typed, unary, values, vector};
use fusebox_core::hlo::ElementType;

const NAN: f32 = f32::NAN;
const INF: f32 = f32::INFINITY;

#[test]
fn maximum_and_minimum_keep_nan_and_order_zeros() {
    assert!(binary("maximum", &[NAN, 1.0], &[1.0, NAN]).iter().all(|x| x.is_nan()));
    assert_eq!(bits(&binary("maximum", &[-0.0f32, 0.0], &[0.0, -0.0])), bits(&[0.0, 0.0]));
    assert_eq!(bits(&binary("minimum", &[-0.0f32, 0.0], &[0.0, -0.0])), bits(&[-0.0, -0.0]));
}

#[test]
fn rounding_to_integers() {
    let x = [0.5f32, 1.5, 2.5, -0.5, -2.5, 0.49999997, 8388609.0];
    assert_eq!(unary::<f32, f32>("round-nearest-even", &x), [0.0, 2.0, 2.0, -0.0, -2.0, 0.0, 8388609.0]);
    assert_eq!(unary::<f32, f32>("round-nearest-afz", &x), [1.0, 2.0, 3.0, -1.0, -3.0, 0.0, 8388609.0]);
    assert_eq!(unary::<f32, f32>("ceil", &[-0.5, 1.1]), [-0.0, 2.0]);
    assert_eq!(unary::<f32, f32>("floor", &[-0.5, 1.9]), [-1.0, 1.0]);
}

#[test]
fn signs() {
    assert_eq!(bits(&unary("sign", &[-3.0f32, -0.0, 0.0, INF])), bits(&[-1.0, -0.0, 0.0, 1.0]));
    assert!(unary::<f32, f32>("sign", &[NAN])[0].is_nan());
    assert_eq!(bits(&unary("negate", &[0.0f32, NAN])), bits(&[-0.0, -NAN]));
    assert_eq!(bits(&unary("abs", &[-0.0f32, -NAN])), bits(&[0.0, NAN]));
    assert_eq!(unary::<f32, bool>("is-finite", &[1.0, INF, NAN]), [true, false, false]);
}

#[test]
fn remainder_is_exact_and_takes_the_dividends_sign() {
    assert_eq!(
        binary("remainder", &[1e30f32, -7.5, 7.5], &[3.0, 2.0, -2.0]),
        [(1e30f32 as f64 % 3.0) as f32, -1.5, 1.5]
    );
    assert!(binary("remainder", &[INF, 1.0], &[1.0, 0.0]).iter().all(|x| x.is_nan()));
}

#[test]
fn functions_are_rounded_once() {
    let x = [0.1f32, 1.0, -2.5, 20.0];
    let exact = |f: fn(f64) -> f64| x.map(|v| f(f64::from(v)) as f32).to_vec();
    assert_eq!(unary::<f32, f32>("exponential", &x), exact(f64::exp));
    assert_eq!(unary::<f32, f32>("tanh", &x), exact(f64::tanh));
    assert_eq!(unary::<f32, f32>("exponential-minus-one", &x), exact(f64::exp_m1));
    assert_eq!(unary::<f32, f32>("sine", &x), exact(f64::sin));
    assert_eq!(unary::<f32, f32>("logistic", &[0.0, -200.0, 200.0]), [0.5, 0.0, 1.0]);
    assert_eq!(unary::<f64, f64>("erf", &[0.5]), [0.5204998778130465]);
    assert_eq!(unary::<f32, f32>("log-plus-one", &[1e-10, -1.0]), [1e-10, -INF]);
}

#[test]
fn half_precision_rounds_to_even_and_overflows() {
    // bf16: 1 + 2^-8 is a tie between 1 and 1 + 2^-7.
    let text = "a = bf16[2] parameter(0)\nb = bf16[2] parameter(1)\nROOT r = bf16[2] add(a, b)";
    let a = typed(ElementType::BF16, &[2], &[0x3f80u16, 0x3f81]);
    let b = typed(ElementType::BF16, &[2], &[0x3b80u16, 0x3b80]);
    assert_eq!(values::<u16>(&body(text, &[a, b])), [0x3f80, 0x3f82]);
    let text = "a = f16[1] parameter(0)\nROOT r = f16[1] add(a, a)";
    assert_eq!(values::<u16>(&body(text, &[typed(ElementType::F16, &[1], &[0x7bffu16])])), [0x7c00]);
}

#[test]
fn comparisons() {
    let (a, b) = ([NAN, 0.0, -0.0, 1.0], [NAN, -0.0, 0.0, 2.0]);
    assert_eq!(compare("EQ", &a, &b), [false, true, true, false]);
    assert_eq!(compare("NE", &a, &b), [true, false, false, true]);
    assert_eq!(compare("GE", &a, &b), [false, true, true, false]);
    assert_eq!(compare("EQ, type=TOTALORDER", &a, &b), [true, false, false, false]);
    assert_eq!(compare("LT, type=TOTALORDER", &a, &b), [false, false, true, true]);
    assert_eq!(compare("LT, type=TOTALORDER", &[-NAN, INF], &[-INF, NAN]), [true, true]);
}

#[test]
fn selection_and_clamping() {
    let text =
        "p = pred[] parameter(0)\na = f32[2] parameter(1)\nb = f32[2] parameter(2)\nROOT r = f32[2] select(p, a, b)";
    let inputs = [support::scalar(false), vector(&[1f32, 2.0]), vector(&[3f32, 4.0])];
    assert_eq!(values::<f32>(&body(text, &inputs)), [3.0, 4.0]);
    let text = "x = f32[4] parameter(0)\nl = f32[] constant(-1)\nh = f32[] constant(1)\nROOT r = f32[4] clamp(l, x, h)";
    let clamped = values::<f32>(&body(text, &[vector(&[-5f32, 0.5, 5.0, NAN])]));
    assert_eq!(clamped[..3], [-1.0, 0.5, 1.0]);
    assert!(clamped[3].is_nan());
}

#[test]
fn reduced_precision() {
    let text = "x = f32[5] parameter(0)\nROOT r = f32[5] reduce-precision(x), exponent_bits=5, mantissa_bits=10";
    let x = vector(&[1.0f32 + 1.0 / 2048.0, 65520.0, 1e-8, -1e-8, 3.0]);
    assert_eq!(bits(&values(&body(text, &[x]))), bits(&[1.0, INF, 0.0, -0.0, 3.0]));
}

#[test]
fn complex_arithmetic() {
    assert_eq!(binary("multiply", &[(1f32, 2.0)], &[(3.0, -1.0)]), [(5.0, 5.0)]);
    assert_eq!(binary("divide", &[(5f32, 5.0)], &[(3.0, -1.0)]), [(1.0, 2.0)]);
    assert_eq!(binary("divide", &[(1f32, 2.0)], &[(0.0, 0.0)]), [(INF, INF)]);
    assert_eq!(unary::<(f32, f32), f32>("abs", &[(3.0, -4.0), (3e38, 0.0)]), [5.0, 3e38]);
    assert_eq!(unary::<(f32, f32), f32>("imag", &[(3.0, -4.0)]), [-4.0]);
    assert_eq!(unary::<(f32, f32), (f32, f32)>("sign", &[(3.0, 4.0), (0.0, 0.0)]), [(0.6, 0.8), (0.0, 0.0)]);
    assert_eq!(unary::<(f32, f32), (f32, f32)>("sqrt", &[(-4.0, 0.0), (3.0, 4.0)]), [(0.0, 2.0), (2.0, 1.0)]);
    assert_eq!(binary("power", &[(0f32, 0.0), (2.0, 0.0)], &[(0.0, 0.0), (0.0, 0.0)]), [(1.0, 0.0), (1.0, 0.0)]);
}

/// The sign of a zero selects the side of the branch cut.
#[test]
fn complex_reciprocal_root_on_its_cut() {
    let cut = [(-4f32, 0.0), (-4.0, -0.0), (4.0, -0.0)];
    assert_eq!(unary::<(f32, f32), (f32, f32)>("rsqrt", &cut), [(0.0, -0.5), (0.0, 0.5), (0.5, 0.0)]);
}

#[test]
fn complex_logarithm_near_the_unit_circle_does_not_cancel() {
    let x = vector(&[(1f32, 1e-4f32)]);
    let logarithm: Vec<(f32, f32)> = values(&body("x = c64[1] parameter(0)\nROOT r = c64[1] log(x)", &[x]));
    let want = 0.5 * (f64::from(1e-4f32) * f64::from(1e-4f32)).ln_1p();
    assert_eq!(logarithm[0].0, want as f32);
}
