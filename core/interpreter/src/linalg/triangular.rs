//! Triangular systems.

use fusebox_core::hlo::Transpose;

use super::Matrix;
use crate::error::{Outcome, ensure};
use crate::number::{Complex, LongSum};

/// The variant of a triangular system: side, triangle, diagonal and operation.
#[derive(Clone, Copy)]
pub(crate) struct TriangularForm {
    /// Whether the system is `op(a) x = b` rather than `x op(a) = b`.
    pub left: bool,
    /// Whether the system uses the lower triangle, not the upper.
    pub lower: bool,
    /// Whether the diagonal elements are assumed to be 1.
    pub unit_diagonal: bool,
    /// The operation `op`.
    pub transpose: Transpose,
}

/// Solves a triangular system.
pub(crate) fn solve(a: &Matrix, b: Matrix, form: TriangularForm) -> Outcome<Matrix> {
    let size = if form.left { b.rows } else { b.columns };
    let fits = a.rows == a.columns && a.rows == size;
    ensure!(fits, "the matrix of triangular-solve is not square or does not fit the right-hand side");
    if form.left {
        return Ok(solve_left(a, b, form));
    }
    // `x op(a) = b` is equivalent to `op(a)ᵀ xᵀ = bᵀ`. The transpose of the adjoint is the
    // conjugate.
    let (a, transpose) = match form.transpose {
        Transpose::None => (a.clone(), Transpose::Transpose),
        Transpose::Transpose => (a.clone(), Transpose::None),
        Transpose::Adjoint => (a.adjoint().transpose(), Transpose::None),
    };
    Ok(solve_left(&a, b.transpose(), TriangularForm { transpose, ..form }).transpose())
}

fn solve_left(a: &Matrix, mut b: Matrix, form: TriangularForm) -> Matrix {
    let n = a.rows;
    let element = |r: usize, c: usize| match form.transpose {
        Transpose::None => a.get(r, c),
        Transpose::Transpose => a.get(c, r),
        Transpose::Adjoint => a.get(c, r).conjugate(),
    };
    let forward = form.lower == (form.transpose == Transpose::None);
    for column in 0..b.columns {
        for step in 0..n {
            let row = if forward { step } else { n - 1 - step };
            let solved = if forward { 0..row } else { row + 1..n };
            let (mut re, mut im) = (LongSum::new(b.get(row, column).re), LongSum::new(b.get(row, column).im));
            for k in solved {
                let (p, q) = (element(row, k), b.get(k, column));
                re.add_product(-p.re, q.re);
                re.add_product(p.im, q.im);
                im.add_product(-p.re, q.im);
                im.add_product(-p.im, q.re);
            }
            let rest = Complex { re: re.value(), im: im.value() };
            let diagonal = element(row, row);
            b.set(
                row,
                column,
                match () {
                    () if form.unit_diagonal => rest,
                    () if diagonal.im == 0.0 => Complex { re: rest.re / diagonal.re, im: rest.im / diagonal.re },
                    () => rest.divide(diagonal),
                },
            );
        }
    }
    b
}
