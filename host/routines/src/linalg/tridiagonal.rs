//! Reduces Hermitian matrices to tridiagonal form, and solves tridiagonal systems.

use super::matrix::Matrix;
use super::reflector::reflect;
use super::scalar::{Scalar, real};
use super::vectors::{add_multiple, inner_product, subtract_multiple, wide};
use crate::{RoutineError, scratch};

/// The real tridiagonal form of a Hermitian matrix, and the taus of the reflectors that reduce the
/// matrix to this form.
#[derive(Debug)]
pub(crate) struct TridiagonalForm<T: Scalar> {
    pub diagonal: Vec<T::Real>,
    pub off_diagonal: Vec<T::Real>,
    pub taus: Vec<T>,
}

/// Reduces a Hermitian matrix to tridiagonal form. `a` holds the matrix in its lower triangle. On
/// return, the lower triangle of `a` holds the diagonals of the form and the tails of the
/// reflectors. The upper triangle of `a` is unchanged.
pub(crate) fn reduce<T: Scalar>(a: &mut Matrix<T>) -> Result<TridiagonalForm<T>, RoutineError> {
    let n = a.rows();
    let mut full = a.copy()?;
    for j in 0..n {
        full[(j, j)] = T::of_real(full[(j, j)].re());
        (j + 1..n).for_each(|i| full[(j, i)] = full[(i, j)].conjugate());
    }
    let mut taus = scratch(n.saturating_sub(1))?;
    let mut products = scratch(n)?;
    wide(
        #[inline(always)]
        || (0..n.saturating_sub(1)).for_each(|j| taus[j] = step(a, &mut full, j, &mut products)),
    );
    (0..n).for_each(|j| a[(j, j)] = full[(j, j)]);
    let off_diagonal = (1..n).map(|j| a[(j, j - 1)].re()).collect();
    Ok(TridiagonalForm { diagonal: (0..n).map(|j| full[(j, j)].re()).collect(), off_diagonal, taus })
}

/// Computes the reflector that eliminates column `j` of `full` below the subdiagonal. Stores the
/// reflector in `a`, applies it from both sides to the following rows and columns of `full`, and
/// returns its tau. Unlike `a`, `full` holds both triangles of the Hermitian matrix.
#[inline(always)]
fn step<T: Scalar>(a: &mut Matrix<T>, full: &mut Matrix<T>, j: usize, products: &mut [T]) -> T {
    let below = &mut a.column_mut(j)[j + 1..];
    below.copy_from_slice(&full.column(j)[j + 1..]);
    let Some((head, tail)) = below.split_first_mut() else {
        return T::nothing();
    };
    let tau = reflect(head, tail);
    let v = |i: usize| if i == 0 { T::unit() } else { tail[i - 1] };
    let products = &mut products[j + 1..];
    products.fill(T::nothing());
    for i in 0..=tail.len() {
        add_multiple(products, tau * v(i), &full.column(j + 1 + i)[j + 1..]);
    }
    // This correction makes it possible to apply the reflector from both sides by one update of
    // rank two.
    let along = products[0].conjugate() + inner_product(&products[1..], tail);
    let half = -(tau * along).times_real(real(0.5));
    products[0] += half;
    add_multiple(&mut products[1..], half, tail);
    for i in 0..=tail.len() {
        let column = &mut full.column_mut(j + 1 + i)[j + 1..];
        let (by_v, by_w) = (products[i].conjugate(), v(i).conjugate());
        column[0] -= by_v;
        subtract_multiple(&mut column[1..], by_v, tail);
        subtract_multiple(column, by_w, products);
        column[i] = T::of_real(column[i].re());
    }
    tau
}

/// A tridiagonal matrix. [`TridiagonalSystem::solve`] replaces the matrix by its factors, as LAPACK
/// does.
#[derive(Debug)]
pub(crate) struct TridiagonalSystem<T> {
    /// The diagonal below the main diagonal. Element `i` is in row `i + 1` and column `i`.
    pub lower: Vec<T>,
    pub diagonal: Vec<T>,
    /// The diagonal above the main diagonal. Element `i` is in row `i` and column `i + 1`.
    pub upper: Vec<T>,
}

impl<T: Scalar> TridiagonalSystem<T> {
    /// Solves the system by elimination with partial pivoting, and replaces the right-hand sides by
    /// the solutions. `right` has one row per equation, and each row has `count` elements, one per
    /// right-hand side. Returns the number of the first row with a zero pivot, counted from 1.
    /// Returns 0 if no pivot is zero.
    pub fn solve(&mut self, right: &mut [T], count: usize) -> usize {
        wide(
            #[inline(always)]
            || {
                let singular = self.eliminate(right, count);
                if singular == 0 {
                    self.substitute(right, count);
                }
                singular
            },
        )
    }

    #[inline(always)]
    fn eliminate(&mut self, right: &mut [T], count: usize) -> usize {
        let n = self.diagonal.len();
        let zero = T::nothing();
        for k in 0..n.saturating_sub(1) {
            if self.lower[k] == zero {
                if self.diagonal[k] == zero {
                    return k + 1;
                }
                continue;
            }
            let (above, below) = right[k * count..][..2 * count].split_at_mut(count);
            if self.diagonal[k].parts_sum() >= self.lower[k].parts_sum() {
                let factor = self.lower[k].divided_by(self.diagonal[k]);
                let next = self.upper[k];
                self.diagonal[k + 1] -= factor * next;
                below.iter_mut().zip(above).for_each(|(below, above)| *below -= factor * *above);
                self.lower[k] = zero;
            } else {
                let factor = self.exchange(k);
                for (above, below) in above.iter_mut().zip(below) {
                    let (old, new) = (*above, *below);
                    *above = new;
                    *below = old - factor * new;
                }
            }
        }
        if n > 0 && self.diagonal[n - 1] == zero { n } else { 0 }
    }

    /// Exchanges rows `k` and `k + 1`, and then eliminates column `k` from row `k + 1`. The
    /// elimination subtracts a multiple of row `k` from row `k + 1`. Returns the factor by which
    /// row `k` is multiplied before the subtraction.
    #[inline(always)]
    fn exchange(&mut self, k: usize) -> T {
        let factor = self.diagonal[k].divided_by(self.lower[k]);
        self.diagonal[k] = self.lower[k];
        let below = self.diagonal[k + 1];
        self.diagonal[k + 1] = self.upper[k] - factor * below;
        self.lower[k] = T::nothing();
        if k + 2 < self.diagonal.len() {
            self.lower[k] = self.upper[k + 1];
            self.upper[k + 1] = -(factor * self.lower[k]);
        }
        self.upper[k] = below;
        factor
    }

    #[inline(always)]
    fn substitute(&self, right: &mut [T], count: usize) {
        let n = self.diagonal.len();
        for k in (0..n).rev() {
            let (row, below) = right[k * count..].split_at_mut(count);
            if k + 1 < n {
                row.iter_mut().zip(&below[..count]).for_each(|(x, next)| *x -= self.upper[k] * *next);
            }
            if k + 2 < n {
                // `lower` now holds the second superdiagonal. The row exchanges have created its
                // elements.
                row.iter_mut().zip(&below[count..]).for_each(|(x, after)| *x -= self.lower[k] * *after);
            }
            row.iter_mut().for_each(|x| *x = x.divided_by(self.diagonal[k]));
        }
    }
}
