//! Cholesky and LU factorisation, and tridiagonal systems.

use super::Matrix;
use crate::number::{Complex, LongSum};

/// Computes the Cholesky factor in one triangle and leaves the other triangle unchanged. If a
/// leading minor is not positive, the factorisation stops, and the second result is the order of
/// this minor, counted from 1.
pub(crate) fn cholesky_factor(a: Matrix, lower: bool) -> (Matrix, Option<usize>) {
    if !lower {
        let (factor, failed) = cholesky_factor(a.adjoint(), true);
        return (factor.adjoint(), failed);
    }
    let mut a = a;
    for j in 0..a.rows {
        let mut pivot = LongSum::new(a.get(j, j).re);
        for k in 0..j {
            let z = a.get(j, k);
            pivot.add_product(-z.re, z.re);
            pivot.add_product(-z.im, z.im);
        }
        let pivot = pivot.value();
        if pivot.is_nan() || pivot <= 0.0 {
            a.set(j, j, Complex { re: pivot, im: 0.0 });
            return (a, Some(j + 1));
        }
        let root = pivot.sqrt();
        a.set(j, j, Complex { re: root, im: 0.0 });
        for i in j + 1..a.rows {
            let mut rest = a.get(i, j);
            (0..j).for_each(|k| rest = rest.subtract(a.get(i, k).multiply(a.get(j, k).conjugate())));
            a.set(i, j, rest.scale(1.0 / root));
        }
    }
    (a, None)
}

/// Result of an LU factorisation with partial pivoting.
pub(crate) struct Lu {
    /// Matrix that holds L below the diagonal, and U on and above the diagonal.
    pub factors: Matrix,
    /// For each row `i`, the number of the row with which row `i` was exchanged, counted from 0.
    pub pivots: Vec<usize>,
    /// Number of the first column whose pivot is zero, counted from 1; 0 if no pivot is zero.
    pub singular: usize,
}

pub(crate) fn lu_factor(mut a: Matrix) -> Lu {
    let mut pivots = Vec::new();
    let mut singular = 0;
    for j in 0..a.rows.min(a.columns) {
        // LAPACK compares |re| + |im|.
        let size = |r: usize| a.get(r, j).re.abs() + a.get(r, j).im.abs();
        let pivot = (j..a.rows).fold(j, |best, r| if size(r) > size(best) { r } else { best });
        pivots.push(pivot);
        if a.get(pivot, j) == Complex::ZERO {
            if singular == 0 {
                singular = j + 1;
            }
            continue;
        }
        a.swap_rows(j, pivot);
        for r in j + 1..a.rows {
            let factor = a.get(r, j).divide(a.get(j, j));
            a.set(r, j, factor);
            for c in j + 1..a.columns {
                a.subtract(r, c, factor.multiply(a.get(j, c)));
            }
        }
    }
    Lu { factors: a, pivots, singular }
}

/// The result of solving a tridiagonal system: the diagonals as LAPACK's gtsv overwrites them, and
/// the solution.
pub(crate) struct TridiagonalSolution {
    pub lower: Vec<Complex>,
    pub diagonal: Vec<Complex>,
    pub upper: Vec<Complex>,
    pub solution: Matrix,
    /// Number of the first row whose pivot is zero, counted from 1; 0 if no pivot is zero.
    pub singular: usize,
}

/// Solves a tridiagonal system by elimination with partial pivoting. `lower[i]` is the matrix
/// element in row `i + 1` and column `i`. `upper[i]` is the element in row `i` and column `i + 1`.
pub(crate) fn solve_tridiagonal(
    lower: Vec<Complex>,
    diagonal: Vec<Complex>,
    upper: Vec<Complex>,
    right: Matrix,
) -> TridiagonalSolution {
    let n = diagonal.len();
    let mut s = TridiagonalSolution { lower, diagonal, upper, solution: right, singular: 0 };
    let zero = Complex::ZERO;
    let size = |z: Complex| z.re.abs() + z.im.abs();
    for k in 0..n.saturating_sub(1) {
        if s.lower[k] == zero {
            if s.diagonal[k] == zero {
                s.singular = k + 1;
                return s;
            }
        } else if size(s.diagonal[k]) >= size(s.lower[k]) {
            let factor = s.lower[k].divide(s.diagonal[k]);
            s.diagonal[k + 1] = s.diagonal[k + 1].subtract(factor.multiply(s.upper[k]));
            for c in 0..s.solution.columns {
                s.solution.subtract(k + 1, c, factor.multiply(s.solution.get(k, c)));
            }
            s.lower[k] = zero;
        } else {
            let factor = s.diagonal[k].divide(s.lower[k]);
            s.diagonal[k] = s.lower[k];
            let below = s.diagonal[k + 1];
            s.diagonal[k + 1] = s.upper[k].subtract(factor.multiply(below));
            // The fill-in, two columns right of the diagonal, is stored in place of the eliminated
            // element.
            s.lower[k] = if k + 2 < n { s.upper[k + 1] } else { zero };
            if k + 2 < n {
                s.upper[k + 1] = factor.multiply(s.lower[k]).negate();
            }
            s.upper[k] = below;
            for c in 0..s.solution.columns {
                let (above, below) = (s.solution.get(k, c), s.solution.get(k + 1, c));
                s.solution.set(k, c, below);
                s.solution.set(k + 1, c, above.subtract(factor.multiply(below)));
            }
        }
    }
    if n > 0 && s.diagonal[n - 1] == zero {
        s.singular = n;
        return s;
    }
    for c in 0..s.solution.columns {
        for k in (0..n).rev() {
            let mut rest = s.solution.get(k, c);
            if k + 1 < n {
                rest = rest.subtract(s.upper[k].multiply(s.solution.get(k + 1, c)));
            }
            if k + 2 < n {
                rest = rest.subtract(s.lower[k].multiply(s.solution.get(k + 2, c)));
            }
            s.solution.set(k, c, rest.divide(s.diagonal[k]));
        }
    }
    s
}
