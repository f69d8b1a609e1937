//! Complex numbers in `f64`. The caller rounds the real and imaginary parts to the element type.

use fusebox_core::hlo::{BinaryOp, Comparison};

use super::elementary::{LongSum, two_product};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Complex {
    pub re: f64,
    pub im: f64,
}

const HALF: f64 = 0.5;

pub(crate) const fn complex(re: f64, im: f64) -> Complex {
    Complex { re, im }
}

/// Applies a binary operation. Returns `None` if the operation does not exist on complex numbers.
#[inline]
pub(super) fn binary(op: BinaryOp, a: Complex, b: Complex) -> Option<Complex> {
    Some(match op {
        BinaryOp::Add => a.add(b),
        BinaryOp::Subtract => a.subtract(b),
        BinaryOp::Multiply => a.multiply(b),
        BinaryOp::Divide => a.divide(b),
        BinaryOp::Power => a.power(b),
        BinaryOp::Atan2 => a.atan2(b),
        BinaryOp::Maximum if compare(Comparison::Ge, a, b) => a,
        BinaryOp::Minimum if compare(Comparison::Le, a, b) => a,
        BinaryOp::Maximum | BinaryOp::Minimum => b,
        _ => return None,
    })
}

/// Compares by real parts, then by imaginary parts. If a part that decides the comparison is NaN,
/// the numbers are unordered.
#[inline]
pub(super) fn compare(direction: Comparison, a: Complex, b: Complex) -> bool {
    let tied = a.re == b.re;
    match direction {
        Comparison::Eq => a == b,
        Comparison::Ne => a != b,
        Comparison::Lt => a.re < b.re || tied && a.im < b.im,
        Comparison::Le => a.re < b.re || tied && a.im <= b.im,
        Comparison::Gt => a.re > b.re || tied && a.im > b.im,
        Comparison::Ge => a.re > b.re || tied && a.im >= b.im,
    }
}

impl Complex {
    pub const ZERO: Complex = complex(0.0, 0.0);
    pub const ONE: Complex = complex(1.0, 0.0);

    #[inline]
    pub fn add(self, z: Complex) -> Complex {
        complex(self.re + z.re, self.im + z.im)
    }

    #[inline]
    pub fn subtract(self, z: Complex) -> Complex {
        complex(self.re - z.re, self.im - z.im)
    }

    /// Multiplies by the plain formula, without a correction of infinities. XLA does not correct
    /// infinities either.
    #[inline]
    pub fn multiply(self, z: Complex) -> Complex {
        complex(self.re * z.re - self.im * z.im, self.re * z.im + self.im * z.re)
    }

    /// Multiplies by a real number.
    #[inline]
    pub fn scale(self, factor: f64) -> Complex {
        complex(self.re * factor, self.im * factor)
    }

    /// Divides. For zero and infinite divisors, the quotient follows Annex G of the C standard.
    pub fn divide(self, z: Complex) -> Complex {
        let exponent = scale_exponent(z);
        let (c, d) = (libm::scalbn(z.re, -exponent), libm::scalbn(z.im, -exponent));
        let (a, b) = (self.re, self.im);
        let denominator = c * c + d * d;
        let re = libm::scalbn((a * c + b * d) / denominator, -exponent);
        let im = libm::scalbn((b * c - a * d) / denominator, -exponent);
        if !re.is_nan() || !im.is_nan() {
            return complex(re, im);
        }
        if denominator == 0.0 && (!a.is_nan() || !b.is_nan()) {
            let infinity = f64::INFINITY.copysign(c);
            complex(infinity * a, infinity * b)
        } else if (a.is_infinite() || b.is_infinite()) && c.is_finite() && d.is_finite() {
            let (a, b) = (unit_if_infinite(a), unit_if_infinite(b));
            complex(f64::INFINITY * (a * c + b * d), f64::INFINITY * (b * c - a * d))
        } else if (z.re.is_infinite() || z.im.is_infinite()) && a.is_finite() && b.is_finite() {
            let (c, d) = (unit_if_infinite(z.re), unit_if_infinite(z.im));
            complex(0.0 * (a * c + b * d), 0.0 * (b * c - a * d))
        } else {
            complex(re, im)
        }
    }

    #[inline]
    pub fn negate(self) -> Complex {
        complex(-self.re, -self.im)
    }

    #[inline]
    pub fn conjugate(self) -> Complex {
        complex(self.re, -self.im)
    }

    fn times_i(self) -> Complex {
        complex(-self.im, self.re)
    }

    fn times_minus_i(self) -> Complex {
        complex(self.im, -self.re)
    }

    pub fn abs(self) -> f64 {
        self.re.hypot(self.im)
    }

    pub fn sign(self) -> Complex {
        if self == Complex::default() {
            return self;
        }
        let magnitude = self.abs();
        complex(self.re / magnitude, self.im / magnitude)
    }

    pub fn exp(self) -> Complex {
        if self.im == 0.0 {
            return complex(self.re.exp(), self.im);
        }
        if self.re == f64::NEG_INFINITY && !self.im.is_finite() {
            return complex(0.0, 0.0);
        }
        // If `exp` overflows, a small sine or cosine may still bring the product back into range.
        let (scale, rest) = if self.re > 700.0 { (700f64.exp(), self.re - 700.0) } else { (1.0, self.re) };
        let magnitude = rest.exp();
        complex(magnitude * self.im.cos() * scale, magnitude * self.im.sin() * scale)
    }

    pub fn exp_m1(self) -> Complex {
        let half_sine = (self.im * HALF).sin();
        let re = self.re.exp_m1() * self.im.cos() - 2.0 * half_sine * half_sine;
        complex(re, if self.im == 0.0 { self.im } else { self.re.exp() * self.im.sin() })
    }

    pub fn logistic(self) -> Complex {
        Complex::ONE.divide(Complex::ONE.add(self.negate().exp()))
    }

    /// Computes the natural logarithm. The branch cut is the negative real axis.
    pub fn ln(self) -> Complex {
        if self.re.is_nan() || self.im.is_nan() {
            // If one part is NaN and the other part is infinite, the absolute value is infinite.
            return complex(self.abs(), f64::NAN);
        }
        let (x, y) = (self.re.abs().max(self.im.abs()), self.re.abs().min(self.im.abs()));
        let re = if x > 0.5 && x < 2.0 && y < 2.0 { HALF * norm_minus_one(x, y).ln_1p() } else { self.ln_abs() };
        complex(re, self.im.atan2(self.re))
    }

    fn ln_abs(self) -> f64 {
        let magnitude = self.abs();
        if magnitude.is_finite() && (1e-300..1e300).contains(&magnitude) || magnitude == 0.0 || !self.is_finite() {
            magnitude.ln()
        } else {
            let exponent = scale_exponent(self);
            complex(libm::scalbn(self.re, -exponent), libm::scalbn(self.im, -exponent)).abs().ln()
                + f64::from(exponent) * std::f64::consts::LN_2
        }
    }

    fn is_finite(self) -> bool {
        self.re.is_finite() && self.im.is_finite()
    }

    pub fn ln_1p(self) -> Complex {
        let im = self.im.atan2(1.0 + self.re);
        if self.abs() < 1.0 {
            let mut sum = LongSum::new(2.0 * self.re);
            sum.add_product(self.re, self.re);
            sum.add_product(self.im, self.im);
            return complex(HALF * sum.value().ln_1p(), im);
        }
        complex(complex(1.0 + self.re, self.im).ln().re, im)
    }

    /// Computes the square root with non-negative real part.
    pub fn sqrt(self) -> Complex {
        // On the branch cut, XLA ignores the sign of a zero imaginary part.
        self.sqrt_on_side(if self.im < 0.0 { -1.0 } else { 1.0 })
    }

    pub fn rsqrt(self) -> Complex {
        Complex::ONE.divide(self.sqrt_on_side(self.im))
    }

    /// Computes the square root. If `self` has a negative real part, the root's imaginary part has
    /// the sign of `side`.
    fn sqrt_on_side(self, side: f64) -> Complex {
        let (x, y) = (self.re, self.im);
        if x == 0.0 && y == 0.0 {
            return complex(0.0, y);
        }
        if y.is_infinite() {
            return complex(f64::INFINITY, y);
        }
        if x.is_infinite() {
            let nan_or_zero = if y.is_nan() { f64::NAN } else { 0.0 };
            return if x > 0.0 {
                complex(x, nan_or_zero.copysign(y))
            } else {
                complex(nan_or_zero.abs(), f64::INFINITY.copysign(y))
            };
        }
        let exponent = scale_exponent(self) & !1;
        let (x, y) = (libm::scalbn(x, -exponent), libm::scalbn(y, -exponent));
        let root = (HALF * (x.abs() + x.hypot(y))).sqrt();
        let (re, im) = if x >= 0.0 { (root, y / (2.0 * root)) } else { (y.abs() / (2.0 * root), root.copysign(side)) };
        complex(libm::scalbn(re, exponent / 2), libm::scalbn(im, exponent / 2))
    }

    pub fn cbrt(self) -> Complex {
        let angle = self.im.atan2(self.re) / 3.0;
        let magnitude = self.abs().cbrt();
        complex(magnitude * angle.cos(), magnitude * angle.sin())
    }

    pub fn sinh(self) -> Complex {
        if self.im == 0.0 {
            return complex(self.re.sinh(), self.im);
        }
        let (sine, cosine) = self.im.sin_cos();
        let (scale, x) = if self.re.abs() > 700.0 { (700f64.exp(), self.re.abs() - 700.0) } else { (1.0, 0.0) };
        if scale > 1.0 {
            let half_exp = HALF * x.exp();
            return complex((half_exp * cosine * scale).copysign(self.re * cosine), half_exp * sine * scale);
        }
        let re = if self.re == 0.0 { self.re } else { self.re.sinh() * cosine };
        complex(re, self.re.cosh() * sine)
    }

    pub fn cosh(self) -> Complex {
        let (sine, cosine) = self.im.sin_cos();
        if self.re.abs() > 700.0 {
            let half_exp = HALF * (self.re.abs() - 700.0).exp();
            let scale = 700f64.exp();
            return complex(half_exp * cosine * scale, half_exp * sine * scale * self.re.signum());
        }
        let im = if self.im == 0.0 || self.re == 0.0 { self.im * self.re } else { self.re.sinh() * sine };
        complex(self.re.cosh() * cosine, im)
    }

    /// Computes the hyperbolic tangent by Annex G of the C standard. If the real part is infinite,
    /// the result is ±1 regardless of the imaginary part. If the real part is finite and the
    /// imaginary part is infinite or NaN, the result is NaN.
    pub fn tanh(self) -> Complex {
        if self.im == 0.0 {
            return complex(self.re.tanh(), self.im);
        }
        if self.re.is_infinite() && !self.im.is_finite() {
            return complex(1f64.copysign(self.re), 0.0);
        }
        if self.re.abs() > 22.0 && self.im.is_finite() {
            let im = 4.0 * self.im.sin() * self.im.cos() * (-2.0 * self.re.abs()).exp();
            return complex(1f64.copysign(self.re), im);
        }
        let tangent = self.im.tan();
        let sine = self.re.sinh();
        let beta = 1.0 + tangent * tangent;
        if beta.is_infinite() {
            return complex((1.0 + sine * sine).sqrt() / sine, 1.0 / tangent);
        }
        let denominator = 1.0 + beta * sine * sine;
        complex(beta * (1.0 + sine * sine).sqrt() * sine / denominator, tangent / denominator)
    }

    pub fn sin(self) -> Complex {
        self.times_i().sinh().times_minus_i()
    }

    pub fn cos(self) -> Complex {
        self.times_i().cosh()
    }

    pub fn tan(self) -> Complex {
        self.times_i().tanh().times_minus_i()
    }

    /// Returns `sqrt(1 - z)` and `sqrt(1 + z)`. The sign of a zero imaginary part selects the side
    /// of a branch cut.
    fn roots(self) -> (Complex, Complex) {
        (complex(1.0 - self.re, -self.im).sqrt(), complex(1.0 + self.re, self.im).sqrt())
    }

    pub fn asin(self) -> Complex {
        let (below, above) = self.roots();
        complex(self.re.atan2(below.multiply(above).re), libm::asinh(below.conjugate().multiply(above).im))
    }

    pub fn asinh(self) -> Complex {
        self.times_i().asin().times_minus_i()
    }

    pub fn acos(self) -> Complex {
        let (below, above) = self.roots();
        complex(2.0 * below.re.atan2(above.re), libm::asinh(above.conjugate().multiply(below).im))
    }

    pub fn acosh(self) -> Complex {
        let (below, above) = (complex(self.re - 1.0, self.im).sqrt(), complex(self.re + 1.0, self.im).sqrt());
        complex(libm::asinh(below.conjugate().multiply(above).re), 2.0 * below.im.atan2(above.re))
    }

    pub fn atanh(self) -> Complex {
        let (x, y) = (self.re, self.im);
        let rest = (1.0 - x) * (1.0 - x) + y * y;
        let re = 0.25 * (4.0 * x / rest).ln_1p();
        complex(re, HALF * (2.0 * y).atan2((1.0 - x) * (1.0 + x) - y * y))
    }

    /// Computes `self^z`. The power is 1 if `z` is 0 or `self` is 1. Zero to a positive real power
    /// is 0.
    fn power(self, z: Complex) -> Complex {
        if z == Complex::default() || self == Complex::ONE {
            return Complex::ONE;
        }
        if self == Complex::default() {
            return if z.re > 0.0 && z.im == 0.0 { Complex::default() } else { complex(f64::NAN, f64::NAN) };
        }
        z.multiply(self.ln()).exp()
    }

    /// Computes `-i log((x + iy) / sqrt(x² + y²))` with `self` as `y`.
    fn atan2(self, x: Complex) -> Complex {
        let norm = x.multiply(x).add(self.multiply(self)).sqrt();
        x.add(self.times_i()).divide(norm).ln().times_minus_i()
    }
}

/// Returns the binary exponent of the larger part of `z`. Dividing this part by 2 to the power of
/// the exponent gives a number near 1. Returns 0 for zero, infinities and NaN.
fn scale_exponent(z: Complex) -> i32 {
    let larger = z.re.abs().max(z.im.abs());
    if larger == 0.0 || !larger.is_finite() { 0 } else { libm::ilogb(larger) }
}

fn unit_if_infinite(x: f64) -> f64 {
    if x.is_infinite() { 1f64.copysign(x) } else { 0f64.copysign(x) }
}

/// Computes `x² + y² - 1` without cancellation.
fn norm_minus_one(x: f64, y: f64) -> f64 {
    let (x_square, x_error) = two_product(x, x);
    let (y_square, y_error) = two_product(y, y);
    let mut sum = LongSum::new(-1.0);
    [x_square, y_square, x_error, y_error].into_iter().for_each(|term| sum.add(term));
    sum.value()
}
