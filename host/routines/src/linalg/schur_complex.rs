//! Computes the Schur form of a complex Hessenberg matrix by QR iteration with single shifts.

use num_traits::Float;

use super::matrix::Matrix;
use super::scalar::{Scalar, precision, real, smallest};
use super::vectors::wide;

/// Converts the Hessenberg matrix `h` to its upper triangular Schur form. Multiplies `q` from the
/// right by the unitary matrix of this transformation.
///
/// If the iteration does not converge, the error is the number of the last row that has not
/// converged, counted from 1. If the iteration does not converge, the content of `h` is undefined
/// on return.
pub(crate) fn iterate<T: Scalar>(h: &mut Matrix<T>, q: &mut Matrix<T>) -> Result<(), usize> {
    wide(
        #[inline(always)]
        || all_rows(h, q),
    )
}

#[inline(always)]
fn all_rows<T: Scalar>(h: &mut Matrix<T>, q: &mut Matrix<T>) -> Result<(), usize> {
    let n = h.rows();
    let limit = 30 * n.max(10);
    let (mut end, mut rounds) = (n, 0);
    while end > 1 {
        let last = end - 1;
        let start = first_of_block(h, last);
        if start > 0 {
            h[(start, start - 1)] = T::nothing();
        }
        if start == last {
            (end, rounds) = (last, 0);
            continue;
        }
        rounds += 1;
        if rounds > limit {
            return Err(end);
        }
        let shift = match rounds {
            _ if rounds % 20 == 0 => {
                h[(start, start)] + T::of_real(real::<T::Real>(0.75) * h[(start + 1, start)].parts_sum())
            }
            _ if rounds % 10 == 0 => {
                h[(last, last)] + T::of_real(real::<T::Real>(0.75) * h[(last, last - 1)].parts_sum())
            }
            _ => wilkinson(h, last),
        };
        sweep(h, q, start, last, shift);
    }
    Ok(())
}

/// Returns the first row of the unreduced diagonal block that ends with row `last`. If the returned
/// row is not row 0, its subdiagonal element is negligible.
#[inline(always)]
fn first_of_block<T: Scalar>(h: &Matrix<T>, last: usize) -> usize {
    let n = h.rows();
    let ulp = precision::<T::Real>();
    let tiny = smallest::<T::Real>() * (real::<T::Real>(n as f64) / ulp);
    let size = |i: usize, j: usize| h[(i, j)].parts_sum();
    for k in (1..=last).rev() {
        let below = size(k, k - 1);
        if below <= tiny {
            return k;
        }
        let mut around = size(k - 1, k - 1) + size(k, k);
        if around == real(0.0) {
            around += if k >= 2 { size(k - 1, k - 2) } else { real(0.0) };
            around += if k + 1 < n { size(k + 1, k) } else { real(0.0) };
        }
        if below <= ulp * around {
            // Apply the stricter criterion of Ahues and Tisseur.
            let above = size(k - 1, k);
            let difference = (h[(k - 1, k - 1)] - h[(k, k)]).parts_sum();
            let (large, small) = (Float::max(below, above), Float::min(below, above));
            let (outer, inner) = (Float::max(size(k, k), difference), Float::min(size(k, k), difference));
            let sum = outer + large;
            if small * (large / sum) <= Float::max(tiny, ulp * (inner * (outer / sum))) {
                return k;
            }
        }
    }
    0
}

/// Returns one of the two eigenvalues of the 2 × 2 block in rows `last - 1` and `last`: the
/// eigenvalue that is nearer to the last diagonal element of the block.
#[inline(always)]
fn wilkinson<T: Scalar>(h: &Matrix<T>, last: usize) -> T {
    let (a, b) = (h[(last - 1, last - 1)], h[(last - 1, last)]);
    let (c, d) = (h[(last, last - 1)], h[(last, last)]);
    let size = b.parts_sum() + c.parts_sum() + (a - d).parts_sum();
    if size == real(0.0) {
        return d;
    }
    let scale = real::<T::Real>(1.0) / size;
    let half = (a - d).times_real(scale * real::<T::Real>(0.5));
    let product = b.times_real(scale) * c.times_real(scale);
    let root = T::sqrt_impl(&(half * half + product));
    let (plus, minus) = (half + root, half - root);
    let is_plus_larger = half.re() * root.re() + half.im() * root.im() >= real(0.0);
    let larger = if is_plus_larger { plus } else { minus };
    // Divide the product of both roots by the larger root, which yields the smaller root without
    // cancellation.
    let change = if larger.parts_sum() == real(0.0) { T::nothing() } else { product.divided_by(larger) };
    d - change.times_real(size)
}

/// Executes one QR iteration on the block of rows `start..=last`, as a sequence of rotations of
/// adjacent rows and columns.
#[inline(always)]
fn sweep<T: Scalar>(h: &mut Matrix<T>, q: &mut Matrix<T>, start: usize, last: usize, shift: T) {
    for k in start..last {
        let (x, y) = if k == start { (h[(k, k)] - shift, h[(k + 1, k)]) } else { (h[(k, k - 1)], h[(k + 1, k - 1)]) };
        let length = Float::hypot(x.modulus(), y.modulus());
        if length == real(0.0) {
            continue;
        }
        let scale = real::<T::Real>(1.0) / length;
        let (c, s) = (x.times_real(scale), y.times_real(scale));
        if k > start {
            h[(k, k - 1)] = T::of_real(length);
            h[(k + 1, k - 1)] = T::nothing();
        }
        for j in k..h.columns() {
            if let [x, y] = &mut h.column_mut(j)[k..k + 2] {
                (*x, *y) = (c.conjugate() * *x + s.conjugate() * *y, c * *y - s * *x);
            }
        }
        let turn = |m: &mut Matrix<T>, end: usize| {
            let [x, y] = m.neighbours::<2>(k);
            for (x, y) in x[..end].iter_mut().zip(&mut y[..end]) {
                (*x, *y) = (c * *x + s * *y, c.conjugate() * *y - s.conjugate() * *x);
            }
        };
        turn(h, (k + 3).min(last + 1));
        let all = q.rows();
        turn(q, all);
    }
}
