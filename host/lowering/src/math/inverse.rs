//! Inverse trigonometric and inverse hyperbolic functions.

use super::log::log_of_sum;
use super::pair::{Pair, fast_two_sum, two_product, two_sum};
use fusebox_core::builder::Term;

/// Coefficients of `(asin x - x) / x³` as a polynomial in x² on |x| ≤ 1/2. The errors of asin x are
/// 2^-32 (f32) and 2^-59 (f64).
const ASIN_F32: [f64; 6] = [
    0.16666659712791443,
    0.07500521838665009,
    0.04451338201761246,
    0.03183883801102638,
    0.014317046850919724,
    0.037691209465265274,
];
const ASIN_F64: [f64; 13] = [
    0.16666666666666832,
    0.07499999999950391,
    0.04464285719475634,
    0.030381941714017008,
    0.022372243629153816,
    0.017351087913215754,
    0.013987199513050379,
    0.011346060705376764,
    0.01107959591890667,
    0.002565716890450927,
    0.02450371474816311,
    -0.02498170212124216,
    0.035133091920579715,
];
/// Coefficients of `(atan x - x) / x³` as a polynomial in x²: in f32 on [0, 1] with error 2^-28, in
/// f64 on [0, tan π/8] with error 2^-58.
const ATAN_F32: [f64; 9] = [
    -0.33333298563957214,
    0.1999852955341339,
    -0.14264015853405,
    0.10950881242752075,
    -0.08399313688278198,
    0.057881664484739304,
    -0.031097467988729477,
    0.010869089514017105,
    -0.0017829514108598232,
];
const ATAN_F64: [f64; 11] = [
    -0.3333333333333298,
    0.199999999998901,
    -0.14285714273758068,
    0.11111110461443535,
    -0.09090888535269069,
    0.07691897328532443,
    -0.06661269670388634,
    0.05834686585850703,
    -0.04980528164481535,
    0.03659036043619862,
    -0.01631446066381458,
];

/// Returns π/2 as a sum of two numbers.
fn half_pi(like: Term<'_>) -> (f64, f64) {
    like.choose((1.5707963705062866, -4.371138828673793e-08), (1.5707963267948966, 6.123233995736766e-17))
}

/// Values that both asin and acos use. `root` is |x| if |x| ≤ 1/2, else √((1 - |x|) / 2). If |x| >
/// 1/2, `asin |x| = π/2 - 2 asin root`.
struct Arcsine<'f> {
    beyond: Term<'f>,
    root: Term<'f>,
    /// The difference `asin root - root`.
    tail: Term<'f>,
}

fn arcsine(x: Term<'_>) -> Arcsine<'_> {
    let magnitude = x.absf();
    let beyond = magnitude.gt(0.5);
    let square = beyond.select((1.0 - magnitude) * 0.5, x * x);
    let root = beyond.select(square.sqrt(), magnitude);
    let tail = square.polynomial(x.choose(&ASIN_F32[..], &ASIN_F64)) * (square * root);
    Arcsine { beyond, root, tail }
}

pub fn asin(x: Term<'_>) -> Term<'_> {
    let Arcsine { beyond, root, tail } = arcsine(x);
    let (high, low) = half_pi(x);
    let leading = fast_two_sum(x.number(high), root * -2.0);
    let complement = leading.high - (tail.mul_add(2.0, -low) - leading.low);
    beyond.select(complement, root + tail).copysign(x)
}

pub fn acos(x: Term<'_>) -> Term<'_> {
    let Arcsine { beyond, root, tail } = arcsine(x);
    let (high, low) = half_pi(x);
    let negative = x.lt(0.0);
    let near_zero = high - (root.copysign(x) + (tail.copysign(x) - low));
    let above = (root + tail) * 2.0;
    let below = 2.0 * high - (root + (tail - low)) * 2.0;
    beyond.select(negative.select(below, above), near_zero)
}

/// Computes the arctangent of `numerator / denominator`, which must be in [0, 1]. The arctangent is
/// `quarters · π/4 + rest`. Returns `quarters`, which is 0 or 1, and `rest`.
fn atan_of_quotient<'f>(numerator: Term<'f>, denominator: Term<'f>) -> (Term<'f>, Pair<'f>) {
    let zero = numerator.number(0.0);
    if numerator.is_f32() {
        let t = numerator / denominator;
        let square = t * t;
        return (zero, Pair { high: t, low: square.polynomial(&ATAN_F32) * (square * t) });
    }
    // The constant is tan π/8. If the quotient is larger, atan n/d = π/4 + atan (n - d)/(n + d).
    let beyond = numerator.gt(denominator * 0.41421356237309503);
    let above = beyond.select(numerator - denominator, numerator);
    let below = beyond.select(numerator + denominator, denominator);
    let t = above / below;
    let square = t * t;
    let rest = Pair { high: t, low: square.polynomial(&ATAN_F64) * (square * t) };
    (beyond.select(1.0, zero), rest)
}

/// Computes `quarters · π/4 + rest`, or `quarters · π/4 - rest` if `subtract` holds.
fn add_quarters<'f>(quarters: Term<'f>, subtract: Term<'f>, rest: Pair<'f>) -> Term<'f> {
    // π/4 with a few trailing zero bits, so that its products with integers up to 4 are exact.
    let (high, low) =
        quarters.choose((0.7853975296020508, 6.337954232549237e-07), (0.7853981633974474, 9.18794589678809e-16));
    let base = quarters * high;
    let sign = subtract.select(base.number(-0.0), base.number(0.0)).to_bits();
    let (leading, tail) = (rest.high.with_flipped(sign), rest.low.with_flipped(sign));
    let sum = two_sum(base, leading);
    sum.high + (sum.low + quarters.mul_add(low, tail))
}

pub fn atan(x: Term<'_>) -> Term<'_> {
    let magnitude = x.absf();
    let swapped = magnitude.gt(1.0);
    let one = x.number(1.0);
    let (quarters, rest) = atan_of_quotient(swapped.select(one, magnitude), swapped.select(magnitude, one));
    let quarters = swapped.select(2.0 - quarters, quarters);
    add_quarters(quarters, swapped, rest).copysign(x)
}

/// Computes the angle of the point (x, y). The first argument is y.
pub fn atan2<'f>(y: Term<'f>, x: Term<'f>) -> Term<'f> {
    let (across, up) = (x.absf(), y.absf());
    let swapped = up.gt(across);
    let (small, large) = (swapped.select(across, up), swapped.select(up, across));
    // Scales arguments away from both ends of the range of exponents. If both arguments are
    // infinite, the angle is 45°. If both are 0, the angle is 0.
    let huge = large.gt(x.choose(2f64.powi(126), 2f64.powi(1022)));
    let tiny = large.lt(x.choose(2f64.powi(-64), 2f64.powi(-900)));
    let up = x.choose(2f64.powi(60), 2f64.powi(120));
    let scaled = |number: Term<'f>| huge.select(number * 0.25, tiny.select(number * up, number));
    let (small, large) = (scaled(small), scaled(large));
    let both_infinite = small.eq(f64::INFINITY);
    let (small, large) = (both_infinite.select(1.0, small), both_infinite.select(1.0, large));
    let (quarters, rest) = atan_of_quotient(small, large.eq(0.0).select(1.0, large));
    let backwards = x.sign_bit().ne(0_i64);
    let quarters = swapped.select(2.0 - quarters, quarters);
    let quarters = backwards.select(4.0 - quarters, quarters);
    let result = add_quarters(quarters, swapped ^ backwards, rest).copysign(y);
    (x.is_nan() | y.is_nan()).select(x + y, result)
}

/// Computes asinh |x|. For large |x|, asinh |x| is computed as ln |x| + ln 2, else as ln(1 + t)
/// with t = |x| + x² / (1 + √(x² + 1)).
pub fn asinh(x: Term<'_>) -> Term<'_> {
    let magnitude = x.absf();
    let large = magnitude.gt(x.choose(2f64.powi(14), 2f64.powi(30)));
    let square = magnitude * magnitude;
    let excess = square / ((square + 1.0).sqrt() + 1.0);
    let sum = two_sum(magnitude, excess);
    let result = log_of_one_and(sum, magnitude, large).copysign(x);
    magnitude.lt(x.choose(2f64.powi(-13), 2f64.powi(-28))).select(x, result)
}

/// Computes `ln(1 + rest)`, or ln 2 + ln `magnitude` if `large` holds.
fn log_of_one_and<'f>(rest: Pair<'f>, magnitude: Term<'f>, large: Term<'f>) -> Term<'f> {
    let sum = two_sum(rest.high, magnitude.number(1.0));
    let zero = magnitude.number(0.0);
    let logarithm = log_of_sum(large.select(magnitude, sum.high), large.select(zero, sum.low + rest.low));
    let result = large.select(logarithm + std::f64::consts::LN_2, logarithm);
    magnitude.lt(f64::INFINITY).select(result, magnitude)
}

/// Computes acosh x = ln(1 + t + √(t (t + 2))) with t = x - 1. The code also computes the rounding
/// error of the square root, and corrects the result by this error.
pub fn acosh(x: Term<'_>) -> Term<'_> {
    let large = x.gt(x.choose(2f64.powi(14), 2f64.powi(30)));
    let t = x - 1.0;
    let next = two_sum(t, x.number(2.0));
    let product = two_product(t, next.high);
    let root = product.high.sqrt();
    let residue = two_product(root, root);
    let residue = ((product.high - residue.high) - residue.low) + next.low.mul_add(t, product.low);
    let correction = residue / (root + root);
    let sum = two_sum(t, root);
    let zero = x.number(0.0);
    let low = t.gt(0.0).select(sum.low + correction, zero);
    let result = log_of_one_and(Pair { high: sum.high, low }, x, large);
    let result = x.eq(1.0).select(0.0, result);
    x.lt(1.0).select(f64::NAN, result)
}

/// Computes atanh |x| = ln(1 + 2|x| / (1 - |x|)) / 2. The code also computes the rounding error of
/// the quotient, and corrects the result by this error.
pub fn atanh(x: Term<'_>) -> Term<'_> {
    let magnitude = x.absf();
    let denominator = two_sum(x.number(1.0), -magnitude);
    let double = magnitude + magnitude;
    let quotient = double / denominator.high;
    let product = two_product(quotient, denominator.high);
    let residue = (double - product.high) - (quotient.mul_add(denominator.low, product.low));
    let sum = two_sum(quotient, x.number(1.0));
    let result = log_of_sum(sum.high, sum.low + residue / denominator.high) * 0.5;
    let result = magnitude.lt(x.choose(2f64.powi(-13), 2f64.powi(-28))).select(magnitude, result);
    let result = magnitude.eq(1.0).select(f64::INFINITY, result);
    magnitude.gt(1.0).select(f64::NAN, result).copysign(x)
}
