//! Schur form, eigenvalues and eigenvectors of general matrices, by shifted QR iteration on the
//! complex Hessenberg form.

use super::Matrix;
use super::hessenberg::hessenberg;
use super::householder::unitary_below;
use crate::number::{Complex, complex};

/// Eigenvalues, right eigenvectors and left eigenvectors. Each eigenvector is a column of a matrix.
/// Each eigenvector has length 1, and its largest component is real.
pub(crate) struct Eigen {
    pub values: Vec<Complex>,
    pub right: Matrix,
    pub left: Matrix,
}

/// Returns upper triangular `T` and unitary `Q` with `A = Q T Qᴴ`, or `None` if the iteration does
/// not converge.
pub(crate) fn schur(a: &Matrix) -> Option<(Matrix, Matrix)> {
    let n = a.rows;
    if !a.is_finite() {
        return None;
    }
    let (factors, taus) = hessenberg(a.clone(), 0, n);
    let mut q = unitary_below(&factors, &taus);
    let mut t = Matrix::from_fn(n, n, |r, c| if r > c + 1 { Complex::ZERO } else { factors.get(r, c) });
    let converged = iterate(&mut t, &mut q);
    let upper = |r, c| if r > c { Complex::ZERO } else { t.get(r, c) };
    converged.then(|| (Matrix::from_fn(n, n, upper), q))
}

/// Reduces the subdiagonal to zero from the bottom up. Returns whether the iteration converges.
fn iterate(t: &mut Matrix, q: &mut Matrix) -> bool {
    let n = t.rows;
    let (mut end, mut steps) = (n, 0);
    while end > 1 {
        let last = end - 1;
        let small = |k: usize| {
            let neighbours = t.get(k - 1, k - 1).abs() + t.get(k, k).abs();
            let scale = if neighbours == 0.0 { f64::MIN_POSITIVE } else { neighbours };
            t.get(k, k - 1).abs() <= f64::EPSILON * scale
        };
        let start = (1..end).rev().find(|&k| small(k)).unwrap_or(0);
        if start > 0 {
            t.set(start, start - 1, Complex::ZERO);
        }
        if start == last {
            end -= 1;
            steps = 0;
            continue;
        }
        steps += 1;
        if steps > 30 * n.max(10) {
            return false;
        }
        let shift = if steps % 11 == 10 {
            t.get(last, last).add(complex(t.get(last, last - 1).abs(), 0.0))
        } else {
            wilkinson_shift(t, last)
        };
        qr_step(t, q, start, end, shift);
    }
    true
}

/// Returns one of the two eigenvalues of the last 2x2 block: the one that is nearer to the block's
/// last element.
fn wilkinson_shift(t: &Matrix, last: usize) -> Complex {
    let (a, b) = (t.get(last - 1, last - 1), t.get(last - 1, last));
    let (c, d) = (t.get(last, last - 1), t.get(last, last));
    let half = a.subtract(d).scale(0.5);
    let root = half.multiply(half).add(b.multiply(c)).sqrt();
    let (plus, minus) = (half.add(root), half.subtract(root));
    d.add(if plus.abs() < minus.abs() { plus } else { minus })
}

/// Performs one QR step on rows and columns `start..end`, by Givens rotations.
fn qr_step(t: &mut Matrix, q: &mut Matrix, start: usize, end: usize, shift: Complex) {
    let n = t.rows;
    (start..end).for_each(|i| t.subtract(i, i, shift));
    let mut rotations = Vec::with_capacity(end - start);
    for k in start..end - 1 {
        let (x, y) = (t.get(k, k), t.get(k + 1, k));
        let length = x.abs().hypot(y.abs());
        let (c, s) = if length == 0.0 {
            (complex(1.0, 0.0), Complex::ZERO)
        } else {
            (x.scale(1.0 / length), y.scale(1.0 / length))
        };
        for column in k..n {
            let (x, y) = (t.get(k, column), t.get(k + 1, column));
            t.set(k, column, c.conjugate().multiply(x).add(s.conjugate().multiply(y)));
            t.set(k + 1, column, c.multiply(y).subtract(s.multiply(x)));
        }
        rotations.push((c, s));
    }
    for (k, (c, s)) in (start..).zip(rotations) {
        let both = |m: &mut Matrix, row: usize| {
            let (x, y) = (m.get(row, k), m.get(row, k + 1));
            m.set(row, k, x.multiply(c).add(y.multiply(s)));
            m.set(row, k + 1, y.multiply(c.conjugate()).subtract(x.multiply(s.conjugate())));
        };
        (0..end.min(k + 3)).for_each(|row| both(t, row));
        (0..n).for_each(|row| both(q, row));
    }
    (start..end).for_each(|i| t.subtract(i, i, shift.negate()));
}

/// Computes eigenvalues and eigenvectors. Returns `None` if the iteration does not converge. For a
/// real matrix, conjugate eigenvalues are adjacent, and the one with positive imaginary part comes
/// first.
pub(crate) fn eigenvectors(a: &Matrix, real: bool) -> Option<Eigen> {
    let (t, q) = schur(a)?;
    let n = a.rows;
    let mut values: Vec<Complex> = (0..n).map(|i| t.get(i, i)).collect();
    let mut right = q.times(&triangular_vectors(&t));
    // The left eigenvectors of A are the right eigenvectors of the adjoint of A. The right
    // eigenvectors of Tᴴ therefore determine the left eigenvectors of A.
    let mut left = q.times(&left_triangular_vectors(&t));
    if real {
        let order = pair_up(&mut values);
        right = right.with_columns(&order);
        left = left.with_columns(&order);
        make_real(&mut right, &mut left, &mut values);
    }
    normalise(&mut right);
    normalise(&mut left);
    Some(Eigen { values, right, left })
}

/// Computes the right eigenvectors of an upper triangular matrix, as columns.
fn triangular_vectors(t: &Matrix) -> Matrix {
    let n = t.rows;
    let mut vectors = Matrix::identity(n, n);
    for k in 0..n {
        for row in (0..k).rev() {
            let sum = (row + 1..=k).fold(Complex::ZERO, |sum, c| sum.add(t.get(row, c).multiply(vectors.get(c, k))));
            let gap = nonzero(t.get(row, row).subtract(t.get(k, k)), t);
            vectors.set(row, k, sum.negate().divide(gap));
        }
    }
    vectors
}

/// Computes the left eigenvectors of an upper triangular matrix, as columns.
fn left_triangular_vectors(t: &Matrix) -> Matrix {
    let n = t.rows;
    let mut vectors = Matrix::identity(n, n);
    for k in 0..n {
        for column in k + 1..n {
            let sum = (k..column)
                .fold(Complex::ZERO, |sum, r| sum.add(t.get(r, column).conjugate().multiply(vectors.get(r, k))));
            let gap = nonzero(t.get(column, column).subtract(t.get(k, k)).conjugate(), t);
            vectors.set(column, k, sum.negate().divide(gap));
        }
    }
    vectors
}

/// Returns `gap`, the difference of two eigenvalues. If the eigenvalues are nearly equal, returns
/// the smallest number that is significant next to the largest element of `t`.
fn nonzero(gap: Complex, t: &Matrix) -> Complex {
    let norm = t.elements().iter().fold(0f64, |m, z| m.max(z.abs()));
    let least = (f64::EPSILON * norm).max(f64::MIN_POSITIVE);
    if gap.abs() < least { complex(least, 0.0) } else { gap }
}

/// Reorders the eigenvalues so that conjugates are adjacent. Returns the original index of each
/// eigenvalue.
fn pair_up(values: &mut [Complex]) -> Vec<usize> {
    let norm = values.iter().fold(0f64, |m, z| m.max(z.abs()));
    let mut order = Vec::with_capacity(values.len());
    let mut left: Vec<usize> = (0..values.len()).collect();
    while !left.is_empty() {
        let first = left.remove(0);
        if values[first].im.abs() <= 1e-12 * norm || left.is_empty() {
            order.push(first);
            continue;
        }
        let distance = |&i: &usize| values[i].subtract(values[first].conjugate()).abs();
        let partner = (0..left.len()).min_by(|&x, &y| distance(&left[x]).total_cmp(&distance(&left[y]))).unwrap_or(0);
        let second = left.remove(partner);
        order.extend(if values[first].im > 0.0 { [first, second] } else { [second, first] });
    }
    let sorted: Vec<Complex> = order.iter().map(|&i| values[i]).collect();
    values.copy_from_slice(&sorted);
    order
}

/// Removes rounding errors. An eigenvalue or eigenvector that is real in exact arithmetic becomes
/// exactly real. Eigenvalues or eigenvectors that are conjugate in exact arithmetic become exactly
/// conjugate.
fn make_real(right: &mut Matrix, left: &mut Matrix, values: &mut [Complex]) {
    let norm = values.iter().fold(0f64, |m, z| m.max(z.abs()));
    let mut k = 0;
    while k < values.len() {
        if values[k].im.abs() <= 1e-12 * norm || k + 1 == values.len() {
            values[k].im = 0.0;
            normalise(right);
            normalise(left);
            for vectors in [&mut *right, &mut *left] {
                (0..vectors.rows).for_each(|r| vectors.set(r, k, complex(vectors.get(r, k).re, 0.0)));
            }
            k += 1;
        } else {
            values[k + 1] = values[k].conjugate();
            for vectors in [&mut *right, &mut *left] {
                (0..vectors.rows).for_each(|r| vectors.set(r, k + 1, vectors.get(r, k).conjugate()));
            }
            k += 2;
        }
    }
}

/// Scales columns to length 1 and makes their largest components real.
fn normalise(vectors: &mut Matrix) {
    for c in 0..vectors.columns {
        let length = (0..vectors.rows).fold(0f64, |n, r| n.hypot(vectors.get(r, c).abs()));
        let largest = (0..vectors.rows)
            .max_by(|&x, &y| vectors.get(x, c).abs().total_cmp(&vectors.get(y, c).abs()))
            .map_or(Complex::ZERO, |r| vectors.get(r, c));
        if length == 0.0 || largest.im == 0.0 && length == 1.0 {
            continue;
        }
        let phase = if largest.im == 0.0 { complex(1.0, 0.0) } else { largest.conjugate().scale(1.0 / largest.abs()) };
        for r in 0..vectors.rows {
            let z = vectors.get(r, c).multiply(phase).scale(1.0 / length);
            vectors.set(r, c, z);
        }
    }
}
