//! Results for which definitions matter: NaN, infinities, the total order.

use crate::support::{body, typed, values, vector};
use fusebox_core::hlo::ElementType;

const NAN: f64 = f64::NAN;
const INFINITY: f64 = f64::INFINITY;

/// Real and imaginary part of a `c128` function at one point.
fn complex(operation: &str, re: f64, im: f64) -> [f64; 2] {
    let text = format!(
        "x = f64[1] parameter(0)\ny = f64[1] parameter(1)\nz = c128[1] complex(x, y)\nw = c128[1] {operation}(z)\n\
         re = f64[1] real(w)\nim = f64[1] imag(w)\nROOT r = f64[2] concatenate(re, im), dimensions={{0}}"
    );
    values::<f64>(&body(&text, &[vector(&[re]), vector(&[im])])).try_into().unwrap()
}

/// As defined by Annex G of the C standard.
#[test]
fn complex_functions_of_nan_and_infinity() {
    for operation in ["log", "log-plus-one", "sqrt"] {
        for (re, im) in [(NAN, 0.0), (1.0, NAN), (NAN, NAN)] {
            assert!(complex(operation, re, im)[0].is_nan(), "{operation} of {re}{im:+}i");
        }
    }
    let [re, im] = complex("sqrt", NAN, 0.0);
    assert!(re.is_nan() && im.is_nan());
    let [re, im] = complex("log", INFINITY, NAN);
    assert!(re == INFINITY && im.is_nan());
    assert_eq!(complex("tanh", INFINITY, NAN), [1.0, 0.0]);
    assert_eq!(complex("tanh", -INFINITY, INFINITY), [-1.0, 0.0]);
    assert!(complex("tanh", 30.0, INFINITY)[0].is_nan());
    let [re, im] = complex("tanh", NAN, 0.0);
    assert!(re.is_nan() && im == 0.0);
    let [re, im] = complex("exponential", -INFINITY, -1.0);
    assert!(re == 0.0 && im == 0.0 && im.is_sign_negative());
}

#[test]
fn nan_survives_a_reduction_to_no_mantissa() {
    let text = "x = f32[3] parameter(0)\nROOT r = f32[3] reduce-precision(x), exponent_bits=5, mantissa_bits=0";
    let found = values::<f32>(&body(text, &[vector(&[f32::NAN, 1.5, 1e10])]));
    assert!(found[0].is_nan());
    assert_eq!(found[1..], [2.0, f32::INFINITY]);
    let text = "x = f32[2] parameter(0)\nROOT r = f32[2] reduce-precision(x), exponent_bits=30, mantissa_bits=60";
    assert_eq!(values::<f32>(&body(text, &[vector(&[0.1f32, 1e30])])), [0.1, 1e30]);
}

/// In increasing order: NaN, -2, the negative number nearest to 0, 0, 2.
#[test]
fn the_nan_of_fnuz_types_comes_first() {
    for ty in [ElementType::F8E4M3FNUZ, ElementType::F8E5M2FNUZ, ElementType::F8E4M3B11FNUZ] {
        let text = format!(
            "x = {ty}[4] parameter(0)\ny = {ty}[4] parameter(1)\n\
             ROOT r = pred[4] compare(x, y), direction=LT, type=TOTALORDER"
        );
        let codes = [0x80u8, 0xc8, 0x81, 0x00, 0x48];
        let (x, y) = (typed(ty, &[4], &codes[..4]), typed(ty, &[4], &codes[1..]));
        assert_eq!(values::<bool>(&body(&text, &[x.clone(), y.clone()])), [true; 4], "{ty}");
        assert_eq!(values::<bool>(&body(&text, &[y, x])), [false; 4], "{ty}");
    }
}

#[test]
fn complex_numbers_are_ordered_by_their_parts() {
    let text = |operation: &str| format!("x = c64[4] parameter(0)\ny = c64[4] parameter(1)\nROOT r = {operation}");
    let inputs = [
        vector(&[(1f32, 2f32), (1.0, 2.0), (f32::NAN, 1.0), (2.0, f32::NAN)]),
        vector(&[(1f32, -3f32), (5.0, 0.0), (5.0, 7.0), (3.0, 1.0)]),
    ];
    let less = values::<bool>(&body(&text("pred[4] compare(x, y), direction=LT"), &inputs));
    assert_eq!(less, [false, true, false, true]);
    let larger = values::<(f32, f32)>(&body(&text("c64[4] maximum(x, y)"), &inputs));
    assert_eq!(larger, [(1.0, 2.0), (5.0, 0.0), (5.0, 7.0), (3.0, 1.0)]);
    let clamped = values::<(f32, f32)>(&body(&text("c64[4] clamp(x, y, y)"), &inputs));
    assert_eq!(clamped, [(1.0, -3.0), (5.0, 0.0), (5.0, 7.0), (3.0, 1.0)]);
}
