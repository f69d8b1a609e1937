//! Computes QR factorisations, and multiplies by the reflectors of a factorisation.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, Par};
use num_traits::Float;

use super::matrix::Matrix;
use super::reflector::{apply, norm, reflect};
use super::scalar::{Scalar, precision, real};
use super::vectors::wide;
use crate::{RoutineError, Workers, try_for_each};

/// Number of reflectors that are combined into one product, which is then applied to the rest of
/// the matrix.
const BLOCK: usize = 32;
/// Minimum number of columns for which reflectors are combined into blocks.
const NARROW: usize = 48;
/// Minimum number of multiplications per piece. Several threads update the pieces of a matrix.
const PIECE: usize = 1 << 20;

/// Replaces a matrix by its QR factorisation. R is stored on and above the diagonal, and the tails
/// of the reflectors are stored below the diagonal. Returns the taus.
pub(crate) fn factorise<T: Scalar>(a: &mut Matrix<T>, workers: &dyn Workers) -> Result<Vec<T>, RoutineError> {
    let (size, columns) = (a.rows().min(a.columns()), a.columns());
    let mut taus = Vec::with_capacity(size);
    let block = if columns < NARROW { columns.max(1) } else { BLOCK };
    for start in (0..size).step_by(block) {
        let end = (start + block).min(size);
        // In a narrow matrix, each reflector is applied directly to all following columns.
        let panel = if columns < NARROW { columns } else { end };
        wide(
            #[inline(always)]
            || (start..end).for_each(|j| taus.push(eliminate(a, j, panel))),
        );
        if panel < columns {
            let reflectors = Reflectors::new(a, start, &taus[start..])?;
            reflectors.apply(a, end, true, workers)?;
        }
    }
    Ok(taus)
}

/// Computes the reflector that eliminates column `j` below the diagonal. Applies this reflector to
/// columns `j + 1..end`. Returns the tau of this reflector.
#[inline(always)]
fn eliminate<T: Scalar>(a: &mut Matrix<T>, j: usize, end: usize) -> T {
    let height = a.rows();
    let (left, right) = a.split_at_column(j + 1);
    let (above, tail) = left[j * height..].split_at_mut(j + 1);
    let tau = reflect(&mut above[j], tail);
    for column in right.chunks_exact_mut(height).take(end - j - 1) {
        apply(tau.conjugate(), tail, &mut column[j..]);
    }
    tau
}

/// A product of consecutive reflectors, in the form `I - V T Vᴴ`.
struct Reflectors<T> {
    /// The first row that the reflectors change.
    start: usize,
    v: Matrix<T>,
    t: Matrix<T>,
}

impl<T: Scalar> Reflectors<T> {
    /// Computes the product of as many reflectors as there are taus. The tails of the reflectors
    /// are below the diagonal of `a`. The first tail is in column `start`.
    fn new(a: &Matrix<T>, start: usize, taus: &[T]) -> Result<Self, RoutineError> {
        let (height, count) = (a.rows() - start, taus.len());
        let mut v = Matrix::zeros(height, count)?;
        for j in 0..count {
            let column = v.column_mut(j);
            column[j] = T::unit();
            column[j + 1..].copy_from_slice(&a.column(start + j)[start + j + 1..]);
        }
        let mut products = Matrix::zeros(count, count)?;
        matmul(products.view_mut(), Accum::Replace, v.view().adjoint(), v.view(), T::unit(), Par::Seq);
        let mut t = Matrix::zeros(count, count)?;
        for (j, tau) in taus.iter().enumerate() {
            for i in 0..j {
                let inner = (i..j).fold(T::nothing(), |sum, k| sum + t[(i, k)] * products[(k, j)]);
                t[(i, j)] = -(*tau * inner);
            }
            t[(j, j)] = *tau;
        }
        Ok(Reflectors { start, v, t })
    }

    /// Multiplies column `first` and the following columns of `c` by the product, or by the adjoint
    /// of the product.
    fn apply(&self, c: &mut Matrix<T>, first: usize, adjoint: bool, workers: &dyn Workers) -> Result<(), RoutineError> {
        let (height, count) = (c.rows(), self.t.rows());
        let (_, columns) = c.split_at_column(first);
        if columns.is_empty() {
            return Ok(());
        }
        let width = (PIECE / (self.v.rows() * count) + 1).next_multiple_of(16).min(columns.len() / height);
        let t = if adjoint { self.t.view().adjoint().to_owned() } else { self.t.view().to_owned() };
        try_for_each(workers, columns.chunks_mut(width * height).collect(), |piece| {
            let width = piece.len() / height;
            let mut inner = Matrix::zeros(count, width)?;
            let mut turned = Matrix::zeros(count, width)?;
            let piece = MatMut::from_column_major_slice_mut(piece, height, width);
            let mut piece = piece.subrows_mut(self.start, height - self.start);
            matmul(inner.view_mut(), Accum::Replace, self.v.view().adjoint(), piece.as_ref(), T::unit(), Par::Seq);
            matmul(turned.view_mut(), Accum::Replace, t.as_ref(), inner.view(), T::unit(), Par::Seq);
            matmul(piece.as_mut(), Accum::Add, self.v.view(), turned.view(), -T::unit(), Par::Seq);
            Ok(())
        })
    }
}

/// Returns the first columns of the product of the reflectors in `a`. The result has the shape of
/// `a`. The tails of the reflectors are below the diagonal of `a`.
pub(crate) fn unitary<T: Scalar>(a: &Matrix<T>, taus: &[T], workers: &dyn Workers) -> Result<Matrix<T>, RoutineError> {
    let mut q = Matrix::zeros(a.rows(), a.columns())?;
    (0..a.rows().min(a.columns())).for_each(|i| q[(i, i)] = T::unit());
    if a.columns() < NARROW {
        wide(
            #[inline(always)]
            || {
                for (j, tau) in taus.iter().enumerate().rev() {
                    let tail = &a.column(j)[j + 1..];
                    (j..q.columns()).for_each(|c| apply(*tau, tail, &mut q.column_mut(c)[j..]));
                }
            },
        );
        return Ok(q);
    }
    for start in (0..taus.len()).step_by(BLOCK).rev() {
        let end = (start + BLOCK).min(taus.len());
        // The columns of `q` before `start` are still columns of the identity, and these reflectors
        // do not change such columns.
        Reflectors::new(a, start, &taus[start..end])?.apply(&mut q, start, false, workers)?;
    }
    Ok(q)
}

/// Multiplies `c` from the left by the product of the reflectors in `a`, or by the adjoint of this
/// product.
pub(crate) fn apply_unitary<T: Scalar>(
    a: &Matrix<T>,
    taus: &[T],
    adjoint: bool,
    c: &mut Matrix<T>,
    workers: &dyn Workers,
) -> Result<(), RoutineError> {
    let mut blocks: Vec<usize> = (0..taus.len()).step_by(BLOCK).collect();
    if !adjoint {
        blocks.reverse();
    }
    blocks.into_iter().try_for_each(|start| {
        let end = (start + BLOCK).min(taus.len());
        Reflectors::new(a, start, &taus[start..end])?.apply(c, 0, adjoint, workers)
    })
}

/// The column order and the taus of a factorisation with column pivoting.
pub(crate) struct ColumnPivots<T> {
    /// For each column of the factorised matrix, the original number of this column, counted from
    /// 0.
    pub order: Vec<usize>,
    pub taus: Vec<T>,
}

/// Factorises as [`factorise`] does, but also exchanges columns, so that the magnitudes on the
/// diagonal of R decrease. Columns for which `fixed` returns true come first, and their diagonal
/// elements may have any magnitude.
pub(crate) fn factorise_pivoted<T: Scalar>(a: &mut Matrix<T>, fixed: impl Fn(usize) -> bool) -> ColumnPivots<T> {
    wide(
        #[inline(always)]
        || pivoted(a, fixed),
    )
}

#[inline(always)]
fn pivoted<T: Scalar>(a: &mut Matrix<T>, fixed: impl Fn(usize) -> bool) -> ColumnPivots<T> {
    let columns = a.columns();
    let size = a.rows().min(columns);
    let mut order: Vec<usize> = (0..columns).collect();
    let mut leading = 0;
    for c in (0..columns).filter(|&c| fixed(c)) {
        a.swap_columns(c, leading);
        order.swap(c, leading);
        leading += 1;
    }
    let mut taus = Vec::with_capacity(size);
    taus.extend((0..leading.min(size)).map(|j| eliminate(a, j, columns)));
    let from = taus.len();
    // For each column, the norm of the part that is not eliminated yet. `lengths` are updated in
    // every iteration. `computed` holds the norms that were last computed from the elements.
    let mut lengths: Vec<T::Real> = (0..columns).map(|c| norm(&a.column(c)[from..])).collect();
    let mut computed = lengths.clone();
    let (zero, one) = (real::<T::Real>(0.0), real::<T::Real>(1.0));
    let cancelled = Float::sqrt(precision::<T::Real>());
    for j in from..size {
        let longest = (j..columns).fold(j, |best, c| if lengths[c] > lengths[best] { c } else { best });
        a.swap_columns(j, longest);
        order.swap(j, longest);
        lengths[longest] = lengths[j];
        computed[longest] = computed[j];
        taus.push(eliminate(a, j, columns));
        for c in j + 1..columns {
            if lengths[c] == zero {
                continue;
            }
            let ratio = a[(j, c)].modulus() / lengths[c];
            let left = Float::max(one - ratio * ratio, zero);
            let drift = lengths[c] / computed[c];
            if left * drift * drift <= cancelled {
                lengths[c] = norm(&a.column(c)[j + 1..]);
                computed[c] = lengths[c];
            } else {
                lengths[c] *= Float::sqrt(left);
            }
        }
    }
    ColumnPivots { order, taus }
}
