//! Eigenvalues and eigenvectors of symmetric and Hermitian matrices: reduction to tridiagonal form,
//! then implicit QL or QR iteration. Every step follows LAPACK, so that the signs of the
//! eigenvectors agree with LAPACK's.

use std::cmp::Ordering;

use super::Matrix;
use super::householder::{apply_left, apply_right, reflector, unitary_below};
use crate::number::{Complex, complex};

/// A matrix reduced to real tridiagonal form.
pub(crate) struct TridiagonalForm {
    /// Matrix that holds the reflectors' tails next to the diagonals, in LAPACK's storage format.
    pub factors: Matrix,
    pub diagonal: Vec<f64>,
    pub off_diagonal: Vec<f64>,
    pub taus: Vec<Complex>,
}

/// Reduces a Hermitian matrix to tridiagonal form. Reads only the lower triangle if `lower` is set,
/// else only the upper triangle.
pub(crate) fn tridiagonal_form(a: &Matrix, lower: bool) -> TridiagonalForm {
    if lower {
        return reduce_lower(a);
    }
    // If rows and columns are reversed, the upper triangle becomes the lower triangle.
    let mut form = reduce_lower(&a.reversed());
    form.factors = form.factors.reversed();
    form.diagonal.reverse();
    form.off_diagonal.reverse();
    form.taus.reverse();
    form
}

fn reduce_lower(a: &Matrix) -> TridiagonalForm {
    let n = a.rows;
    let mut factors = a.clone();
    let mut full = Matrix::from_fn(n, n, |r, c| match r.cmp(&c) {
        Ordering::Greater => a.get(r, c),
        Ordering::Equal => complex(a.get(r, r).re, 0.0),
        Ordering::Less => a.get(c, r).conjugate(),
    });
    let (mut off_diagonal, mut taus) = (Vec::new(), Vec::new());
    for j in 0..n.saturating_sub(1) {
        let below: Vec<Complex> = (j + 2..n).map(|r| full.get(r, j)).collect();
        let h = reflector(full.get(j + 1, j), &below);
        apply_left(&mut full, &h.tail, h.tau.conjugate(), j + 1, j + 1..n);
        apply_right(&mut full, &h.tail, h.tau, j + 1, j + 1..n);
        factors.set(j + 1, j, h.beta);
        h.tail.iter().enumerate().for_each(|(i, v)| factors.set(j + 2 + i, j, *v));
        off_diagonal.push(h.beta.re);
        taus.push(h.tau);
    }
    let diagonal: Vec<f64> = (0..n).map(|i| full.get(i, i).re).collect();
    diagonal.iter().enumerate().for_each(|(i, &re)| factors.set(i, i, Complex { re, im: 0.0 }));
    TridiagonalForm { factors, diagonal, off_diagonal, taus }
}

/// Eigenvalues in ascending order, and eigenvectors as columns.
pub(crate) struct SymmetricEigen {
    pub values: Vec<f64>,
    pub vectors: Matrix,
    pub converged: bool,
}

/// Computes eigenvalues and eigenvectors of a Hermitian matrix. Reads only the lower triangle if
/// `lower` is set, else only the upper triangle. `epsilon` is the relative precision at which the
/// iteration stops.
pub(crate) fn symmetric_eigen(a: &Matrix, lower: bool, epsilon: f64) -> SymmetricEigen {
    let form = if lower { reduce_lower(a) } else { reduce_lower(&a.reversed()) };
    let mut vectors = unitary_below(&form.factors, &form.taus);
    let (mut diagonal, mut off_diagonal) = (form.diagonal, form.off_diagonal);
    if !lower {
        vectors = vectors.reversed();
        diagonal.reverse();
        off_diagonal.reverse();
    }
    let mut iteration = Iteration { d: diagonal, e: off_diagonal, z: vectors, epsilon, steps_left: 30 * a.rows };
    let converged = iteration.run();
    iteration.sort();
    SymmetricEigen { values: iteration.d, vectors: iteration.z, converged }
}

/// State of the iteration: the diagonals of the tridiagonal matrix, and the eigenvectors computed
/// so far.
struct Iteration {
    d: Vec<f64>,
    e: Vec<f64>,
    z: Matrix,
    epsilon: f64,
    steps_left: usize,
}

impl Iteration {
    fn run(&mut self) -> bool {
        let n = self.d.len();
        if self.d.iter().chain(&self.e).any(|x| !x.is_finite()) {
            return false;
        }
        let mut start = 0;
        while start < n {
            let end = (start..n - 1).find(|&m| self.splits(m)).unwrap_or(n - 1);
            if end < n - 1 {
                self.e[end] = 0.0;
            }
            if end == start {
                start += 1;
                continue;
            }
            let ends = if self.d[end].abs() < self.d[start].abs() { (end, start) } else { (start, end) };
            if !self.solve(ends.0, ends.1) {
                return false;
            }
            // The block is examined again until it has split into single elements.
            if (start..end).all(|m| self.e[m] == 0.0) {
                start = end + 1;
            }
        }
        true
    }

    fn splits(&self, m: usize) -> bool {
        self.e[m].abs() <= self.d[m].abs().sqrt() * self.d[m + 1].abs().sqrt() * self.epsilon
    }

    /// Whether the off-diagonal element between rows `m` and `m + 1` is negligible.
    fn negligible(&self, m: usize) -> bool {
        let bound = self.epsilon * self.epsilon * self.d[m].abs() * self.d[m + 1].abs();
        self.e[m] * self.e[m] <= bound + f64::from(f32::MIN_POSITIVE) * f64::MIN_POSITIVE
    }

    /// If `first <= last`, performs QL iteration on rows `first..=last`. If `first > last`,
    /// performs QR iteration on rows `last..=first`. Eigenvalues converge at row `first`. Returns
    /// whether the iteration converges.
    fn solve(&mut self, first: usize, last: usize) -> bool {
        let (mut solved, length) = (0, first.abs_diff(last) + 1);
        while solved < length {
            let row = |k: usize| if first <= last { first + solved + k } else { first - solved - k };
            let between = |k: usize| row(k).min(row(k + 1));
            let rest = length - 1 - solved;
            let split = (0..rest).find(|&k| self.negligible(between(k)));
            if let Some(k) = split {
                self.e[between(k)] = 0.0;
            }
            match split.unwrap_or(rest) {
                0 => solved += 1,
                1 => {
                    self.two_by_two(between(0));
                    solved += 2;
                }
                _ if self.steps_left == 0 => return false,
                k => {
                    self.steps_left -= 1;
                    self.step(row(0), row(k));
                }
            }
        }
        true
    }

    /// Performs one step of QL if `l < m`, else one step of QR. The rotations run from row `m` to
    /// row `l`.
    fn step(&mut self, l: usize, m: usize) {
        let count = l.abs_diff(m);
        let row = |k: usize| if l < m { m - k } else { m + k };
        let between = |k: usize| row(k).min(row(k + 1));
        let (shift, next, edge) = (self.d[l], self.d[row(count - 1)], self.e[between(count - 1)]);
        let g = (next - shift) / (2.0 * edge);
        let mut g = self.d[m] - shift + edge / (g + g.hypot(1.0).copysign(g));
        let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
        let mut rotations = Vec::with_capacity(count);
        for k in 0..count {
            let (f, b) = (s * self.e[between(k)], c * self.e[between(k)]);
            let r;
            (c, s, r) = rotation(g, f);
            if k > 0 {
                self.e[between(k - 1)] = r;
            }
            g = self.d[row(k)] - p;
            let r = (self.d[row(k + 1)] - g) * s + 2.0 * c * b;
            p = s * r;
            self.d[row(k)] = g + p;
            g = c * r - b;
            rotations.push((between(k), c, if l < m { -s } else { s }));
        }
        rotations.into_iter().for_each(|(i, c, s)| self.rotate(i, c, s));
        self.d[l] -= p;
        self.e[between(count - 1)] = g;
    }

    /// Diagonalises the block of rows `i` and `i + 1`.
    fn two_by_two(&mut self, i: usize) {
        let (larger, smaller, c, s) = eigen_two_by_two(self.d[i], self.e[i], self.d[i + 1]);
        self.rotate(i, c, s);
        self.d[i] = larger;
        self.d[i + 1] = smaller;
        self.e[i] = 0.0;
    }

    /// Rotates columns `i` and `i + 1` of the vectors.
    fn rotate(&mut self, i: usize, c: f64, s: f64) {
        for row in 0..self.z.rows {
            let (a, b) = (self.z.get(row, i), self.z.get(row, i + 1));
            self.z.set(row, i + 1, b.scale(c).subtract(a.scale(s)));
            self.z.set(row, i, b.scale(s).add(a.scale(c)));
        }
    }

    /// Sorts eigenvalues and eigenvectors by selection, with the same exchanges as LAPACK.
    fn sort(&mut self) {
        for i in 0..self.d.len() {
            let smallest = (i..self.d.len()).fold(i, |best, j| if self.d[j] < self.d[best] { j } else { best });
            if smallest != i {
                self.d.swap(i, smallest);
                self.z.swap_columns(i, smallest);
            }
        }
    }
}

/// Returns the rotation of `(f, g)` to `(r, 0)`: cosine, sine, r.
fn rotation(f: f64, g: f64) -> (f64, f64, f64) {
    if g == 0.0 {
        return (1.0, 0.0, f);
    }
    if f == 0.0 {
        return (0.0, 1f64.copysign(g), g.abs());
    }
    let r = f.hypot(g).copysign(f);
    (f.abs() / r.abs(), g / r, r)
}

/// Returns the two eigenvalues of `((a, b), (b, c))`, then the unit eigenvector of the first
/// eigenvalue. The first returned eigenvalue has the larger absolute value.
fn eigen_two_by_two(a: f64, b: f64, c: f64) -> (f64, f64, f64, f64) {
    let (sum, difference, twice) = (a + c, a - c, b + b);
    let root = difference.hypot(twice);
    let (larger, smaller) = if a.abs() > c.abs() { (a, c) } else { (c, a) };
    let (first, second, first_sign) = if sum < 0.0 {
        let first = 0.5 * (sum - root);
        (first, (larger / first) * smaller - (b / first) * b, -1)
    } else if sum > 0.0 {
        let first = 0.5 * (sum + root);
        (first, (larger / first) * smaller - (b / first) * b, 1)
    } else {
        (0.5 * root, -0.5 * root, 1)
    };
    let (cosine, second_sign) = if difference >= 0.0 { (difference + root, 1) } else { (difference - root, -1) };
    let (cosine, sine) = if cosine.abs() > twice.abs() {
        let cotangent = -twice / cosine;
        let sine = 1.0 / (1.0 + cotangent * cotangent).sqrt();
        (cotangent * sine, sine)
    } else if twice == 0.0 {
        (1.0, 0.0)
    } else {
        let tangent = -cosine / twice;
        let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
        (cosine, tangent * cosine)
    };
    if first_sign == second_sign { (first, second, -sine, cosine) } else { (first, second, cosine, sine) }
}
