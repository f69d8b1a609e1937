//! Computes matrix products and solves triangular systems. Large products and systems are
//! distributed among several threads.
//!
//! The columns of a result are split into pieces, one per call of the crate faer. The width of a
//! piece depends only on the shapes.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place_with_conj, solve_unit_lower_triangular_in_place_with_conj,
    solve_unit_upper_triangular_in_place_with_conj, solve_upper_triangular_in_place_with_conj,
};
use faer::{Accum, Conj, MatMut, MatRef, Par};

use super::matrix::Matrix;
use super::scalar::Scalar;
use crate::{RoutineError, Workers, try_for_each};

/// Minimum number of multiplications that compute one piece of a result.
const PIECE: usize = 1 << 20;

/// Returns the number of columns per piece. `cost` is the number of multiplications per column.
fn width(columns: usize, cost: usize) -> usize {
    let least = PIECE / cost.max(1) + 1;
    least.next_multiple_of(16).min(columns.max(1))
}

/// Minimum number of columns per piece of a system, and maximum number of pieces. Each piece reads
/// the whole triangle, so narrow pieces wait for memory.
const SYSTEM_COLUMNS: usize = 32;
const SYSTEM_PIECES: usize = 64;

/// Returns the number of columns per piece of a system of equations. `cost` is the number of
/// multiplications per column. The number of pieces is a power of two, so that threads get equal
/// shares.
fn system_width(columns: usize, cost: usize) -> usize {
    let most = (columns / SYSTEM_COLUMNS).min(columns.saturating_mul(cost) / PIECE).clamp(1, SYSTEM_PIECES);
    columns.div_ceil(1 << most.ilog2()).next_multiple_of(8)
}

/// Properties of the triangular matrix of a system of equations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Triangle {
    pub lower: bool,
    /// Whether the solver assumes that all elements on the diagonal are one, and does not read the
    /// diagonal.
    pub unit: bool,
    pub conjugate: bool,
}

impl Triangle {
    pub const LOWER: Triangle = Triangle { lower: true, unit: false, conjugate: false };
    pub const UNIT_LOWER: Triangle = Triangle { lower: true, unit: true, conjugate: false };
}

/// Solves a triangular system for all columns of the column-major matrix `right`, and replaces each
/// column by its solution.
pub(crate) fn solve_triangle<T: Scalar>(
    triangle: MatRef<'_, T>,
    form: Triangle,
    right: &mut [T],
    workers: &dyn Workers,
) -> Result<(), RoutineError> {
    let n = triangle.nrows();
    if n == 0 || right.is_empty() {
        return Ok(());
    }
    let width = system_width(right.len() / n, n * n / 2);
    try_for_each(workers, right.chunks_mut(width * n).collect(), |piece| {
        let columns = piece.len() / n;
        let piece = MatMut::from_column_major_slice_mut(piece, n, columns);
        let conjugate = if form.conjugate { Conj::Yes } else { Conj::No };
        match (form.lower, form.unit) {
            (true, false) => solve_lower_triangular_in_place_with_conj(triangle, conjugate, piece, Par::Seq),
            (true, true) => solve_unit_lower_triangular_in_place_with_conj(triangle, conjugate, piece, Par::Seq),
            (false, false) => solve_upper_triangular_in_place_with_conj(triangle, conjugate, piece, Par::Seq),
            (false, true) => solve_unit_upper_triangular_in_place_with_conj(triangle, conjugate, piece, Par::Seq),
        }
        Ok(())
    })
}

/// Adds `factor` times the product `left right` to the rows `rows` of the column-major matrix
/// `sum`. The columns of `sum` have `height` elements.
pub(crate) fn add_product<T: Scalar>(
    sum: &mut [T],
    height: usize,
    rows: Range<usize>,
    factor: T,
    left: MatRef<'_, T>,
    right: MatRef<'_, T>,
    workers: &dyn Workers,
) -> Result<(), RoutineError> {
    if sum.is_empty() || rows.is_empty() || left.ncols() == 0 {
        return Ok(());
    }
    let width = width(sum.len() / height, rows.len() * left.ncols());
    let pieces = sum.chunks_mut(width * height).enumerate().collect();
    try_for_each(workers, pieces, |(number, piece)| {
        let columns = piece.len() / height;
        let piece = MatMut::from_column_major_slice_mut(piece, height, columns);
        let piece = piece.submatrix_mut(rows.start, 0, rows.len(), columns);
        matmul(piece, Accum::Add, left, right.subcols(number * width, columns), factor, Par::Seq);
        Ok(())
    })
}

/// Multiplies a panel by its adjoint, and subtracts the product from a square submatrix. The panel
/// consists of rows `rows` and columns `by`. The submatrix consists of rows `rows` and columns
/// `rows`, and only its lower triangle changes.
pub(crate) fn subtract_product_below<T: Scalar>(
    a: &mut Matrix<T>,
    rows: Range<usize>,
    by: Range<usize>,
    workers: &dyn Workers,
) -> Result<(), RoutineError> {
    let (n, count) = (a.rows(), by.len());
    let (left, rest) = a.split_at_column(rows.start);
    let factor = MatRef::from_column_major_slice(&left[by.start * n..], n, rows.start - by.start).subcols(0, count);
    let width = width(rows.len(), rows.len() * count);
    let pieces = rest[..rows.len() * n].chunks_mut(width * n).enumerate().collect();
    try_for_each(workers, pieces, |(number, piece)| {
        let (top, columns) = (rows.start + number * width, piece.len() / n);
        let piece = MatMut::from_column_major_slice_mut(piece, n, columns);
        let (diagonal, below) = piece.subrows_mut(top, rows.end - top).split_at_row_mut(columns);
        let (beside_diagonal, beside_below) = factor.subrows(top, rows.end - top).split_at_row(columns);
        triangular::matmul(
            diagonal,
            BlockStructure::TriangularLower,
            Accum::Add,
            beside_diagonal,
            BlockStructure::Rectangular,
            beside_diagonal.adjoint(),
            BlockStructure::Rectangular,
            -T::unit(),
            Par::Seq,
        );
        matmul(below, Accum::Add, beside_below, beside_diagonal.adjoint(), -T::unit(), Par::Seq);
        Ok(())
    })
}
