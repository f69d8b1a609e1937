//! Cube root and reciprocal square root.

use super::exp::power_of_two;
use super::pair::two_product;
use fusebox_core::builder::Term;

/// Coefficients of a polynomial that approximates ∛m on [1, 8) with an error of 0.6 %.
const CBRT_START: [f64; 4] = [0.6816913073997567, 0.3645246132152669, -0.04331028374644075, 0.002313315242298395];

/// Constants for the first estimate of [`rsqrt`], for f32 and f64. If b is the integer that the
/// bits of x represent, the constant minus b / 2 has the bits of an estimate of 1 / √x (Lomont
/// 2003).
const RSQRT_START: (i64, i64) = (0x5f37_5a86, 0x5fe6_eb50_c7b5_37a9);

/// Computes ∛x = 2^q ∛m with 1 ≤ m < 8. A polynomial estimates ∛m, and two of Halley's steps refine
/// the estimate. The last of the two Halley steps uses an exact residue.
pub fn cbrt(x: Term<'_>) -> Term<'_> {
    let magnitude = x.absf();
    let (digits, bias) = x.choose((23_i64, 127_i64), (52, 1023));
    // A subnormal number is a multiple of the smallest positive number. The code reads the multiple
    // from the bits, because arithmetic may flush subnormals to zero. `counted` is the number times
    // 2^k, where k is a multiple of 3.
    let count_from = x.choose(2f64.powi(24), 2f64.powi(52));
    let tiny = magnitude.to_bits().lt(x.number(x.choose(f64::from(f32::MIN_POSITIVE), f64::MIN_POSITIVE)).to_bits());
    let counted = (magnitude.to_bits() | x.number(count_from).to_bits()).to_float() - count_from;
    let bits = tiny.select(counted, magnitude).to_bits();
    // Divides the exponent plus a multiple of 3 by 3. A multiplication and a shift divide numbers
    // this small exactly.
    let offset = x.choose(255_i64, 2046);
    let raised = bits.shrui(digits) + (offset - bias);
    let third = (raised * 21846_i64).shrui(16_i64);
    let power = raised - third - third - third;
    let mantissa = bits & ((1_i64 << digits) - 1);
    let m = (mantissa | (power + bias).shli(digits)).to_float();
    let start = m.polynomial(&CBRT_START);
    let cube = start * start * start;
    let t = start * (m.mul_add(2.0, cube) / cube.mul_add(2.0, m));
    let square = two_product(t, t);
    let cube = two_product(square.high, t);
    let residue = (cube.high - m) + square.low.mul_add(t, cube.low);
    let root = t - residue * t / (cube.high + cube.high + m);
    let exponent = third - offset / 3;
    let result = root * power_of_two(exponent);
    let result = tiny.select(result * x.choose(2f64.powi(-50), 2f64.powi(-358)), result);
    let regular = magnitude.to_bits().gt(0_i64) & magnitude.lt(f64::INFINITY);
    regular.select(result.copysign(x), x)
}

/// Computes 1 / √x. Halving the exponent gives an estimate `y` with an error of 3.5 %. Steps of
/// third order, y (1 + e/2 + 3/8 e²) with e = 1 - x y², refine the estimate. The last step of third
/// order includes the rounding error of x y. The estimate and these steps take less time than a
/// square root and a division.
pub fn rsqrt(x: Term<'_>) -> Term<'_> {
    let (scaled, tiny) = scaled_up(x);
    let half = scaled.to_bits().shrui(1_i64);
    let mut y = (half.integer(x.choose(RSQRT_START.0, RSQRT_START.1)) - half).to_float();
    for _ in 1..x.choose(2, 3) {
        let residue = (-(scaled * y)).mul_add(y, 1.0);
        y = rsqrt_step(y, residue);
    }
    let product = two_product(scaled, y);
    let residue = (-product.low).mul_add(y, (-product.high).mul_add(y, 1.0));
    let y = rsqrt_step(y, residue);
    let y = tiny.map_or(y, |tiny| tiny.select(y * x.choose(2f64.powi(12), 2f64.powi(27)), y));
    let of_zero = x.number(f64::INFINITY).copysign(x);
    let irregular = x.eq(0.0).select(of_zero, x.gt(0.0).select(0.0, x.number(f64::NAN)));
    let regular = x.gt(0.0) & x.lt(f64::INFINITY);
    regular.select(y, irregular)
}

/// Multiplies a number by 2^24 (f32) or 2^54 (f64) if the number is subnormal. Also returns whether
/// the number is subnormal, or `None` if the target flushes subnormal numbers to zero.
fn scaled_up(x: Term<'_>) -> (Term<'_>, Option<Term<'_>>) {
    if x.has_flushing() {
        return (x, None);
    }
    let tiny = x.lt(x.choose(f64::from(f32::MIN_POSITIVE), f64::MIN_POSITIVE));
    (tiny.select(x * x.choose(2f64.powi(24), 2f64.powi(54)), x), Some(tiny))
}

fn rsqrt_step<'f>(y: Term<'f>, residue: Term<'f>) -> Term<'f> {
    let factor = residue.mul_add(0.375, 0.5);
    y.mul_add(residue * factor, y)
}
