//! The error function.

use super::exp::{Reduced, expm1_of_remainder, reduce, scale};
use super::pair::two_product;
use fusebox_core::builder::{Scalar, Term};

/// Coefficients of `erf x / x - 1` as a polynomial in x²: on [0, 1.15] with error 2^-26 (f32), and
/// on [0, 1] with error 2^-56 (f64).
const ERF_F32: [f64; 7] = [
    0.12837915122509003,
    -0.3761253356933594,
    0.11282645910978317,
    -0.02681881934404373,
    0.00512921717017889,
    -0.000754786015022546,
    6.490061059594154e-05,
];
const ERF_F64: [f64; 13] = [
    0.1283791670955126,
    -0.3761263890318375,
    0.11283791670954857,
    -0.026866170645072882,
    0.005223977624780753,
    -0.0008548326978736572,
    0.00012055331036717583,
    -1.4925593502932044e-05,
    1.6460972758678735e-06,
    -1.6350024647552866e-07,
    1.4657876212458333e-08,
    -1.13656526981177e-09,
    5.945240407700805e-11,
];
/// Coefficients of a polynomial for the eighth root of erfc x on [1.15, 3.95]. The resulting error
/// of erf x is 2^-26.
const ROOT_OF_ERFC_F32: [f64; 7] = [
    1.0013034343719482,
    -0.14679305255413055,
    -0.05880436673760414,
    -0.013451735489070415,
    0.013835021294653416,
    -0.002677753334864974,
    0.0001692877704044804,
];
/// Coefficients of `(1 + 2x) e^(x²) erfc x` as a polynomial in `(x - K) / (x + K)`, after Shepherd
/// and Laframboise (1981). For f32, K = 2 and the error is 2^-31 for x < 10.2. For f64, K = 3.5 and
/// the error is 2^-55 for x < 27.5.
const ERFCX_F32: [f64; 13] = [
    1.2769783818075964,
    -0.09276383121515143,
    -0.16603042841786012,
    0.1640514527505439,
    -0.05421932896849582,
    -0.008035659144662465,
    0.008716865453400117,
    0.0012763412491861516,
    -0.0014335080185498199,
    -0.0004530288724775339,
    0.00016395252948411484,
    0.00012199390952403236,
    2.133459938036504e-05,
];
const ERFCX_F64: [f64; 25] = [
    1.2423492448711544,
    -0.1400091801376194,
    -0.010555596332218104,
    0.09751909515325445,
    -0.11508959816020586,
    0.08798315382504972,
    -0.04882332582748657,
    0.01909933093866669,
    -0.004215019914222721,
    -0.0003022678355250332,
    0.0005643844762623793,
    -0.00012151270848700988,
    -4.278256443080102e-05,
    2.4262205429975168e-05,
    2.32952980429065e-06,
    -3.818120529035539e-06,
    -4.714816509555673e-08,
    6.073609931321128e-07,
    -3.4531306279421096e-09,
    -1.017856664952829e-07,
    -3.6987380208904726e-09,
    1.6495340032593883e-08,
    2.2870601527251893e-09,
    -1.8455523736208612e-09,
    -5.203287261521801e-10,
];

/// Computes erf x: an odd polynomial near 0, else 1 - erfc |x| with the sign of x.
pub fn erf(x: Term<'_>) -> Term<'_> {
    if x.is_f32() {
        return erf_f32(x);
    }
    let magnitude = x.absf().at_most(6.0);
    let square = x * x;
    let small = square.polynomial(&ERF_F64).mul_add(x, x);
    let large = 1.0 - erfc_of_magnitude(magnitude, &ERFCX_F64, 3.5);
    magnitude.lt(1.0).select(small, large.copysign(x))
}

/// Computes erf x in f32. For large |x|, erfc |x| is the eighth power of a polynomial, as Hastings
/// proposed (Abramowitz and Stegun 7.1.28). The eighth power avoids an exponential and a division.
/// In f32, 1 - erfc |x| rounds to 1 if |x| is above 3.95.
fn erf_f32(x: Term<'_>) -> Term<'_> {
    let magnitude = x.absf().at_most(3.95);
    let near = magnitude.lt(1.15);
    let value = near.select(magnitude * magnitude, magnitude).polynomial_by(near, &ERF_F32, &ROOT_OF_ERFC_F32);
    let square = value * value;
    let fourth = square * square;
    let large = fourth.mul_add(-fourth, 1.0);
    near.select(value.mul_add(x, x), large.copysign(x))
}

/// Computes erfc x for x ≥ 0 in f64.
fn erfc_of_magnitude<'f>(x: Term<'f>, scaled: &[f64], center: f64) -> Term<'f> {
    let t = (x - center) / (x + center);
    let factor = t.polynomial(scaled) / x.mul_add(2.0, 1.0);
    // Represents e^-(high + low) as 2^n (1 + e). The product of 1 + e and the factor then rounds
    // once.
    let square = two_product(x, x);
    let Reduced { shifted, r } = reduce(-square.high);
    let e = expm1_of_remainder(r);
    let e = e - square.low.mul_add(e, square.low);
    scale(e.mul_add(factor, factor), shifted)
}

/// Computes erfc x. For an f32 argument the computation uses f64, because in f32 the rounding
/// errors of three factors would add up.
pub fn erfc(x: Term<'_>) -> Term<'_> {
    let wide = x.extf(Scalar::F64);
    let magnitude = wide.absf().at_most(x.choose(10.2, 27.5));
    let result = if x.is_f32() {
        erfc_of_magnitude(magnitude, &ERFCX_F32, 2.0)
    } else {
        // Near 0 the result is just below 1. Measured in ulps of this result, the errors of the
        // factors are large.
        let near = 1.0 - (wide * wide).polynomial(&ERF_F64).mul_add(magnitude, magnitude);
        magnitude.lt(0.5).select(near, erfc_of_magnitude(magnitude, &ERFCX_F64, 3.5))
    };
    let result = wide.lt(0.0).select(2.0 - result, result);
    if x.is_f32() { result.truncf(Scalar::F32) } else { result }
}
