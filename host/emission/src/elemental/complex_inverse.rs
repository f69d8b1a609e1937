//! Inverse functions of complex numbers, after Kahan: from square roots of the distances to ±1, so that the
//! branch cuts come out on the side that the sign of a zero names.

use fusebox_core::builder::{FunctionBuilder, OpKind, Scalar, Value};

use super::complex::{Parts, magnitude, multiply};
use super::complex_functions::{sqrt, times_i, times_minus_i};

/// `sqrt(1 - x)` and `sqrt(1 + x)`.
fn roots(b: &mut FunctionBuilder, x: Parts) -> (Parts, Parts) {
    let one = b.float(1.0, Scalar::F64);
    let below = Parts { re: b.subf(one, x.re), im: b.negf(x.im) };
    let above = Parts { re: b.addf(one, x.re), im: x.im };
    (sqrt(b, below), sqrt(b, above))
}

/// `conj(x) · y`
fn conjugate_product(b: &mut FunctionBuilder, x: Parts, y: Parts) -> Parts {
    let conjugate = Parts { re: x.re, im: b.negf(x.im) };
    multiply(b, conjugate, y)
}

fn asinh_of(b: &mut FunctionBuilder, x: Value) -> Value {
    b.float_unary(OpKind::Asinh, x)
}

fn twice_angle(b: &mut FunctionBuilder, y: Value, x: Value) -> Value {
    let (two, angle) = (b.float(2.0, Scalar::F64), b.float_binary(OpKind::Atan2, y, x));
    b.mulf(two, angle)
}

/// Arc sine.
pub fn asin(b: &mut FunctionBuilder, x: Parts) -> Parts {
    let (below, above) = roots(b, x);
    let (product, turned) = (multiply(b, below, above), conjugate_product(b, below, above));
    Parts { re: b.float_binary(OpKind::Atan2, x.re, product.re), im: asinh_of(b, turned.im) }
}

/// Arc cosine.
pub fn acos(b: &mut FunctionBuilder, x: Parts) -> Parts {
    let (below, above) = roots(b, x);
    let turned = conjugate_product(b, above, below);
    Parts { re: twice_angle(b, below.re, above.re), im: asinh_of(b, turned.im) }
}

/// `-i asin(i x)`
pub fn asinh(b: &mut FunctionBuilder, x: Parts) -> Parts {
    let turned = times_i(b, x);
    let result = asin(b, turned);
    times_minus_i(b, result)
}

/// Inverse hyperbolic cosine.
pub fn acosh(b: &mut FunctionBuilder, x: Parts) -> Parts {
    let one = b.float(1.0, Scalar::F64);
    let (below, above) = (Parts { re: b.subf(x.re, one), im: x.im }, Parts { re: b.addf(x.re, one), im: x.im });
    let (below, above) = (sqrt(b, below), sqrt(b, above));
    let turned = conjugate_product(b, below, above);
    Parts { re: asinh_of(b, turned.re), im: twice_angle(b, below.im, above.re) }
}

/// `log1p(4 re / ((1 - re)² + im²)) / 4 + i atan2(2 im, (1 - re)(1 + re) - im²) / 2`
pub fn atanh(b: &mut FunctionBuilder, x: Parts) -> Parts {
    let (quarter, half) = (b.float(0.25, Scalar::F64), b.float(0.5, Scalar::F64));
    let (one, two, four) = (b.float(1.0, Scalar::F64), b.float(2.0, Scalar::F64), b.float(4.0, Scalar::F64));
    let (below, above) = (b.subf(one, x.re), b.addf(one, x.re));
    let (square, height) = (b.mulf(below, below), b.mulf(x.im, x.im));
    let rest = b.addf(square, height);
    let dividend = b.mulf(four, x.re);
    let ratio = b.divf(dividend, rest);
    let logarithm = b.float_unary(OpKind::Log1p, ratio);
    let (product, doubled) = (b.mulf(below, above), b.mulf(two, x.im));
    let width = b.subf(product, height);
    let angle = b.float_binary(OpKind::Atan2, doubled, width);
    Parts { re: b.mulf(quarter, logarithm), im: b.mulf(half, angle) }
}

/// The root whose angle is a third of the number's.
pub fn cbrt(b: &mut FunctionBuilder, x: Parts) -> Parts {
    let three = b.float(3.0, Scalar::F64);
    let angle = b.float_binary(OpKind::Atan2, x.im, x.re);
    let angle = b.divf(angle, three);
    let size = magnitude(b, x);
    let size = b.float_unary(OpKind::Cbrt, size);
    let (cos, sin) = (b.float_unary(OpKind::Cos, angle), b.float_unary(OpKind::Sin, angle));
    Parts { re: b.mulf(size, cos), im: b.mulf(size, sin) }
}
