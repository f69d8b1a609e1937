//! Cholesky factorisation.

use num_traits::Float;

use super::matrix::Matrix;
use super::product::{Triangle, solve_triangle, subtract_product_below};
use super::scalar::{Scalar, real};
use super::vectors::{halves, subtract_multiple, wide};
use crate::{RoutineError, Workers};

/// Maximum number of columns that are factorised column by column. A larger number of columns is
/// split into two halves.
const NARROW: usize = 16;
/// Number of columns that are factorised before the rest of the matrix is updated.
const BLOCK: usize = 128;

/// Replaces the lower triangle of a Hermitian matrix by its Cholesky factor. The upper triangle is
/// unchanged.
///
/// If the matrix is not positive definite, returns the order of the first leading minor that is not
/// positive. Orders are counted from 1. If the matrix is not positive definite, the content of the
/// lower triangle is undefined on return.
pub(crate) fn factorise<T: Scalar>(a: &mut Matrix<T>, workers: &dyn Workers) -> Result<Option<usize>, RoutineError> {
    let n = a.rows();
    for start in (0..n).step_by(BLOCK) {
        let end = (start + BLOCK).min(n);
        if let Some(order) = block(a, start, end, workers)? {
            return Ok(Some(order));
        }
        update(a, start, end, n, workers)?;
    }
    Ok(None)
}

/// Factorises the diagonal block of rows and columns `start..end`. Factorises the first half of the
/// block, updates the second half, and then factorises the second half.
fn block<T: Scalar>(
    a: &mut Matrix<T>,
    start: usize,
    end: usize,
    workers: &dyn Workers,
) -> Result<Option<usize>, RoutineError> {
    let Some((first, second)) = halves(start..end, NARROW) else {
        return Ok(wide(
            #[inline(always)]
            || narrow(a, start, end),
        ));
    };
    if let Some(order) = block(a, first.start, first.end, workers)? {
        return Ok(Some(order));
    }
    update(a, start, second.start, end, workers)?;
    block(a, second.start, second.end, workers)
}

/// Computes a panel of the factor: rows `middle..end` of columns `start..middle`. Multiplies this
/// panel by its adjoint, and subtracts the product from rows and columns `middle..end` of the
/// matrix.
fn update<T: Scalar>(
    a: &mut Matrix<T>,
    start: usize,
    middle: usize,
    end: usize,
    workers: &dyn Workers,
) -> Result<(), RoutineError> {
    if middle == end {
        return Ok(());
    }
    let mut panel = Matrix::zeros(middle - start, end - middle)?;
    for j in start..middle {
        let column = &a.column(j)[middle..end];
        column.iter().enumerate().for_each(|(i, z)| panel[(j - start, i)] = z.conjugate());
    }
    let factor = a.part(start..middle, start..middle);
    solve_triangle(factor, Triangle::LOWER, panel.elements_mut(), workers)?;
    for j in start..middle {
        let column = &mut a.column_mut(j)[middle..end];
        column.iter_mut().enumerate().for_each(|(i, z)| *z = panel[(j - start, i)].conjugate());
    }
    subtract_product_below(a, middle..end, start..middle, workers)
}

#[inline(always)]
fn narrow<T: Scalar>(a: &mut Matrix<T>, start: usize, end: usize) -> Option<usize> {
    let height = a.rows();
    for j in start..end {
        let pivot = a[(j, j)].re();
        // A NaN pivot is an error. An infinite pivot is valid, as in LAPACK. The elements below an
        // infinite pivot become zero.
        let is_positive = pivot > real(0.0);
        if !is_positive {
            return Some(j + 1);
        }
        let root = Float::sqrt(pivot);
        a[(j, j)] = T::of_real(root);
        a.column_mut(j)[j + 1..end].iter_mut().for_each(|z| *z = T::of_parts(z.re() / root, z.im() / root));
        let (left, right) = a.split_at_column(j + 1);
        let column = &left[j * height..][..end];
        for (c, rest) in (j + 1..end).zip(right.chunks_exact_mut(height)) {
            subtract_multiple(&mut rest[c..end], column[c].conjugate(), &column[c..]);
        }
    }
    None
}
