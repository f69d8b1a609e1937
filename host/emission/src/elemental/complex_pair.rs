//! Complex numbers as pairs of parts: arithmetic, magnitudes, and quotients as in C99.

use std::ops::{Add, Div, Mul, Neg, Sub};

use fusebox_core::builder::{Scalar, Term};
use fusebox_core::hlo::ElementType;

/// A complex number as two parts of the same float type. Products are computed as
/// `(ac - bd) + (ad + bc)i` in the type of the parts. Quotients are scaled.
#[derive(Clone, Copy)]
pub struct ComplexPair<'f> {
    pub re: Term<'f>,
    pub im: Term<'f>,
}

impl<'f> ComplexPair<'f> {
    /// Returns the parts without conversion.
    pub fn of(x: Term<'f>) -> ComplexPair<'f> {
        ComplexPair { re: x.re(), im: x.im() }
    }

    /// Returns the parts as `f64`.
    pub fn wide(x: Term<'f>) -> ComplexPair<'f> {
        ComplexPair::of(x).map(|part| part.extf(Scalar::F64))
    }

    /// Returns the real number `value`, with parts of the same type as those of `self`.
    pub fn real(self, value: f64) -> ComplexPair<'f> {
        ComplexPair { re: self.re.number(value), im: self.re.number(0.0) }
    }

    pub fn map(self, change: impl Fn(Term<'f>) -> Term<'f>) -> ComplexPair<'f> {
        ComplexPair { re: change(self.re), im: change(self.im) }
    }

    pub fn joined(self) -> Term<'f> {
        self.re.complex(self.im)
    }

    /// Rounds the parts to type `ty` and joins them.
    pub fn rounded(self, ty: ElementType) -> Term<'f> {
        self.map(|part| rounded(ty, part)).joined()
    }

    pub fn is_zero(self) -> Term<'f> {
        self.re.eq(0.0) & self.im.eq(0.0)
    }

    pub fn is_infinite(self) -> Term<'f> {
        is_infinite(self.re) | is_infinite(self.im)
    }

    /// Returns the larger and the smaller of the parts' absolute values.
    pub fn sizes(self) -> (Term<'f>, Term<'f>) {
        let (re, im) = (self.re.absf(), self.im.absf());
        (re.maximumf(im), re.minimumf(im))
    }
}

impl<'f> Neg for ComplexPair<'f> {
    type Output = ComplexPair<'f>;
    fn neg(self) -> ComplexPair<'f> {
        self.map(|part| -part)
    }
}

impl<'f> Add for ComplexPair<'f> {
    type Output = ComplexPair<'f>;
    fn add(self, y: ComplexPair<'f>) -> ComplexPair<'f> {
        ComplexPair { re: self.re + y.re, im: self.im + y.im }
    }
}

impl<'f> Sub for ComplexPair<'f> {
    type Output = ComplexPair<'f>;
    fn sub(self, y: ComplexPair<'f>) -> ComplexPair<'f> {
        ComplexPair { re: self.re - y.re, im: self.im - y.im }
    }
}

impl<'f> Mul for ComplexPair<'f> {
    type Output = ComplexPair<'f>;
    fn mul(self, y: ComplexPair<'f>) -> ComplexPair<'f> {
        let (ac, bd) = (self.re * y.re, self.im * y.im);
        let (ad, bc) = (self.re * y.im, self.im * y.re);
        ComplexPair { re: ac - bd, im: ad + bc }
    }
}

impl<'f> Div for ComplexPair<'f> {
    type Output = ComplexPair<'f>;
    fn div(self, y: ComplexPair<'f>) -> ComplexPair<'f> {
        scaled_quotient(self, y)
    }
}

pub fn rounded(ty: ElementType, part: Term<'_>) -> Term<'_> {
    part.truncf(Scalar::of_element(ty.real_part()))
}

pub fn choose<'f>(condition: Term<'f>, x: ComplexPair<'f>, y: ComplexPair<'f>) -> ComplexPair<'f> {
    ComplexPair { re: condition.select(x.re, y.re), im: condition.select(x.im, y.im) }
}

/// Whether a real number is infinite.
pub fn is_infinite(x: Term<'_>) -> Term<'_> {
    x.absf().eq(f64::INFINITY)
}

/// Computes `|x|` for parts whose squares neither overflow nor underflow. If a part is infinite,
/// the result is infinite, regardless of the other part.
pub fn plain_magnitude(x: ComplexPair<'_>) -> Term<'_> {
    let size = (x.re * x.re + x.im * x.im).sqrt();
    x.is_infinite().select(f64::INFINITY, size)
}

/// Computes `|x|`, scaled by the larger part. If a part is infinite, the result is infinite,
/// regardless of the other part.
pub fn magnitude(x: ComplexPair<'_>) -> Term<'_> {
    let (large, small) = x.sizes();
    let ratio = small / large.eq(0.0).select(1.0, large);
    let size = large * (1.0 + ratio * ratio).sqrt();
    x.is_infinite().select(f64::INFINITY, size)
}

/// Computes `x / y` with the divisor scaled to a size of about 1. If both parts of the quotient are
/// NaN although an operand is 0 or infinite, returns the result that C99's annex G defines.
fn scaled_quotient<'f>(x: ComplexPair<'f>, y: ComplexPair<'f>) -> ComplexPair<'f> {
    let (scale, _) = y.sizes();
    let usable = scale.gt(0.0) & scale.lt(f64::INFINITY);
    let scale = usable.select(scale, scale.number(1.0));
    let quotient = plain_quotient(x, y.map(|part| part / scale)).map(|part| part / scale);
    recovered_quotient(x, y, quotient)
}

/// Computes `x / y` for a divisor whose parts' squares neither overflow nor underflow.
pub fn plain_quotient<'f>(x: ComplexPair<'f>, y: ComplexPair<'f>) -> ComplexPair<'f> {
    let size = y.re * y.re + y.im * y.im;
    conjugate_product(x, y).map(|part| part / size)
}

pub fn recovered_quotient<'f>(x: ComplexPair<'f>, y: ComplexPair<'f>, quotient: ComplexPair<'f>) -> ComplexPair<'f> {
    let both_nan = quotient.re.is_nan() & quotient.im.is_nan();
    // A number divided by 0 is infinite, with the signs of its parts.
    let by_zero = y.is_zero();
    let signed = x.re.number(f64::INFINITY).copysign(y.re);
    let over_zero = x.map(|part| signed * part);
    // If one operand is infinite and the other finite, only signs and infinities matter.
    let (x_infinite, y_infinite) = (x.is_infinite(), y.is_infinite());
    let (x_unit, y_unit) = (infinite_parts(x), infinite_parts(y));
    let large = conjugate_product(x_unit, y).map(|part| f64::INFINITY * part);
    let small = conjugate_product(x, y_unit).map(|part| 0.0 * part);
    let both_infinite = x_infinite & y_infinite;
    let result = choose(y_infinite, small, quotient);
    let result = choose(x_infinite, large, result);
    let result = choose(both_infinite, quotient, result);
    let result = choose(by_zero, over_zero, result);
    choose(both_nan, result, quotient)
}

/// Replaces an infinite part by 1 and a finite part by 0. Keeps the signs of the parts.
fn infinite_parts(x: ComplexPair<'_>) -> ComplexPair<'_> {
    x.map(|part| is_infinite(part).select(1.0, part.number(0.0)).copysign(part))
}

/// `x · conj(y)`
fn conjugate_product<'f>(x: ComplexPair<'f>, y: ComplexPair<'f>) -> ComplexPair<'f> {
    let (ac, bd) = (x.re * y.re, x.im * y.im);
    let (bc, ad) = (x.im * y.re, x.re * y.im);
    ComplexPair { re: ac + bd, im: bc - ad }
}
