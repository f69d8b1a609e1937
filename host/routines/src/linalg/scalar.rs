//! Element types of matrices: real and complex numbers, in single and double precision.

use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

use bytemuck::Pod;
use faer::traits::{ComplexField, RealField};
use num_complex::Complex;
use num_traits::Float;

/// A real number.
pub(crate) trait Real: RealField + Float + Pod + Send + Sync + std::fmt::Debug {}

/// A real or complex number.
pub(crate) trait Scalar:
    ComplexField<Real: Real>
    + Pod
    + Send
    + Sync
    + std::fmt::Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
{
    /// Creates a number from its real and imaginary parts. A real type ignores `im`.
    fn of_parts(re: Self::Real, im: Self::Real) -> Self;
    fn re(self) -> Self::Real;
    fn im(self) -> Self::Real;
    fn conjugate(self) -> Self;
    fn times_real(self, factor: Self::Real) -> Self;

    /// Returns the absolute value, without intermediate overflow.
    fn modulus(self) -> Self::Real;

    /// Divides without intermediate overflow.
    fn divided_by(self, divisor: Self) -> Self;

    fn of_real(re: Self::Real) -> Self {
        Self::of_parts(re, real(0.0))
    }

    fn nothing() -> Self {
        Self::of_real(real(0.0))
    }

    fn unit() -> Self {
        Self::of_real(real(1.0))
    }

    fn not_a_number() -> Self {
        Self::of_parts(real(f64::NAN), real(f64::NAN))
    }

    /// Returns `|re| + |im|`, which LAPACK uses as a cheap measure of magnitude.
    #[inline(always)]
    fn parts_sum(self) -> Self::Real {
        Float::abs(self.re()) + Float::abs(self.im())
    }

    #[inline(always)]
    fn modulus_squared(self) -> Self::Real {
        self.re() * self.re() + self.im() * self.im()
    }

    fn has_nan_or_infinity(self) -> bool {
        !(Float::is_finite(self.re()) && Float::is_finite(self.im()))
    }
}

/// Converts a constant to a real number.
#[inline(always)]
pub(crate) fn real<R: Real>(value: f64) -> R {
    R::from_f64_impl(value)
}

/// Returns the distance between one and the next larger number.
pub(crate) fn precision<R: Real>() -> R {
    Float::epsilon()
}

/// Returns the smallest positive normal number.
pub(crate) fn smallest<R: Real>() -> R {
    Float::min_positive_value()
}

impl Real for f32 {}
impl Real for f64 {}

macro_rules! scalar {
    ($real:ty) => {
        impl Scalar for $real {
            #[inline(always)]
            fn of_parts(re: $real, _: $real) -> Self {
                re
            }
            #[inline(always)]
            fn re(self) -> $real {
                self
            }
            #[inline(always)]
            fn im(self) -> $real {
                0.0
            }
            #[inline(always)]
            fn conjugate(self) -> Self {
                self
            }
            #[inline(always)]
            fn times_real(self, factor: $real) -> Self {
                self * factor
            }
            #[inline(always)]
            fn modulus(self) -> $real {
                self.abs()
            }
            #[inline(always)]
            fn divided_by(self, divisor: Self) -> Self {
                self / divisor
            }
        }

        impl Scalar for Complex<$real> {
            #[inline(always)]
            fn of_parts(re: $real, im: $real) -> Self {
                Complex { re, im }
            }
            #[inline(always)]
            fn re(self) -> $real {
                self.re
            }
            #[inline(always)]
            fn im(self) -> $real {
                self.im
            }
            #[inline(always)]
            fn conjugate(self) -> Self {
                self.conj()
            }
            #[inline(always)]
            fn times_real(self, factor: $real) -> Self {
                self.scale(factor)
            }
            #[inline(always)]
            fn modulus(self) -> $real {
                self.re.hypot(self.im)
            }
            fn divided_by(self, divisor: Self) -> Self {
                // Smith's algorithm: first divide by the part of the divisor that has the larger
                // magnitude.
                let (a, b, c, d) = (self.re, self.im, divisor.re, divisor.im);
                if c.abs() >= d.abs() {
                    let ratio = d / c;
                    let whole = c + d * ratio;
                    Complex { re: (a + b * ratio) / whole, im: (b - a * ratio) / whole }
                } else {
                    let ratio = c / d;
                    let whole = c * ratio + d;
                    Complex { re: (a * ratio + b) / whole, im: (b * ratio - a) / whole }
                }
            }
        }
    };
}

scalar!(f32);
scalar!(f64);
