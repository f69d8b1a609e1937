//! Dense column-major matrices.

use std::ops::{Index, IndexMut, Range};

use faer::{MatMut, MatRef};
use num_traits::Float;

use super::scalar::{Real, Scalar, real};
use crate::{RoutineError, scratch};

/// A dense matrix in column-major order: each column is contiguous.
#[derive(Debug)]
pub(crate) struct Matrix<T> {
    rows: usize,
    columns: usize,
    elements: Vec<T>,
}

impl<T: Scalar> Matrix<T> {
    /// Returns a matrix of zeros. All constructors fail if memory is short.
    pub fn zeros(rows: usize, columns: usize) -> Result<Self, RoutineError> {
        Ok(Matrix { rows, columns, elements: scratch(rows.saturating_mul(columns))? })
    }

    pub fn identity(size: usize) -> Result<Self, RoutineError> {
        let mut identity = Matrix::zeros(size, size)?;
        (0..size).for_each(|i| identity[(i, i)] = T::unit());
        Ok(identity)
    }

    pub fn copy(&self) -> Result<Self, RoutineError> {
        let mut copy = Matrix::zeros(self.rows, self.columns)?;
        copy.elements.copy_from_slice(&self.elements);
        Ok(copy)
    }

    /// Applies `of` to each element, and returns the matrix of the results.
    pub fn map<U: Scalar>(&self, of: impl Fn(T) -> U) -> Result<Matrix<U>, RoutineError> {
        let mut mapped = Matrix::zeros(self.rows, self.columns)?;
        mapped.elements.iter_mut().zip(&self.elements).for_each(|(to, from)| *to = of(*from));
        Ok(mapped)
    }

    /// Creates a matrix from its elements in row-major order.
    pub fn from_rows(elements: &[T], rows: usize, columns: usize) -> Result<Self, RoutineError> {
        let mut matrix = Matrix::zeros(rows, columns)?;
        if elements.len() != matrix.elements.len() {
            return Err(RoutineError::Buffer);
        }
        transpose(elements, columns, &mut matrix.elements, rows);
        Ok(matrix)
    }

    /// Creates the adjoint of the matrix whose elements in row-major order are `elements`. `rows`
    /// and `columns` are the numbers of rows and columns of the adjoint.
    pub fn adjoint_from_rows(elements: &[T], rows: usize, columns: usize) -> Result<Self, RoutineError> {
        let mut matrix = Matrix::zeros(rows, columns)?;
        if elements.len() != matrix.elements.len() {
            return Err(RoutineError::Buffer);
        }
        matrix.elements.iter_mut().zip(elements).for_each(|(to, from)| *to = from.conjugate());
        Ok(matrix)
    }

    /// Writes the elements in row-major order.
    pub fn write_rows(&self, result: &mut [T]) -> Result<(), RoutineError> {
        if result.len() != self.elements.len() {
            return Err(RoutineError::Buffer);
        }
        transpose(&self.elements, self.rows, result, self.columns);
        Ok(())
    }

    /// Writes the elements of the adjoint in row-major order.
    pub fn write_rows_of_adjoint(&self, result: &mut [T]) -> Result<(), RoutineError> {
        if result.len() != self.elements.len() {
            return Err(RoutineError::Buffer);
        }
        result.iter_mut().zip(&self.elements).for_each(|(to, from)| *to = from.conjugate());
        Ok(())
    }

    #[inline(always)]
    pub fn rows(&self) -> usize {
        self.rows
    }

    #[inline(always)]
    pub fn columns(&self) -> usize {
        self.columns
    }

    pub fn elements_mut(&mut self) -> &mut [T] {
        &mut self.elements
    }

    #[inline(always)]
    pub fn column(&self, j: usize) -> &[T] {
        &self.elements[j * self.rows..][..self.rows]
    }

    #[inline(always)]
    pub fn column_mut(&mut self, j: usize) -> &mut [T] {
        &mut self.elements[j * self.rows..][..self.rows]
    }

    /// Returns two slices: one contains the columns before `j`, and the other contains column `j`
    /// and all later columns.
    #[inline(always)]
    pub fn split_at_column(&mut self, j: usize) -> (&mut [T], &mut [T]) {
        self.elements.split_at_mut(j * self.rows)
    }

    /// Returns the `N` columns from column `j` on.
    #[inline(always)]
    pub fn neighbours<const N: usize>(&mut self, j: usize) -> [&mut [T]; N] {
        let mut columns = self.elements[j * self.rows..].chunks_exact_mut(self.rows.max(1));
        std::array::from_fn(|_| columns.next().unwrap_or_default())
    }

    pub fn swap_columns(&mut self, i: usize, j: usize) {
        if i != j {
            let (left, right) = self.elements.split_at_mut(i.max(j) * self.rows);
            left[i.min(j) * self.rows..][..self.rows].swap_with_slice(&mut right[..self.rows]);
        }
    }

    pub fn view(&self) -> MatRef<'_, T> {
        MatRef::from_column_major_slice(&self.elements, self.rows, self.columns)
    }

    pub fn view_mut(&mut self) -> MatMut<'_, T> {
        MatMut::from_column_major_slice_mut(&mut self.elements, self.rows, self.columns)
    }

    pub fn part(&self, rows: Range<usize>, columns: Range<usize>) -> MatRef<'_, T> {
        self.view().submatrix(rows.start, columns.start, rows.len(), columns.len())
    }

    /// Reverses the order of rows and columns.
    pub fn reverse(&mut self) {
        self.elements.reverse();
    }

    pub fn is_finite(&self) -> bool {
        !self.elements.iter().any(|z| z.has_nan_or_infinity())
    }

    /// Calls [`scale_to_unit`](Matrix::scale_to_unit) if the largest element is so large or so
    /// small that its square could overflow or underflow. Returns the factor that undoes the
    /// scaling. If the matrix is not scaled, the factor is one.
    pub fn scale_into_range(&mut self) -> T::Real {
        let (low, high) = safe_range::<T::Real>();
        if (low..=high).contains(&self.largest()) { real(1.0) } else { self.scale_to_unit() }
    }

    fn largest(&self) -> T::Real {
        self.elements.iter().map(|z| z.parts_sum()).fold(real::<T::Real>(0.0), Float::max)
    }

    /// Multiplies the matrix by the power of two that brings its largest element near one. Returns
    /// the factor that undoes the scaling.
    pub fn scale_to_unit(&mut self) -> T::Real {
        let largest = self.largest();
        if largest == real(0.0) {
            return real(1.0);
        }
        let exponent = Float::floor(Float::log2(largest));
        // The factor may overflow, so it is applied as a product of two factors.
        let half = Float::trunc(exponent / real::<T::Real>(2.0));
        let factors = [Float::exp2(-half), Float::exp2(half - exponent)];
        self.elements.iter_mut().for_each(|z| *z = z.times_real(factors[0]).times_real(factors[1]));
        Float::exp2(half) * Float::exp2(exponent - half)
    }
}

/// Returns the smallest and the largest magnitude of a range. For each magnitude in this range, its
/// square is a normal number, and the product of its square and the precision is a normal number
/// too.
fn safe_range<R: Real>() -> (R, R) {
    let high = Float::exp2(Float::floor(Float::log2(<R as Float>::max_value()) / real::<R>(4.0)));
    (real::<R>(1.0) / high, high)
}

impl<T: Scalar> Index<(usize, usize)> for Matrix<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, (row, column): (usize, usize)) -> &T {
        &self.elements[column * self.rows + row]
    }
}

impl<T: Scalar> IndexMut<(usize, usize)> for Matrix<T> {
    #[inline(always)]
    fn index_mut(&mut self, (row, column): (usize, usize)) -> &mut T {
        &mut self.elements[column * self.rows + row]
    }
}

/// Transposes a matrix with rows of `width` elements into a matrix with rows of `height` elements.
fn transpose<T: Copy>(from: &[T], width: usize, to: &mut [T], height: usize) {
    const BLOCK: usize = 16;
    for top in (0..height).step_by(BLOCK) {
        let rows = BLOCK.min(height - top);
        for left in (0..width).step_by(BLOCK) {
            for column in left..width.min(left + BLOCK) {
                let line = &mut to[column * height + top..][..rows];
                line.iter_mut().enumerate().for_each(|(row, to)| *to = from[(top + row) * width + column]);
            }
        }
    }
}
