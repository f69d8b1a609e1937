//! Functions of complex numbers, computed on `f64` parts.

use fusebox_core::builder::Term;

use super::complex_pair::{ComplexPair, choose, is_infinite, magnitude};

/// Computes `e^re · (cos im + i sin im)`, on `f32` or `f64` parts. Even if the real exponential
/// overflows, the other factors may bring the product back into range. On the real axis the
/// imaginary part is unchanged.
pub fn exp(x: ComplexPair<'_>) -> ComplexPair<'_> {
    let limit: f64 = if x.re.is_f32() { 88.0 } else { 700.0 };
    let large = x.re.gt(limit);
    let rest = large.select(x.re - limit, x.re);
    let scale = large.select(limit.exp(), x.re.number(1.0));
    let e = rest.exp();
    let (cos, sin) = (x.im.cos(), x.im.sin());
    let (re, im) = (e * cos, e * sin);
    let (re, im) = (re * scale, im * scale);
    let on_axis = x.im.eq(0.0);
    let result = choose(on_axis, ComplexPair { re: e * scale, im: x.im }, ComplexPair { re, im });
    // e^-inf is 0 even if the angle is infinite or NaN.
    let vanishes = x.re.eq(f64::NEG_INFINITY);
    let undirected = x.im.subf(x.im).is_nan();
    choose(vanishes & undirected, x.real(0.0), result)
}

/// Computes `e^x - 1`. The real part of the result is `expm1(re) · cos im - 2 sin²(im / 2)`,
/// without cancellation near 0.
pub fn expm1(x: ComplexPair<'_>) -> ComplexPair<'_> {
    let e = x.re.expm1();
    let (cos, sin) = (x.im.cos(), x.im.sin());
    let s = (x.im * 0.5).sin();
    let lost = 2.0 * (s * s);
    let re = e * cos - lost;
    let im = x.re.exp() * sin;
    choose(x.im.eq(0.0), ComplexPair { re: e, im: x.im }, ComplexPair { re, im })
}

/// Computes `log |x|`: near the unit circle by `log1p` of `|x|² - 1`, elsewhere from the larger
/// part and the ratio of the parts.
fn log_magnitude(x: ComplexPair<'_>) -> Term<'_> {
    let (large, small) = x.sizes();
    let excess = (large - 1.0) * (large + 1.0) + small * small;
    let near_value = 0.5 * excess.log1p();
    let ratio = small / large.gt(0.0).select(large, large.number(1.0));
    let correction = 0.5 * (ratio * ratio).log1p();
    let far_value = large.log() + correction;
    let near = excess.gt(-0.5) & excess.lt(1.0);
    let value = near.select(near_value, far_value);
    x.is_infinite().select(f64::INFINITY, value)
}

/// `log |x| + i arg x`
pub fn log(x: ComplexPair<'_>) -> ComplexPair<'_> {
    ComplexPair { re: log_magnitude(x), im: x.im.atan2(x.re) }
}

/// Computes `log(1 + x)`, for small `x` from `|1 + x|² - 1 = re (re + 2) + im²`.
pub fn log1p(x: ComplexPair<'_>) -> ComplexPair<'_> {
    let shifted = ComplexPair { re: x.re + 1.0, im: x.im };
    let excess = x.re * (x.re + 2.0) + x.im * x.im;
    let near_value = 0.5 * excess.log1p();
    let far_value = log_magnitude(shifted);
    let near = x.sizes().0.lt(0.5);
    ComplexPair { re: near.select(near_value, far_value), im: x.im.atan2(shifted.re) }
}

/// Computes the square root. On the branch cut, ignores the sign of a zero imaginary part, as XLA
/// does.
pub fn sqrt(x: ComplexPair<'_>) -> ComplexPair<'_> {
    let side = x.im.lt(0.0).select(-1.0, x.im.number(1.0));
    sqrt_on_side(x, side)
}

/// Computes the reciprocal of the square root. On the branch cut, the sign of a zero imaginary part
/// selects the side, as in C's Annex G and in XLA.
pub fn rsqrt(x: ComplexPair<'_>) -> ComplexPair<'_> {
    x.real(1.0) / sqrt_on_side(x, x.im)
}

/// Computes a square root. First computes the larger of the result's parts, `t = sqrt((|re| + |x|)
/// / 2)`. From `t`, computes the other part, `im / 2t`. If `re` is negative, the imaginary part has
/// the sign of `side`.
fn sqrt_on_side<'f>(x: ComplexPair<'f>, side: Term<'f>) -> ComplexPair<'f> {
    // Scales by powers of 4, so that neither the sum nor the halves overflow or underflow.
    let (large, _) = x.sizes();
    let (is_huge, is_tiny) = (large.gt(2f64.powi(1000)), large.lt(2f64.powi(-900)));
    let by_size = |huge, tiny| is_huge.select(2f64.powi(huge), is_tiny.select(2f64.powi(tiny), large.number(1.0)));
    let (scale, back) = (by_size(-100, 200), by_size(50, -100));
    let scaled = x.map(|part| part * scale);
    let size = magnitude(scaled);
    let t = ((scaled.re.absf() + size) * 0.5).sqrt();
    let vanishes = t.eq(0.0);
    // `t` is 0 only for the root of 0. The root of NaN is NaN.
    let other = scaled.im / vanishes.select(1.0, t + t);
    let (t, other) = (t * back, other * back);
    let other_size = other.absf();
    let left = ComplexPair { re: other_size, im: t.copysign(side) };
    let result = choose(x.re.lt(0.0), left, ComplexPair { re: t, im: other });
    sqrt_of_infinity(x, result)
}

/// Replaces the result at infinity. If the imaginary part of `x` is infinite, the real part of the
/// result is infinite, and the imaginary part is unchanged. If only the real part is infinite, the
/// other part of the result is 0, or NaN if the imaginary part is NaN.
fn sqrt_of_infinity<'f>(x: ComplexPair<'f>, result: ComplexPair<'f>) -> ComplexPair<'f> {
    let (zero, infinity) = (x.re.number(0.0), x.re.number(f64::INFINITY));
    let (small, large) = (zero.copysign(x.im), infinity.copysign(x.im));
    let undirected = x.im.is_nan();
    let (rest, small) = (undirected.select(x.im, zero), undirected.select(x.im, small));
    let (re_infinite, im_infinite) = (is_infinite(x.re), is_infinite(x.im));
    let negative = x.re.lt(0.0);
    let along = choose(negative, ComplexPair { re: rest, im: large }, ComplexPair { re: infinity, im: small });
    let result = choose(re_infinite, along, result);
    choose(im_infinite, ComplexPair { re: infinity, im: x.im }, result)
}

/// Sine and cosine of a number, either circular or hyperbolic.
struct SinCos<'f> {
    sin: Term<'f>,
    cos: Term<'f>,
}

fn circular(x: Term<'_>) -> SinCos<'_> {
    SinCos { sin: x.sin(), cos: x.cos() }
}

fn hyperbolic(x: Term<'_>) -> SinCos<'_> {
    SinCos { sin: x.sinh(), cos: x.cosh() }
}

/// Reduces `x` so that sinh and cosh do not overflow. Returns the reduced number, and the factor by
/// which sinh and cosh of this number are too small. If `|x|` exceeds 40, the magnitude of sinh and
/// cosh is `e^|x| / 2`, so subtracting a constant from `|x|` divides this magnitude by a constant
/// factor.
fn without_overflow(x: Term<'_>) -> (Term<'_>, Term<'_>) {
    let size = x.absf();
    let large = size.gt(700.0);
    let rest = (size - 660.0).copysign(x);
    (large.select(rest, x), large.select(660f64.exp(), x.number(1.0)))
}

/// `-i sinh(i x)`
pub fn sin(x: ComplexPair<'_>) -> ComplexPair<'_> {
    times_minus_i(sinh(times_i(x)))
}

/// `cosh(i x)`
pub fn cos(x: ComplexPair<'_>) -> ComplexPair<'_> {
    cosh(times_i(x))
}

/// Computes `sinh re cos im + i cosh re sin im`. If the real or the imaginary part of `x` is a
/// zero, this part is unchanged in the result, including the zero's sign.
pub fn sinh(x: ComplexPair<'_>) -> ComplexPair<'_> {
    let (reduced, factor) = without_overflow(x.re);
    let (h, t) = (hyperbolic(reduced), circular(x.im));
    let ComplexPair { re, im } = ComplexPair { re: h.sin * t.cos, im: h.cos * t.sin }.map(|part| part * factor);
    let re = x.re.eq(0.0).select(x.re, re);
    let on_real = x.im.eq(0.0);
    choose(on_real, ComplexPair { re: h.sin * factor, im: x.im }, ComplexPair { re, im })
}

/// Computes `cosh re cos im + i sinh re sin im`. On the axes, the imaginary part is 0.
pub fn cosh(x: ComplexPair<'_>) -> ComplexPair<'_> {
    let (reduced, factor) = without_overflow(x.re);
    let (h, t) = (hyperbolic(reduced), circular(x.im));
    let ComplexPair { re, im } = ComplexPair { re: h.cos * t.cos, im: h.sin * t.sin }.map(|part| part * factor);
    let nothing = x.re * x.im;
    let on_axis = x.re.eq(0.0) | x.im.eq(0.0);
    ComplexPair { re, im: on_axis.select(nothing, im) }
}

/// `i x`
pub fn times_i(x: ComplexPair<'_>) -> ComplexPair<'_> {
    ComplexPair { re: -x.im, im: x.re }
}

/// `-i x`
pub fn times_minus_i(x: ComplexPair<'_>) -> ComplexPair<'_> {
    ComplexPair { re: x.im, im: -x.re }
}

/// Computes `(sinh re cosh re + i sin im cos im) / (sinh² re + cos² im)`. Far from the imaginary
/// axis, the real part is ±1 and the imaginary part is `4 sin im cos im e^(-2|re|)`. On the real
/// axis the imaginary part is unchanged.
pub fn tanh(x: ComplexPair<'_>) -> ComplexPair<'_> {
    let size = x.re.absf();
    let far = size.gt(22.0);
    let (h, t) = (hyperbolic(far.select(0.0, x.re)), circular(x.im));
    let (dividend, turn) = (h.sin * h.cos, t.sin * t.cos);
    let divisor = h.sin * h.sin + t.cos * t.cos;
    let near = ComplexPair { re: dividend, im: turn }.map(|part| part / divisor);
    let decay = (-(size + size)).exp();
    let im = 4.0 * turn * decay;
    let far_value = ComplexPair { re: x.re.number(1.0).copysign(x.re), im };
    let value = choose(far, far_value, near);
    // If the angle is infinite or NaN, the result is ±1 for an infinite real part, and NaN for a
    // finite real part.
    let (infinite, nowhere) = (is_infinite(x.re), x.im.subf(x.im));
    let undirected = nowhere.is_nan();
    let limit = ComplexPair { re: infinite.select(far_value.re, nowhere), im: infinite.select(0.0, nowhere) };
    let value = choose(undirected, limit, value);
    ComplexPair { re: value.re, im: x.im.eq(0.0).select(x.im, value.im) }
}

/// `tan x = -i tanh(i x)`
pub fn tan(x: ComplexPair<'_>) -> ComplexPair<'_> {
    times_minus_i(tanh(times_i(x)))
}

/// Computes `e^(y log x)`. Any power of 1 is 1. Any number to the power of 0 is 1. A positive real
/// power of 0 is 0. All other powers of 0 are NaN.
pub fn pow<'f>(x: ComplexPair<'f>, y: ComplexPair<'f>) -> ComplexPair<'f> {
    let power = exp(y * log(x));
    let (x_zero, y_zero) = (x.is_zero(), y.is_zero());
    let vanishes = y.re.gt(0.0) & y.im.eq(0.0);
    let of_zero = vanishes.select(0.0, x.re.number(f64::NAN));
    let result = choose(x_zero, ComplexPair { re: of_zero, im: of_zero }, power);
    let x_one = x.re.eq(1.0) & x.im.eq(0.0);
    choose(x_one | y_zero, x.real(1.0), result)
}

/// `atan2(y, x) = -i log((x + i y) / sqrt(x² + y²))`
pub fn atan2<'f>(y: ComplexPair<'f>, x: ComplexPair<'f>) -> ComplexPair<'f> {
    let size = sqrt(x * x + y * y);
    let point = ComplexPair { re: x.re - y.im, im: x.im + y.re };
    times_minus_i(log(point / size))
}

/// Computes `x / |x|`, or `x` if `x` is zero.
pub fn sign(x: ComplexPair<'_>) -> ComplexPair<'_> {
    let size = magnitude(x);
    let quotient = x.map(|part| part / size);
    choose(x.is_zero(), x, quotient)
}

/// Computes `1 / (1 + exp(-x))`.
pub fn logistic(x: ComplexPair<'_>) -> ComplexPair<'_> {
    let e = exp(-x);
    x.real(1.0) / ComplexPair { re: 1.0 + e.re, im: e.im }
}
