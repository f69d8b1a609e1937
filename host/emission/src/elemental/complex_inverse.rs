//! Inverse functions of complex numbers, after Kahan. The formulas use square roots of the
//! distances to ±1, so that the sign of a zero selects the side of a branch cut.

use fusebox_core::builder::Term;

use super::complex_functions::{sqrt, times_i, times_minus_i};
use super::complex_pair::{ComplexPair, magnitude};

/// `sqrt(1 - x)` and `sqrt(1 + x)`.
fn roots(x: ComplexPair<'_>) -> (ComplexPair<'_>, ComplexPair<'_>) {
    let below = ComplexPair { re: 1.0 - x.re, im: -x.im };
    let above = ComplexPair { re: 1.0 + x.re, im: x.im };
    (sqrt(below), sqrt(above))
}

/// `conj(x) · y`
fn conjugate_product<'f>(x: ComplexPair<'f>, y: ComplexPair<'f>) -> ComplexPair<'f> {
    ComplexPair { re: x.re, im: -x.im } * y
}

fn twice_angle<'f>(y: Term<'f>, x: Term<'f>) -> Term<'f> {
    2.0 * y.atan2(x)
}

pub fn asin(x: ComplexPair<'_>) -> ComplexPair<'_> {
    let (below, above) = roots(x);
    let (product, turned) = (below * above, conjugate_product(below, above));
    ComplexPair { re: x.re.atan2(product.re), im: turned.im.asinh() }
}

pub fn acos(x: ComplexPair<'_>) -> ComplexPair<'_> {
    let (below, above) = roots(x);
    let turned = conjugate_product(above, below);
    ComplexPair { re: twice_angle(below.re, above.re), im: turned.im.asinh() }
}

/// `-i asin(i x)`
pub fn asinh(x: ComplexPair<'_>) -> ComplexPair<'_> {
    times_minus_i(asin(times_i(x)))
}

pub fn acosh(x: ComplexPair<'_>) -> ComplexPair<'_> {
    let (below, above) = (ComplexPair { re: x.re - 1.0, im: x.im }, ComplexPair { re: x.re + 1.0, im: x.im });
    let (below, above) = (sqrt(below), sqrt(above));
    let turned = conjugate_product(below, above);
    ComplexPair { re: turned.re.asinh(), im: twice_angle(below.im, above.re) }
}

/// `log1p(4 re / ((1 - re)² + im²)) / 4 + i atan2(2 im, (1 - re)(1 + re) - im²) / 2`
pub fn atanh(x: ComplexPair<'_>) -> ComplexPair<'_> {
    let (below, above) = (1.0 - x.re, 1.0 + x.re);
    let (square, height) = (below * below, x.im * x.im);
    let rest = square + height;
    let logarithm = (4.0 * x.re / rest).log1p();
    let (product, doubled) = (below * above, 2.0 * x.im);
    let angle = doubled.atan2(product - height);
    ComplexPair { re: 0.25 * logarithm, im: 0.5 * angle }
}

/// Computes the cube root whose angle is a third of the angle of `x`.
pub fn cbrt(x: ComplexPair<'_>) -> ComplexPair<'_> {
    let angle = x.im.atan2(x.re) / 3.0;
    let size = magnitude(x).cbrt();
    ComplexPair { re: angle.cos(), im: angle.sin() }.map(|part| size * part)
}
