//! The real Schur form, computed by QR iteration on the Hessenberg form. Each step applies two
//! shifts with a real sum and product, so that all numbers remain real.

use super::Matrix;
use super::hessenberg::hessenberg;
use super::householder::unitary_below;
use crate::number::{Complex, complex};

/// Number of QR steps in a group. While no new eigenvalue is found, the last step of each group
/// uses exceptional shifts.
const PATIENCE: usize = 10;

/// The real Schur form `A = Q T Qᵀ` with orthogonal `Q`. `T` has blocks of one or two rows on its
/// diagonal. In a block of two rows, the diagonal elements are equal, and the other two elements
/// have opposite signs.
pub(crate) struct RealSchur {
    pub t: Matrix,
    pub q: Matrix,
    pub values: Vec<Complex>,
}

/// Computes the real Schur form of a real matrix. Returns `None` if the matrix is not finite, or
/// the iteration does not converge.
pub(crate) fn real_schur(a: &Matrix) -> Option<RealSchur> {
    if !a.is_finite() {
        return None;
    }
    let n = a.rows;
    let largest = a.elements().iter().fold(0f64, |most, z| most.max(z.re.abs()));
    // After scaling, products of three elements neither overflow nor vanish.
    let scale = if largest == 0.0 { 1.0 } else { 2f64.powi(largest.log2().floor() as i32) };
    let (factors, taus) = hessenberg(Matrix::from_fn(n, n, |r, c| complex(a.get(r, c).re / scale, 0.0)), 0, n);
    let q = unitary_below(&factors, &taus);
    let mut rows = Rows {
        n,
        t: (0..n * n).map(|at| if at / n > at % n + 1 { 0.0 } else { factors.get(at / n, at % n).re }).collect(),
        q: (0..n * n).map(|at| q.get(at / n, at % n).re).collect(),
    };
    rows.iterate().then(|| rows.complete(scale))
}

/// `T` and `Q` during the computation, in row-major order.
struct Rows {
    n: usize,
    t: Vec<f64>,
    q: Vec<f64>,
}

impl Rows {
    fn at(&self, row: usize, column: usize) -> f64 {
        self.t[row * self.n + column]
    }

    fn set(&mut self, row: usize, column: usize, value: f64) {
        self.t[row * self.n + column] = value;
    }

    /// Splits off blocks from the bottom up, until no block has more than two rows. Returns whether
    /// the iteration converges.
    fn iterate(&mut self) -> bool {
        let (mut end, mut steps) = (self.n, 0);
        while end > 0 {
            let last = end - 1;
            let start = (1..end).rev().find(|&k| self.is_negligible(k)).unwrap_or(0);
            if start > 0 {
                self.set(start, start - 1, 0.0);
            }
            if end - start <= 2 {
                if end - start == 2 {
                    self.standardise(start);
                }
                (end, steps) = (start, 0);
                continue;
            }
            steps += 1;
            if steps > 3 * PATIENCE * self.n.max(PATIENCE) {
                return false;
            }
            self.double_step(start, last, steps % PATIENCE == 0);
        }
        true
    }

    /// Whether an element below the diagonal is negligible.
    fn is_negligible(&self, row: usize) -> bool {
        let neighbours = self.at(row - 1, row - 1).abs() + self.at(row, row).abs();
        let scale = if neighbours == 0.0 { f64::MIN_POSITIVE } else { neighbours };
        self.at(row, row - 1).abs() <= f64::EPSILON * scale
    }

    /// Performs one QR step on the rows and columns from `start` to `last`. The shifts are the
    /// eigenvalues of the block that the last two rows form. If `is_made_up` is set, the QR step
    /// uses exceptional shifts instead of eigenvalues.
    fn double_step(&mut self, start: usize, last: usize, is_made_up: bool) {
        let (sum, product) = if is_made_up {
            let size = self.at(last, last - 1).abs() + self.at(last - 1, last - 2).abs();
            (1.5 * size, size * size)
        } else {
            let (a, b) = (self.at(last - 1, last - 1), self.at(last - 1, last));
            let (c, d) = (self.at(last, last - 1), self.at(last, last));
            (a + d, a * d - b * c)
        };
        // The first column of T² - sum T + product.
        let (a, b) = (self.at(start, start), self.at(start, start + 1));
        let (c, d) = (self.at(start + 1, start), self.at(start + 1, start + 1));
        let mut column = vec![a * a + b * c - sum * a + product, c * (a + d - sum), c * self.at(start + 2, start + 1)];
        for k in start..last {
            if k > start {
                column = (k..=last.min(k + 2)).map(|row| self.at(row, k - 1)).collect();
            }
            column.truncate(last - k + 1);
            self.reflect(k, &column);
            if k > start {
                (k + 1..=last.min(k + 2)).for_each(|row| self.set(row, k - 1, 0.0));
            }
        }
    }

    /// Applies a reflection to the rows and columns from `first` on. The reflection makes all
    /// elements of `column` zero except the first.
    fn reflect(&mut self, first: usize, column: &[f64]) {
        let length = column.iter().fold(0f64, |sum, x| sum.hypot(*x));
        if length == 0.0 {
            return;
        }
        let mut normal: Vec<f64> = column.iter().map(|x| x / length).collect();
        normal[0] += f64::copysign(1.0, normal[0]);
        let factor = 2.0 / normal.iter().map(|x| x * x).sum::<f64>();
        let n = self.n;
        for c in 0..n {
            reflect(&mut self.t, &normal, factor, |i| (first + i) * n + c);
        }
        for r in 0..n {
            reflect(&mut self.t, &normal, factor, |i| r * n + first + i);
            reflect(&mut self.q, &normal, factor, |i| r * n + first + i);
        }
    }

    /// If the eigenvalues of a block of two rows are real, makes the block triangular. If the
    /// eigenvalues are not real, makes the block's diagonal elements equal.
    fn standardise(&mut self, first: usize) {
        let second = first + 1;
        let (a, b) = (self.at(first, first), self.at(first, second));
        let (c, d) = (self.at(second, first), self.at(second, second));
        let half = (a - d) / 2.0;
        let square = half * half + b * c;
        let is_real = square >= 0.0;
        let (cos, sin) = if c == 0.0 {
            (1.0, 0.0)
        } else if is_real {
            let (x, y) = (half + f64::copysign(square.sqrt(), half), c);
            let length = x.hypot(y);
            (x / length, y / length)
        } else {
            let sum = b + c;
            let length = sum.hypot(a - d);
            let cos = (0.5 * (1.0 + sum.abs() / length)).sqrt();
            (cos, -(half / (length * cos)) * f64::copysign(1.0, sum))
        };
        let n = self.n;
        for k in 0..n {
            rotate(&mut self.t, cos, sin, [first * n + k, second * n + k]);
        }
        for k in 0..n {
            rotate(&mut self.t, cos, sin, [k * n + first, k * n + second]);
            rotate(&mut self.q, cos, sin, [k * n + first, k * n + second]);
        }
        if is_real {
            self.set(second, first, 0.0);
        } else {
            let mean = (self.at(first, first) + self.at(second, second)) / 2.0;
            self.set(first, first, mean);
            self.set(second, second, mean);
            // Rounding has made two nearly equal eigenvalues real.
            if self.at(first, second) * self.at(second, first) >= 0.0 {
                self.standardise(first);
            }
        }
    }

    fn complete(mut self, scale: f64) -> RealSchur {
        self.t.iter_mut().for_each(|x| *x *= scale);
        let n = self.n;
        let mut values: Vec<Complex> = (0..n).map(|i| complex(self.at(i, i), 0.0)).collect();
        for k in 1..n {
            let (above, below) = (self.at(k - 1, k), self.at(k, k - 1));
            if below != 0.0 {
                let im = above.abs().sqrt() * below.abs().sqrt();
                (values[k - 1].im, values[k].im) = (im, -im);
            }
        }
        let matrix = |of: &[f64]| Matrix::from_fn(n, n, |r, c| complex(of[r * n + c], 0.0));
        RealSchur { t: matrix(&self.t), q: matrix(&self.q), values }
    }
}

/// Computes `x - factor normal (normalᵀ x)`, where element `i` of `x` is at the position
/// `place(i)`.
fn reflect(elements: &mut [f64], normal: &[f64], factor: f64, place: impl Fn(usize) -> usize) {
    let product: f64 = normal.iter().enumerate().map(|(i, x)| x * elements[place(i)]).sum();
    normal.iter().enumerate().for_each(|(i, x)| elements[place(i)] -= factor * product * x);
}

fn rotate(elements: &mut [f64], cos: f64, sin: f64, [first, second]: [usize; 2]) {
    let (x, y) = (elements[first], elements[second]);
    (elements[first], elements[second]) = (cos * x + sin * y, cos * y - sin * x);
}
