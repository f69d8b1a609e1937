//! Singular values by one-sided Jacobi rotations, which are slow but accurate for small values too.

use super::Matrix;
use super::householder::{qr_factor, unitary_from_reflectors};
use crate::number::Complex;

/// A singular value decomposition `left · diag(values) · rightᴴ` with square unitary factors.
pub(crate) struct Svd {
    /// Singular values in descending order.
    pub values: Vec<f64>,
    pub left: Matrix,
    pub right: Matrix,
}

/// Computes the decomposition. Returns `None` if an element is infinite or NaN.
pub(crate) fn singular_values(a: &Matrix) -> Option<Svd> {
    if !a.is_finite() {
        return None;
    }
    if a.rows < a.columns {
        let Svd { values, left, right } = singular_values(&a.adjoint())?;
        return Some(Svd { values, left: right, right: left });
    }
    let n = a.columns;
    let (mut columns, mut right) = (a.clone(), Matrix::identity(n, n));
    for _ in 0..60 {
        if !sweep(&mut columns, &mut right) {
            break;
        }
    }
    let norm = |c: usize| (0..a.rows).fold(0f64, |sum, r| sum.hypot(columns.get(r, c).abs()));
    let norms: Vec<f64> = (0..n).map(norm).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&x, &y| norms[y].total_cmp(&norms[x]));
    let values: Vec<f64> = order.iter().map(|&c| norms[c]).collect();
    let scale = |c: usize| if values[c] > 0.0 { 1.0 / values[c] } else { 0.0 };
    let left = Matrix::from_fn(a.rows, n, |r, c| columns.get(r, order[c]).scale(scale(c)));
    Some(Svd { left: completed(&left), right: right.with_columns(&order), values })
}

/// Orthogonalises every pair of columns once. Returns false if all pairs were orthogonal already.
fn sweep(a: &mut Matrix, right: &mut Matrix) -> bool {
    let mut rotated = false;
    for p in 0..a.columns {
        for q in p + 1..a.columns {
            let (mut pp, mut qq, mut pq) = (0.0, 0.0, Complex::ZERO);
            for r in 0..a.rows {
                let (x, y) = (a.get(r, p), a.get(r, q));
                pp += x.abs().powi(2);
                qq += y.abs().powi(2);
                pq = pq.add(x.conjugate().multiply(y));
            }
            let size = pq.abs();
            if size <= f64::EPSILON * (pp * qq).sqrt() || size == 0.0 || !size.is_finite() {
                continue;
            }
            rotated = true;
            let zeta = (qq - pp) / (2.0 * size);
            let tangent = 1f64.copysign(zeta) / (zeta.abs() + zeta.hypot(1.0));
            let cosine = 1.0 / tangent.hypot(1.0);
            let phase = pq.scale(1.0 / size);
            rotate(a, p, q, cosine, cosine * tangent, phase);
            rotate(right, p, q, cosine, cosine * tangent, phase);
        }
    }
    rotated
}

fn rotate(a: &mut Matrix, p: usize, q: usize, cosine: f64, sine: f64, phase: Complex) {
    for r in 0..a.rows {
        // The phase makes the inner product of the two columns real.
        let (x, y) = (a.get(r, p), a.get(r, q).multiply(phase.conjugate()));
        a.set(r, p, x.scale(cosine).subtract(y.scale(sine)));
        a.set(r, q, x.scale(sine).add(y.scale(cosine)));
    }
}

/// Returns a unitary matrix whose first columns are the columns of `left`. Replaces columns of
/// `left` that are zero.
fn completed(left: &Matrix) -> Matrix {
    let (factors, taus) = qr_factor(left.clone());
    let square = factors.resized(factors.rows, factors.rows);
    let unitary = unitary_from_reflectors(&square, &taus);
    let is_given = |c: usize| c < left.columns && (0..left.rows).any(|r| left.get(r, c) != Complex::ZERO);
    let given: Vec<bool> = (0..left.rows).map(is_given).collect();
    Matrix::from_fn(left.rows, left.rows, |r, c| if given[c] { left.get(r, c) } else { unitary.get(r, c) })
}
