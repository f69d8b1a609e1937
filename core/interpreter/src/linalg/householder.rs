//! Householder reflections: QR factorisation with LAPACK's signs and scalings.

use super::Matrix;
use crate::number::{Complex, complex};

/// The reflector `H = I - tau v vᴴ` with `v = (1, tail)`. `Hᴴ` maps the vector from which the
/// reflector was built to `(beta, 0)`.
pub(super) struct Reflector {
    pub tau: Complex,
    pub tail: Vec<Complex>,
    pub beta: Complex,
}

/// Computes the reflector with `Hᴴ (alpha, x) = (beta, 0)` and real beta, like LAPACK's larfg.
pub(super) fn reflector(alpha: Complex, x: &[Complex]) -> Reflector {
    let norm = x.iter().fold(0f64, |n, z| n.hypot(z.abs()));
    if norm == 0.0 && alpha.im == 0.0 {
        return Reflector { tau: Complex::ZERO, tail: x.to_vec(), beta: alpha };
    }
    let length = alpha.abs().hypot(norm);
    let beta = if alpha.re >= 0.0 && !(alpha.re == 0.0 && alpha.re.is_sign_negative()) { -length } else { length };
    let tau = complex((beta - alpha.re) / beta, -alpha.im / beta);
    let scale = complex(1.0, 0.0).divide(complex(alpha.re - beta, alpha.im));
    Reflector { tau, tail: x.iter().map(|z| z.multiply(scale)).collect(), beta: complex(beta, 0.0) }
}

/// Multiplies a part of a matrix from the left by `I - factor v vᴴ`, where `v = (1, tail)`. The
/// multiplied part consists of the rows from `row` on, in the columns `columns`.
pub(super) fn apply_left(
    a: &mut Matrix,
    tail: &[Complex],
    factor: Complex,
    row: usize,
    columns: std::ops::Range<usize>,
) {
    for c in columns {
        let mut dot = a.get(row, c);
        for (i, v) in tail.iter().enumerate() {
            dot = dot.add(v.conjugate().multiply(a.get(row + 1 + i, c)));
        }
        let dot = factor.multiply(dot);
        a.subtract(row, c, dot);
        for (i, v) in tail.iter().enumerate() {
            a.subtract(row + 1 + i, c, v.multiply(dot));
        }
    }
}

/// Multiplies a part of a matrix from the right by `I - factor v vᴴ`, where `v = (1, tail)`. The
/// multiplied part consists of the columns from `column` on, in the rows `rows`.
pub(super) fn apply_right(
    a: &mut Matrix,
    tail: &[Complex],
    factor: Complex,
    column: usize,
    rows: std::ops::Range<usize>,
) {
    for r in rows {
        let mut dot = a.get(r, column);
        for (i, v) in tail.iter().enumerate() {
            dot = dot.add(a.get(r, column + 1 + i).multiply(*v));
        }
        let dot = dot.multiply(factor);
        a.subtract(r, column, dot);
        for (i, v) in tail.iter().enumerate() {
            a.subtract(r, column + 1 + i, dot.multiply(v.conjugate()));
        }
    }
}

/// Computes a QR factorisation. The first result holds R on and above the diagonal, and the
/// reflectors' tails below the diagonal. The second result contains the reflectors' taus.
pub(crate) fn qr_factor(mut a: Matrix) -> (Matrix, Vec<Complex>) {
    let taus = (0..a.rows.min(a.columns)).map(|j| qr_step(&mut a, j)).collect();
    (a, taus)
}

fn qr_step(a: &mut Matrix, j: usize) -> Complex {
    let below: Vec<Complex> = (j + 1..a.rows).map(|r| a.get(r, j)).collect();
    let h = reflector(a.get(j, j), &below);
    a.set(j, j, h.beta);
    h.tail.iter().enumerate().for_each(|(i, v)| a.set(j + 1 + i, j, *v));
    apply_left(a, &h.tail, h.tau.conjugate(), j, j + 1..a.columns);
    h.tau
}

/// Computes a QR factorisation with column pivoting. `fixed` (from LAPACK's jpvt) marks columns
/// that the pivoting puts first. Returns the factors, the order of the columns (numbered from 0),
/// and the taus.
pub(crate) fn qr_factor_pivoted(mut a: Matrix, fixed: &[bool]) -> (Matrix, Vec<usize>, Vec<Complex>) {
    let mut order: Vec<usize> = (0..a.columns).collect();
    let mut leading = 0;
    for c in 0..a.columns {
        if fixed.get(c).copied().unwrap_or(false) {
            a.swap_columns(c, leading);
            order.swap(c, leading);
            leading += 1;
        }
    }
    let mut taus = Vec::new();
    for j in 0..a.rows.min(a.columns) {
        if j >= leading {
            let norm = |c: usize| (j..a.rows).fold(0f64, |n, r| n.hypot(a.get(r, c).abs()));
            let norms: Vec<f64> = (j..a.columns).map(norm).collect();
            let best = (0..norms.len()).fold(0, |best, c| if norms[c] > norms[best] { c } else { best });
            a.swap_columns(j, j + best);
            order.swap(j, j + best);
        }
        taus.push(qr_step(&mut a, j));
    }
    (a, order, taus)
}

/// Returns the product of reflectors `H(0) H(1) …`, truncated to as many columns as `a` has. The
/// reflectors' tails are below the diagonal of `a`.
pub(crate) fn unitary_from_reflectors(a: &Matrix, taus: &[Complex]) -> Matrix {
    let mut q = Matrix::identity(a.rows, a.columns);
    for (j, tau) in taus.iter().enumerate().rev() {
        let tail: Vec<Complex> = (j + 1..a.rows).map(|r| a.get(r, j)).collect();
        apply_left(&mut q, &tail, *tau, j, 0..a.columns);
    }
    q
}

/// Returns the block-diagonal matrix `1 ⊕ H(0) H(1) …` for reflectors whose tails are below the
/// first subdiagonal.
pub(super) fn unitary_below(a: &Matrix, taus: &[Complex]) -> Matrix {
    let size = a.rows.saturating_sub(1);
    let inner = unitary_from_reflectors(&Matrix::from_fn(size, size, |r, c| a.get(r + 1, c)), taus);
    Matrix::from_fn(a.rows, a.rows, |r, c| match (r, c) {
        (0, 0) => Complex::ONE,
        (0, _) | (_, 0) => Complex::ZERO,
        _ => inner.get(r - 1, c - 1),
    })
}
