//! LU factorisation with partial pivoting.

use faer::MatRef;

use super::matrix::Matrix;
use super::product::{Triangle, add_product, solve_triangle};
use super::scalar::{Scalar, real};
use super::vectors::{halves, subtract_multiple, wide};
use crate::{RoutineError, Workers};

/// Maximum number of columns that are factorised column by column. A larger number of columns is
/// split into two halves.
const NARROW: usize = 16;

/// The row exchanges of a factorisation, and whether the matrix is singular.
#[derive(Debug)]
pub(crate) struct Pivots {
    /// For each `i`, the row that is exchanged with row `i` before column `i` is eliminated. Rows
    /// are numbered from 0.
    pub rows: Vec<usize>,
    /// Number of the first column with a zero pivot, counted from 1, or 0 if no pivot is zero.
    pub singular: usize,
}

/// Replaces a matrix by its factors. L is stored below the diagonal, without its unit diagonal. U
/// is stored on and above the diagonal.
pub(crate) fn factorise<T: Scalar>(a: &mut Matrix<T>, workers: &dyn Workers) -> Result<Pivots, RoutineError> {
    let size = a.rows().min(a.columns());
    let mut pivots = Pivots { rows: (0..size).collect(), singular: 0 };
    columns(a, 0, size, &mut pivots, workers)?;
    exchange(a, &pivots.rows, 0, size, size..a.columns());
    if a.columns() > size {
        update(a, 0, size, a.columns(), workers)?;
    }
    Ok(pivots)
}

/// Factorises columns `start..end` in the rows that begin with row `start`. Factorises the first
/// half of the columns, updates the second half, and then factorises the second half.
fn columns<T: Scalar>(
    a: &mut Matrix<T>,
    start: usize,
    end: usize,
    pivots: &mut Pivots,
    workers: &dyn Workers,
) -> Result<(), RoutineError> {
    let Some((first, second)) = halves(start..end, NARROW) else {
        wide(
            #[inline(always)]
            || narrow(a, start, end, pivots),
        );
        return Ok(());
    };
    columns(a, first.start, first.end, pivots, workers)?;
    exchange(a, &pivots.rows, start, second.start, second.clone());
    update(a, start, second.start, end, workers)?;
    columns(a, second.start, second.end, pivots, workers)?;
    exchange(a, &pivots.rows, second.start, end, first);
    Ok(())
}

/// Eliminates the factorised columns `start..middle` from columns `middle..end`. First computes
/// rows `start..middle` of U, and then subtracts the product of L and these rows from the rows
/// below.
fn update<T: Scalar>(
    a: &mut Matrix<T>,
    start: usize,
    middle: usize,
    end: usize,
    workers: &dyn Workers,
) -> Result<(), RoutineError> {
    let (height, size) = (a.rows(), middle - start);
    if height == 0 {
        return Ok(());
    }
    let (left, right) = a.split_at_column(middle);
    let right = &mut right[..(end - middle) * height];
    let factor = MatRef::from_column_major_slice(&left[start * height..], height, size);
    let mut above = Matrix::zeros(size, end - middle)?;
    for (j, column) in right.chunks_exact(height).enumerate() {
        above.column_mut(j).copy_from_slice(&column[start..middle]);
    }
    solve_triangle(factor.subrows(start, size), Triangle::UNIT_LOWER, above.elements_mut(), workers)?;
    for (j, column) in right.chunks_exact_mut(height).enumerate() {
        column[start..middle].copy_from_slice(above.column(j));
    }
    let below = factor.subrows(middle, height - middle);
    add_product(right, height, middle..height, -T::unit(), below, above.view(), workers)
}

/// In the columns `columns`, exchanges the rows that the factorisation of columns `start..end` has
/// exchanged.
fn exchange<T: Scalar>(a: &mut Matrix<T>, pivots: &[usize], start: usize, end: usize, columns: std::ops::Range<usize>) {
    for j in columns {
        let column = a.column_mut(j);
        (start..end).for_each(|i| column.swap(i, pivots[i]));
    }
}

#[inline(always)]
fn narrow<T: Scalar>(a: &mut Matrix<T>, start: usize, end: usize, pivots: &mut Pivots) {
    for j in start..end {
        let column = a.column(j);
        // The pivot is the element with the largest `|re| + |im|`, as in LAPACK. If several
        // elements are equally large, the first is the pivot.
        let (mut pivot, mut largest) = (j, column[j].parts_sum());
        for (i, z) in column.iter().enumerate().skip(j + 1) {
            let size = z.parts_sum();
            if size > largest {
                (pivot, largest) = (i, size);
            }
        }
        pivots.rows[j] = pivot;
        if largest == real(0.0) {
            if pivots.singular == 0 {
                pivots.singular = j + 1;
            }
            continue;
        }
        (start..end).for_each(|c| a.column_mut(c).swap(j, pivot));
        let head = a[(j, j)];
        a.column_mut(j)[j + 1..].iter_mut().for_each(|z| *z = z.divided_by(head));
        let (left, right) = a.split_at_column(j + 1);
        let height = left.len() / (j + 1);
        let factors = &left[j * height..][j + 1..];
        for column in right[..(end - j - 1) * height].chunks_exact_mut(height) {
            let head = column[j];
            subtract_multiple(&mut column[j + 1..], head, factors);
        }
    }
}
