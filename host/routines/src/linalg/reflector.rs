//! Householder reflectors in LAPACK's convention. A reflector is the matrix `H = I - tau v vᴴ`,
//! where the first element of `v` is one. A reflector is computed from a vector, and `Hᴴ` maps this
//! vector to a real multiple of the first unit vector.

use num_traits::Float;

use super::scalar::{Real, Scalar, precision, real, smallest};
use super::vectors::{inner_product, subtract_multiple};

/// Computes the reflector that maps the vector (`head`, `tail`) to a real multiple of the first
/// unit vector. Sets `head` to this multiple, and `tail` to the elements of `v` after the first.
/// Returns tau, which is zero if the vector already is a real multiple of the first unit vector.
#[inline(always)]
pub(crate) fn reflect<T: Scalar>(head: &mut T, tail: &mut [T]) -> T {
    let zero = real::<T::Real>(0.0);
    let mut length = norm(tail);
    if length == zero && head.im() == zero {
        return T::nothing();
    }
    let smallest = smallest::<T::Real>() / precision::<T::Real>();
    let mut beta = -signed(Float::hypot(head.modulus(), length), head.re());
    // If the vector is so short that rounding would lose its direction, scale the vector up.
    let mut enlarged = 0;
    while Float::abs(beta) < smallest && enlarged < 20 {
        let factor = real::<T::Real>(1.0) / smallest;
        tail.iter_mut().for_each(|x| *x = x.times_real(factor));
        *head = head.times_real(factor);
        length = norm(tail);
        beta = -signed(Float::hypot(head.modulus(), length), head.re());
        enlarged += 1;
    }
    let tau = T::of_parts((beta - head.re()) / beta, -head.im() / beta);
    let scale = T::unit().divided_by(*head - T::of_real(beta));
    tail.iter_mut().for_each(|x| *x *= scale);
    (0..enlarged).for_each(|_| beta *= smallest);
    *head = T::of_real(beta);
    tau
}

/// Returns `size` if `sign` is positive or +0, and `-size` if `sign` is negative or -0.
#[inline(always)]
pub(crate) fn signed<R: Real>(size: R, sign: R) -> R {
    if sign < real(0.0) || (sign == real(0.0) && Float::is_sign_negative(sign)) { -size } else { size }
}

/// Returns the Euclidean norm of a vector, without intermediate overflow.
#[inline(always)]
pub(crate) fn norm<T: Scalar>(x: &[T]) -> T::Real {
    let square = inner_product(x, x).re();
    let low = smallest::<T::Real>() / (precision::<T::Real>() * precision::<T::Real>());
    if Float::is_nan(square) || (square > low && square < Float::max_value()) {
        return Float::sqrt(square);
    }
    let largest = x.iter().map(|z| z.parts_sum()).fold(real::<T::Real>(0.0), |a, b| if a >= b { a } else { b });
    if largest == real(0.0) || !Float::is_finite(largest) {
        return largest;
    }
    let squares = x.iter().map(|z| {
        let (re, im) = (z.re() / largest, z.im() / largest);
        re * re + im * im
    });
    largest * Float::sqrt(squares.fold(real::<T::Real>(0.0), |a, b| a + b))
}

/// Applies `I - factor v vᴴ` to `vector`, where `v = (1, tail)`.
#[inline(always)]
pub(crate) fn apply<T: Scalar>(factor: T, tail: &[T], vector: &mut [T]) {
    let Some((head, rest)) = vector.split_first_mut() else {
        return;
    };
    let product = factor * (*head + inner_product(tail, rest));
    *head -= product;
    subtract_multiple(rest, product, tail);
}
