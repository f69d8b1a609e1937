//! Computes eigenvectors of Schur forms.
//!
//! An eigenvector is computed by substitution, which starts at the row of the eigenvalue. If the
//! matrix does not have a full set of eigenvectors, elements may grow until they overflow. The
//! substitution therefore scales a vector with large elements down. The scale is arbitrary, because
//! only the direction of the vector matters.

use std::ops::Range;

use num_traits::Float;

use super::matrix::Matrix;
use super::scalar::{Scalar, precision, real, smallest};
use super::vectors::wide;

/// Conversion from the element type `E` of a Schur form to the element type of its eigenvectors.
/// The eigenvectors of real eigenvalues have real elements.
pub(crate) trait Embed<E>: Scalar {
    fn embed(element: E) -> Self;
}

impl<T: Scalar> Embed<T> for T {
    #[inline(always)]
    fn embed(element: T) -> T {
        element
    }
}

impl Embed<f32> for num_complex::Complex<f32> {
    #[inline(always)]
    fn embed(element: f32) -> Self {
        element.into()
    }
}

impl Embed<f64> for num_complex::Complex<f64> {
    #[inline(always)]
    fn embed(element: f64) -> Self {
        element.into()
    }
}

/// Selects left or right eigenvectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EigenvectorSide {
    Left,
    Right,
}

/// A quasi-triangular matrix. The diagonal blocks of the matrix have one or two rows. Below the
/// diagonal, only the diagonal blocks of two rows have a nonzero element.
pub(crate) struct SchurForm<'a, E: Scalar> {
    t: &'a Matrix<E>,
    /// Minimum magnitude of a pivot. A pivot of smaller magnitude is replaced by this minimum.
    least: E::Real,
}

impl<'a, E: Scalar> SchurForm<'a, E> {
    pub fn new(t: &'a Matrix<E>) -> Self {
        let n = t.rows();
        let column = |j: usize| t.column(j)[..(j + 2).min(n)].iter().map(|z| z.parts_sum());
        let largest = (0..n).flat_map(column).fold(real::<E::Real>(0.0), Float::max);
        let least = Float::max(largest * precision::<E::Real>(), smallest::<E::Real>() / precision::<E::Real>());
        SchurForm { t, least }
    }

    /// Whether rows `i` and `i + 1` form a block.
    #[inline(always)]
    pub fn is_block(&self, i: usize) -> bool {
        i + 1 < self.t.rows() && self.t[(i + 1, i)] != E::nothing()
    }

    /// Computes the elements of an eigenvector outside the rows `given`, which are the rows of the
    /// eigenvalue. On entry, the elements in the rows `given` are set, and all other elements are
    /// zero.
    pub fn complete<S: Embed<E> + Scalar<Real = E::Real>>(
        &self,
        value: S,
        side: EigenvectorSide,
        x: &mut [S],
        given: Range<usize>,
    ) {
        match side {
            EigenvectorSide::Right => self.complete_right(value, &mut x[..given.end], given.start),
            EigenvectorSide::Left => self.complete_left(value, x, given),
        }
    }

    /// Computes the elements of a right eigenvector in the rows before `end`.
    fn complete_right<S: Embed<E> + Scalar<Real = E::Real>>(&self, value: S, x: &mut [S], end: usize) {
        wide(
            #[inline(always)]
            || {
                for (j, factor) in (end..x.len()).map(|j| (j, x[j])).collect::<Vec<_>>() {
                    self.subtract_column(j, end, factor, x);
                }
                let mut rest = end;
                while rest > 0 {
                    let block = rest >= 2 && self.is_block(rest - 2);
                    let first = if block { rest - 2 } else { rest - 1 };
                    if block {
                        self.solve_block(first, value, x, false);
                    } else {
                        x[first] = self.divide(x[first], S::embed(self.t[(first, first)]) - value);
                    }
                    shrink(x, first, rest);
                    for j in first..rest {
                        let factor = x[j];
                        self.subtract_column(j, first, factor, x);
                    }
                    rest = first;
                }
            },
        );
    }

    /// Computes the elements of a left eigenvector in the rows after `given`.
    fn complete_left<S: Embed<E> + Scalar<Real = E::Real>>(&self, value: S, x: &mut [S], given: Range<usize>) {
        wide(
            #[inline(always)]
            || {
                let value = value.conjugate();
                let mut done = given.end;
                while done < x.len() {
                    let block = self.is_block(done);
                    let next = if block { done + 2 } else { done + 1 };
                    for j in done..next {
                        x[j] = -product(&self.t.column(j)[given.start..done], &x[given.start..done]);
                    }
                    if block {
                        self.solve_block(done, value, x, true);
                    } else {
                        x[done] = self.divide(x[done], S::embed(self.t[(done, done)]).conjugate() - value);
                    }
                    shrink(x, done, next);
                    done = next;
                }
            },
        );
    }

    #[inline(always)]
    fn subtract_column<S: Embed<E>>(&self, j: usize, end: usize, factor: S, x: &mut [S]) {
        x[..end].iter_mut().zip(self.t.column(j)).for_each(|(x, t)| *x -= S::embed(*t) * factor);
    }

    #[inline(always)]
    fn divide<S: Scalar<Real = E::Real>>(&self, x: S, pivot: S) -> S {
        let pivot = if pivot.parts_sum() < self.least { S::of_real(self.least) } else { pivot };
        x.divided_by(pivot)
    }

    /// Solves, with complete pivoting, the two equations of the diagonal block in rows `i` and `i +
    /// 1`. If `transpose` is true, solves the equations of the transposed block.
    #[inline(always)]
    fn solve_block<S>(&self, i: usize, value: S, x: &mut [S], transpose: bool)
    where
        S: Embed<E> + Scalar<Real = E::Real>,
    {
        let element = |r: usize, c: usize| S::embed(self.t[(i + r, i + c)]);
        let (a, d) = (element(0, 0) - value, element(1, 1) - value);
        let (b, c) = if transpose { (element(1, 0), element(0, 1)) } else { (element(0, 1), element(1, 0)) };
        let sizes = [a.parts_sum(), b.parts_sum(), c.parts_sum(), d.parts_sum()];
        let largest = (1..4).fold(0, |best, k| if sizes[k] > sizes[best] { k } else { best });
        // Move the largest element to the first position.
        let (swap_rows, swap_columns) = (largest >= 2, largest % 2 == 1);
        let [[a, b], [c, d]] = match (swap_rows, swap_columns) {
            (false, false) => [[a, b], [c, d]],
            (false, true) => [[b, a], [d, c]],
            (true, false) => [[c, d], [a, b]],
            (true, true) => [[d, c], [b, a]],
        };
        let (u, v) = if swap_rows { (x[i + 1], x[i]) } else { (x[i], x[i + 1]) };
        let a = if a.parts_sum() < self.least { S::of_real(self.least) } else { a };
        let factor = c.divided_by(a);
        let second = self.divide(v - factor * u, d - factor * b);
        let first = (u - b * second).divided_by(a);
        (x[i], x[i + 1]) = if swap_columns { (second, first) } else { (first, second) };
    }
}

/// Returns the sum of the products of the conjugated elements of `column` and the elements of `x`.
#[inline(always)]
fn product<E: Scalar, S: Embed<E>>(column: &[E], x: &[S]) -> S {
    const LANES: usize = 8;
    let mut sums = [S::nothing(); LANES];
    let (columns, column_rest) = column.as_chunks::<LANES>();
    let (x, x_rest) = x.as_chunks::<LANES>();
    for (t, x) in columns.iter().zip(x) {
        (0..LANES).for_each(|k| sums[k] += S::embed(t[k].conjugate()) * x[k]);
    }
    for (sum, (t, x)) in sums.iter_mut().zip(column_rest.iter().zip(x_rest)) {
        *sum += S::embed(t.conjugate()) * *x;
    }
    sums.into_iter().fold(S::nothing(), |all, sum| all + sum)
}

/// Scales the vector `x` down if its elements `from..to` are large.
#[inline(always)]
fn shrink<S: Scalar>(x: &mut [S], from: usize, to: usize) {
    let largest = x[from..to].iter().map(|z| z.parts_sum()).fold(real::<S::Real>(0.0), Float::max);
    if largest > real::<S::Real>(1.0) / precision::<S::Real>() {
        let factor = real::<S::Real>(1.0) / largest;
        x.iter_mut().for_each(|z| *z = z.times_real(factor));
    }
}

/// Normalises the columns: multiplies each column by a factor, so that the length of the column
/// becomes one and its largest element becomes real.
pub(crate) fn normalise<S: Scalar>(vectors: &mut Matrix<S>) {
    for j in 0..vectors.columns() {
        let column = vectors.column_mut(j);
        let length = super::reflector::norm(column);
        if length == real(0.0) {
            continue;
        }
        let inverse = real::<S::Real>(1.0) / length;
        column.iter_mut().for_each(|z| *z = z.times_real(inverse));
        let size = |z: &S| z.modulus_squared();
        let largest =
            (0..column.len()).fold(0, |best, i| if size(&column[i]) > size(&column[best]) { i } else { best });
        let turn = column[largest].conjugate().times_real(real::<S::Real>(1.0) / column[largest].modulus());
        if column[largest].im() != real(0.0) {
            column.iter_mut().for_each(|z| *z *= turn);
        }
        column[largest] = S::of_real(column[largest].re());
    }
}
