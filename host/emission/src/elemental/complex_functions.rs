//! Functions of complex numbers on `f64` parts.

use fusebox_core::builder::{FloatPredicate, FunctionBuilder, OpKind, Scalar, Type, Value};

use super::complex::{Parts, choose, constant, divide, is_infinite, is_zero, magnitude, multiply, real_like, sizes};

fn real(b: &mut FunctionBuilder, value: f64) -> Value {
    b.float(value, Scalar::F64)
}

fn function(b: &mut FunctionBuilder, name: OpKind, x: Value) -> Value {
    b.float_unary(name, x)
}

/// `e^re · (cos im + i sin im)`, on parts of either type. Beyond the range of the real exponential the factors may
/// bring the product back into it; on the real axis the imaginary part stays what it is.
pub fn exp(b: &mut FunctionBuilder, x: Parts) -> Parts {
    let limit = if *b.type_of(x.re) == Type::F32 { 88.0 } else { 700.0 };
    let (zero, one) = (real_like(b, x.re, 0.0), real_like(b, x.re, 1.0));
    let (limit, at_limit) = (real_like(b, x.re, limit), real_like(b, x.re, limit.exp()));
    let large = b.cmpf(FloatPredicate::Ogt, x.re, limit);
    let rest = b.subf(x.re, limit);
    let rest = b.select(large, rest, x.re);
    let scale = b.select(large, at_limit, one);
    let e = function(b, OpKind::Exp, rest);
    let (cos, sin) = (function(b, OpKind::Cos, x.im), function(b, OpKind::Sin, x.im));
    let (re, im) = (b.mulf(e, cos), b.mulf(e, sin));
    let (re, im) = (b.mulf(re, scale), b.mulf(im, scale));
    let on_axis = b.cmpf(FloatPredicate::Oeq, x.im, zero);
    let whole = b.mulf(e, scale);
    let result = choose(b, on_axis, Parts { re: whole, im: x.im }, Parts { re, im });
    // e^-inf is 0 also in no direction.
    let lowest = real_like(b, x.re, f64::NEG_INFINITY);
    let vanishes = b.cmpf(FloatPredicate::Oeq, x.re, lowest);
    let nowhere = b.subf(x.im, x.im);
    let undirected = b.cmpf(FloatPredicate::Uno, nowhere, nowhere);
    let vanishes = b.andi(vanishes, undirected);
    choose(b, vanishes, Parts { re: zero, im: zero }, result)
}

/// `expm1(re) · cos im - 2 sin²(im / 2)` is the real part without cancellation near 0.
pub fn expm1(b: &mut FunctionBuilder, x: Parts) -> Parts {
    let (zero, half, two) = (real(b, 0.0), real(b, 0.5), real(b, 2.0));
    let e = function(b, OpKind::Expm1, x.re);
    let (cos, sin) = (function(b, OpKind::Cos, x.im), function(b, OpKind::Sin, x.im));
    let halved = b.mulf(x.im, half);
    let s = function(b, OpKind::Sin, halved);
    let square = b.mulf(s, s);
    let lost = b.mulf(two, square);
    let scaled = b.mulf(e, cos);
    let re = b.subf(scaled, lost);
    let whole = function(b, OpKind::Exp, x.re);
    let im = b.mulf(whole, sin);
    let on_axis = b.cmpf(FloatPredicate::Oeq, x.im, zero);
    choose(b, on_axis, Parts { re: e, im: x.im }, Parts { re, im })
}

/// `log |x|`: by `log1p` of `|x|² - 1` near the unit circle, else by the larger part and the ratio of the parts.
fn log_magnitude(b: &mut FunctionBuilder, x: Parts) -> Value {
    let (zero, half, one) = (real(b, 0.0), real(b, 0.5), real(b, 1.0));
    let (large, small) = sizes(b, x);
    let below = b.subf(large, one);
    let above = b.addf(large, one);
    let product = b.mulf(below, above);
    let square = b.mulf(small, small);
    let excess = b.addf(product, square);
    let near_value = function(b, OpKind::Log1p, excess);
    let near_value = b.mulf(half, near_value);
    let usable = b.cmpf(FloatPredicate::Ogt, large, zero);
    let divisor = b.select(usable, large, one);
    let ratio = b.divf(small, divisor);
    let square = b.mulf(ratio, ratio);
    let correction = function(b, OpKind::Log1p, square);
    let correction = b.mulf(half, correction);
    let far_value = function(b, OpKind::Log, large);
    let far_value = b.addf(far_value, correction);
    let (low, high) = (real(b, -0.5), real(b, 1.0));
    let (near_low, near_high) = (b.cmpf(FloatPredicate::Ogt, excess, low), b.cmpf(FloatPredicate::Olt, excess, high));
    let near = b.andi(near_low, near_high);
    let value = b.select(near, near_value, far_value);
    let (a, c) = (is_infinite(b, x.re), is_infinite(b, x.im));
    let infinite = b.ori(a, c);
    let infinity = real(b, f64::INFINITY);
    b.select(infinite, infinity, value)
}

/// `log |x| + i arg x`
pub fn log(b: &mut FunctionBuilder, x: Parts) -> Parts {
    Parts { re: log_magnitude(b, x), im: b.float_binary(OpKind::Atan2, x.im, x.re) }
}

/// `log(1 + x)`; for small `x` from `|1 + x|² - 1 = re (re + 2) + im²`.
pub fn log1p(b: &mut FunctionBuilder, x: Parts) -> Parts {
    let (half, one, two) = (real(b, 0.5), real(b, 1.0), real(b, 2.0));
    let shifted = Parts { re: b.addf(x.re, one), im: x.im };
    let sum = b.addf(x.re, two);
    let product = b.mulf(x.re, sum);
    let square = b.mulf(x.im, x.im);
    let excess = b.addf(product, square);
    let near_value = function(b, OpKind::Log1p, excess);
    let near_value = b.mulf(half, near_value);
    let far_value = log_magnitude(b, shifted);
    let (large, _) = sizes(b, x);
    let near = b.cmpf(FloatPredicate::Olt, large, half);
    Parts { re: b.select(near, near_value, far_value), im: b.float_binary(OpKind::Atan2, x.im, shifted.re) }
}

/// From the larger of the result's parts, `t = sqrt((|re| + |x|) / 2)`; the other one is `im / 2t`.
pub fn sqrt(b: &mut FunctionBuilder, x: Parts) -> Parts {
    let (zero, half, one) = (real(b, 0.0), real(b, 0.5), real(b, 1.0));
    // Scaled by powers of 4 so that neither sum nor halves leave the range.
    let (large, _) = sizes(b, x);
    let (huge, tiny) = (real(b, 2f64.powi(1000)), real(b, 2f64.powi(-900)));
    let (is_huge, is_tiny) = (b.cmpf(FloatPredicate::Ogt, large, huge), b.cmpf(FloatPredicate::Olt, large, tiny));
    let (down, up) = (real(b, 2f64.powi(-100)), real(b, 2f64.powi(200)));
    let scale = b.select(is_tiny, up, one);
    let scale = b.select(is_huge, down, scale);
    let (down, up) = (real(b, 2f64.powi(50)), real(b, 2f64.powi(-100)));
    let back = b.select(is_tiny, up, one);
    let back = b.select(is_huge, down, back);
    let scaled = Parts { re: b.mulf(x.re, scale), im: b.mulf(x.im, scale) };
    let size = magnitude(b, scaled);
    let re = function(b, OpKind::AbsF, scaled.re);
    let sum = b.addf(re, size);
    let sum = b.mulf(sum, half);
    let t = function(b, OpKind::Sqrt, sum);
    let vanishes = b.cmpf(FloatPredicate::Oeq, t, zero);
    let twice = b.addf(t, t);
    // Only 0 has a root of size 0; that of NaN stays NaN.
    let divisor = b.select(vanishes, one, twice);
    let other = b.divf(scaled.im, divisor);
    let (t, other) = (b.mulf(t, back), b.mulf(other, back));
    let other_size = function(b, OpKind::AbsF, other);
    // On the cut itself the sign of the zero is not looked at, as in XLA.
    let below = b.cmpf(FloatPredicate::Olt, x.im, zero);
    let negated = b.negf(t);
    let signed = b.select(below, negated, t);
    let left = b.cmpf(FloatPredicate::Olt, x.re, zero);
    let result = choose(b, left, Parts { re: other_size, im: signed }, Parts { re: t, im: other });
    sqrt_of_infinity(b, x, result)
}

/// An infinite imaginary part wins; on an infinite real one the other part vanishes, or is NaN if the imaginary one is.
fn sqrt_of_infinity(b: &mut FunctionBuilder, x: Parts, result: Parts) -> Parts {
    let (zero, infinity) = (real(b, 0.0), real(b, f64::INFINITY));
    let small = b.float_binary(OpKind::CopySign, zero, x.im);
    let large = b.float_binary(OpKind::CopySign, infinity, x.im);
    let undirected = b.cmpf(FloatPredicate::Uno, x.im, x.im);
    let rest = b.select(undirected, x.im, zero);
    let small = b.select(undirected, x.im, small);
    let (re_infinite, im_infinite) = (is_infinite(b, x.re), is_infinite(b, x.im));
    let negative = b.cmpf(FloatPredicate::Olt, x.re, zero);
    let along = choose(b, negative, Parts { re: rest, im: large }, Parts { re: infinity, im: small });
    let result = choose(b, re_infinite, along, result);
    choose(b, im_infinite, Parts { re: infinity, im: x.im }, result)
}

struct Circular {
    sin: Value,
    cos: Value,
}

fn circular(b: &mut FunctionBuilder, x: Value, sin: OpKind, cos: OpKind) -> Circular {
    Circular { sin: function(b, sin, x), cos: function(b, cos, x) }
}

fn trigonometric(b: &mut FunctionBuilder, x: Value) -> Circular {
    circular(b, x, OpKind::Sin, OpKind::Cos)
}

fn hyperbolic(b: &mut FunctionBuilder, x: Value) -> Circular {
    circular(b, x, OpKind::Sinh, OpKind::Cosh)
}

/// A number whose hyperbolic functions do not overflow, and the factor by which they are too small. Beyond 40, sinh and
/// cosh are `e^|x| / 2`, so that a part of `x` can be taken out as a factor.
fn without_overflow(b: &mut FunctionBuilder, x: Value) -> (Value, Value) {
    let (limit, part) = (real(b, 700.0), real(b, 660.0));
    let size = function(b, OpKind::AbsF, x);
    let large = b.cmpf(FloatPredicate::Ogt, size, limit);
    let rest = b.subf(size, part);
    let rest = b.float_binary(OpKind::CopySign, rest, x);
    let (one, factor) = (real(b, 1.0), real(b, 660f64.exp()));
    (b.select(large, rest, x), b.select(large, factor, one))
}

/// `-i sinh(i x)`
pub fn sin(b: &mut FunctionBuilder, x: Parts) -> Parts {
    let turned = times_i(b, x);
    let result = sinh(b, turned);
    times_minus_i(b, result)
}

/// `cosh(i x)`
pub fn cos(b: &mut FunctionBuilder, x: Parts) -> Parts {
    let turned = times_i(b, x);
    cosh(b, turned)
}

/// `sinh re cos im + i cosh re sin im`; on the axes the part that is 0 stays what it is.
pub fn sinh(b: &mut FunctionBuilder, x: Parts) -> Parts {
    let zero = real(b, 0.0);
    let (reduced, factor) = without_overflow(b, x.re);
    let (h, t) = (hyperbolic(b, reduced), trigonometric(b, x.im));
    let (re, im) = (b.mulf(h.sin, t.cos), b.mulf(h.cos, t.sin));
    let (re, im) = (b.mulf(re, factor), b.mulf(im, factor));
    let on_imaginary = b.cmpf(FloatPredicate::Oeq, x.re, zero);
    let re = b.select(on_imaginary, x.re, re);
    let on_real = b.cmpf(FloatPredicate::Oeq, x.im, zero);
    let whole = b.mulf(h.sin, factor);
    choose(b, on_real, Parts { re: whole, im: x.im }, Parts { re, im })
}

/// `cosh re cos im + i sinh re sin im`; on the axes the imaginary part is 0.
pub fn cosh(b: &mut FunctionBuilder, x: Parts) -> Parts {
    let zero = real(b, 0.0);
    let (reduced, factor) = without_overflow(b, x.re);
    let (h, t) = (hyperbolic(b, reduced), trigonometric(b, x.im));
    let (re, im) = (b.mulf(h.cos, t.cos), b.mulf(h.sin, t.sin));
    let (re, im) = (b.mulf(re, factor), b.mulf(im, factor));
    let nothing = b.mulf(x.re, x.im);
    let (a, c) = (b.cmpf(FloatPredicate::Oeq, x.re, zero), b.cmpf(FloatPredicate::Oeq, x.im, zero));
    let on_axis = b.ori(a, c);
    Parts { re, im: b.select(on_axis, nothing, im) }
}

/// `i x`
pub fn times_i(b: &mut FunctionBuilder, x: Parts) -> Parts {
    Parts { re: b.negf(x.im), im: x.re }
}

/// `-i x`
pub fn times_minus_i(b: &mut FunctionBuilder, x: Parts) -> Parts {
    Parts { re: x.im, im: b.negf(x.re) }
}

/// `(sinh re cosh re + i sin im cos im) / (sinh² re + cos² im)`; far from the imaginary axis the real part is ±1
/// and the imaginary one `4 sin im cos im e^(-2|re|)`. On the real axis the imaginary part stays what it is.
pub fn tanh(b: &mut FunctionBuilder, x: Parts) -> Parts {
    let (one, four, limit) = (real(b, 1.0), real(b, 4.0), real(b, 22.0));
    let size = function(b, OpKind::AbsF, x.re);
    let far = b.cmpf(FloatPredicate::Ogt, size, limit);
    let zero = real(b, 0.0);
    let near_re = b.select(far, zero, x.re);
    let (h, t) = (hyperbolic(b, near_re), trigonometric(b, x.im));
    let (dividend, turn) = (b.mulf(h.sin, h.cos), b.mulf(t.sin, t.cos));
    let (sinh2, cos2) = (b.mulf(h.sin, h.sin), b.mulf(t.cos, t.cos));
    let divisor = b.addf(sinh2, cos2);
    let near = Parts { re: b.divf(dividend, divisor), im: b.divf(turn, divisor) };
    let doubled = b.addf(size, size);
    let doubled = b.negf(doubled);
    let decay = function(b, OpKind::Exp, doubled);
    let im = b.mulf(four, turn);
    let im = b.mulf(im, decay);
    let far_value = Parts { re: b.float_binary(OpKind::CopySign, one, x.re), im };
    let value = choose(b, far, far_value, near);
    // Without an angle: 1 at an infinite real part, NaN at a finite one.
    let (infinite, nowhere) = (is_infinite(b, x.re), b.subf(x.im, x.im));
    let undirected = b.cmpf(FloatPredicate::Uno, nowhere, nowhere);
    let limit = Parts { re: b.select(infinite, far_value.re, nowhere), im: b.select(infinite, zero, nowhere) };
    let value = choose(b, undirected, limit, value);
    let on_axis = b.cmpf(FloatPredicate::Oeq, x.im, zero);
    Parts { re: value.re, im: b.select(on_axis, x.im, value.im) }
}

/// `tan x = -i tanh(i x)`
pub fn tan(b: &mut FunctionBuilder, x: Parts) -> Parts {
    let turned = times_i(b, x);
    let result = tanh(b, turned);
    times_minus_i(b, result)
}

/// `e^(y log x)`; 1 to any power and anything to the power of 0 is 1, 0 to a positive real power is 0 and to
/// any other one NaN.
pub fn pow(b: &mut FunctionBuilder, x: Parts, y: Parts) -> Parts {
    let (zero, unit, nan) = (real(b, 0.0), real(b, 1.0), real(b, f64::NAN));
    let logarithm = log(b, x);
    let exponent = multiply(b, y, logarithm);
    let power = exp(b, exponent);
    let (x_zero, y_zero) = (is_zero(b, x), is_zero(b, y));
    let (positive, is_real) = (b.cmpf(FloatPredicate::Ogt, y.re, zero), b.cmpf(FloatPredicate::Oeq, y.im, zero));
    let vanishes = b.andi(positive, is_real);
    let of_zero = b.select(vanishes, zero, nan);
    let result = choose(b, x_zero, Parts { re: of_zero, im: of_zero }, power);
    let (re_one, im_zero) = (b.cmpf(FloatPredicate::Oeq, x.re, unit), b.cmpf(FloatPredicate::Oeq, x.im, zero));
    let x_one = b.andi(re_one, im_zero);
    let is_one = b.ori(x_one, y_zero);
    let one = constant(b, 1.0);
    choose(b, is_one, one, result)
}

/// `atan2(y, x) = -i log((x + i y) / sqrt(x² + y²))`
pub fn atan2(b: &mut FunctionBuilder, y: Parts, x: Parts) -> Parts {
    let (xx, yy) = (multiply(b, x, x), multiply(b, y, y));
    let squares = Parts { re: b.addf(xx.re, yy.re), im: b.addf(xx.im, yy.im) };
    let size = sqrt(b, squares);
    let point = Parts { re: b.subf(x.re, y.im), im: b.addf(x.im, y.re) };
    let unit = divide(b, point, size);
    let l = log(b, unit);
    Parts { re: l.im, im: b.negf(l.re) }
}
