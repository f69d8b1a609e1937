//! Reduces square matrices to Hessenberg form.

use super::matrix::Matrix;
use super::qr::unitary;
use super::reflector::{apply, reflect};
use super::scalar::Scalar;
use super::vectors::{add_multiple, subtract_multiple, wide};
use crate::{RoutineError, Workers, scratch};

/// Replaces a matrix by its Hessenberg form. Stores the tails of the reflectors below the first
/// subdiagonal. Outside rows and columns `low..high`, the matrix must already be upper triangular.
/// Returns the taus. The number of taus is one less than the number of rows.
pub(crate) fn reduce<T: Scalar>(a: &mut Matrix<T>, low: usize, high: usize) -> Result<Vec<T>, RoutineError> {
    let mut taus = scratch(a.rows().saturating_sub(1))?;
    let mut products = scratch(a.rows())?;
    wide(
        #[inline(always)]
        || (low..high.saturating_sub(1)).for_each(|j| taus[j] = step(a, j, high, &mut products)),
    );
    Ok(taus)
}

#[inline(always)]
fn step<T: Scalar>(a: &mut Matrix<T>, j: usize, high: usize, products: &mut [T]) -> T {
    let height = a.rows();
    let (left, right) = a.split_at_column(j + 1);
    let (above, below) = left[j * height..].split_at_mut(j + 2);
    let tail = &mut below[..high - j - 2];
    let tau = reflect(&mut above[j + 1], tail);
    let products = &mut products[..high];
    products.fill(T::nothing());
    let mut columns = right.chunks_exact_mut(height).take(high - j - 1);
    let first = columns.next().into_iter();
    first.for_each(|column| add_multiple(products, T::unit(), &column[..high]));
    for (column, v) in columns.zip(tail.iter()) {
        add_multiple(products, *v, &column[..high]);
    }
    products.iter_mut().for_each(|x| *x *= tau);
    let mut columns = right.chunks_exact_mut(height).take(high - j - 1);
    let first = columns.next().into_iter();
    first.for_each(|column| subtract_multiple(&mut column[..high], T::unit(), products));
    for (column, v) in columns.zip(tail.iter()) {
        subtract_multiple(&mut column[..high], v.conjugate(), products);
    }
    for column in right.chunks_exact_mut(height) {
        apply(tau.conjugate(), tail, &mut column[j + 1..high]);
    }
    tau
}

/// Returns the unitary matrix of a reduction that [`reduce`] has computed. Replaces the tails of
/// the reflectors in `a` by zeros.
pub(crate) fn expand<T: Scalar>(
    a: &mut Matrix<T>,
    taus: &[T],
    workers: &dyn Workers,
) -> Result<Matrix<T>, RoutineError> {
    let size = a.rows();
    let q = unitary_below(a, taus, workers)?;
    for j in 0..size.saturating_sub(2) {
        a.column_mut(j)[j + 2..].fill(T::nothing());
    }
    Ok(q)
}

/// Returns the product of the reflectors that [`reduce`] has computed. The tails of the reflectors
/// are below the first subdiagonal of `a`.
pub(crate) fn unitary_below<T: Scalar>(
    a: &Matrix<T>,
    taus: &[T],
    workers: &dyn Workers,
) -> Result<Matrix<T>, RoutineError> {
    let size = a.rows();
    let mut whole = Matrix::identity(size)?;
    if size < 2 {
        return Ok(whole);
    }
    let mut below = Matrix::zeros(size - 1, size - 1)?;
    for j in 0..size - 1 {
        below.column_mut(j).copy_from_slice(&a.column(j)[1..]);
    }
    let inner = unitary(&below, taus, workers)?;
    for j in 1..size {
        whole.column_mut(j)[1..].copy_from_slice(inner.column(j - 1));
    }
    Ok(whole)
}
