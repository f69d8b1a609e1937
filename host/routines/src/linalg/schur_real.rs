//! Computes the Schur form of a real Hessenberg matrix by QR iteration with double shifts, as
//! LAPACK's functions `*hqr` do.

use num_traits::Float;

use super::matrix::Matrix;
use super::reflector::{reflect, signed};
use super::scalar::{Real, Scalar, precision, real, smallest};
use super::vectors::wide;

/// The real parts and the imaginary parts of eigenvalues. In a conjugate pair, the eigenvalue with
/// a positive imaginary part comes first.
pub(crate) type EigenvalueParts<R> = (Vec<R>, Vec<R>);

/// Converts the Hessenberg matrix `h` to its real Schur form. In this Schur form, diagonal blocks
/// of two rows have standard form. In standard form, the diagonal elements are equal, and the
/// off-diagonal elements have opposite signs. Multiplies `q` from the right by the orthogonal
/// matrix of this transformation. Returns the eigenvalues.
///
/// If the iteration does not converge, the error is the number of the last row that has not
/// converged, counted from 1. If the iteration does not converge, the content of `h` is undefined
/// on return.
pub(crate) fn iterate<R: Real + Scalar>(h: &mut Matrix<R>, q: &mut Matrix<R>) -> Result<EigenvalueParts<R>, usize> {
    wide(
        #[inline(always)]
        || all_rows(h, q),
    )
}

#[inline(always)]
fn all_rows<R: Real + Scalar>(h: &mut Matrix<R>, q: &mut Matrix<R>) -> Result<EigenvalueParts<R>, usize> {
    let n = h.rows();
    let mut values = (vec![real(0.0); n], vec![real(0.0); n]);
    let limit = 30 * n.max(10);
    let mut end = n;
    while end > 0 {
        let last = end - 1;
        let mut rounds = 0;
        let start = loop {
            let start = first_of_block(h, last);
            if start > 0 {
                h[(start, start - 1)] = real(0.0);
            }
            if start + 1 >= last {
                break start;
            }
            rounds += 1;
            if rounds > limit {
                return Err(end);
            }
            let shifts = shifts(h, start, last, rounds);
            let (from, bulge) = start_of_bulge(h, start, last, shifts);
            chase(h, q, start, from, last, bulge);
        };
        match last - start {
            0 => values.0[last] = h[(last, last)],
            _ => {
                let pair = standardise(h, q, start);
                (values.0[start], values.1[start]) = pair[0];
                (values.0[last], values.1[last]) = pair[1];
            }
        }
        end = start;
    }
    Ok(values)
}

/// Returns the first row of the unreduced diagonal block that ends with row `last`. If the returned
/// row is not row 0, its subdiagonal element is negligible.
#[inline(always)]
fn first_of_block<R: Real + Scalar>(h: &Matrix<R>, last: usize) -> usize {
    let n = h.rows();
    let tiny = smallest::<R>() * (real::<R>(n as f64) / precision::<R>());
    let abs = |i: usize, j: usize| Float::abs(h[(i, j)]);
    for k in (1..=last).rev() {
        let below = abs(k, k - 1);
        if below <= tiny {
            return k;
        }
        let mut around = abs(k - 1, k - 1) + abs(k, k);
        if around == real(0.0) {
            around += if k >= 2 { abs(k - 1, k - 2) } else { real(0.0) };
            around += if k + 1 < n { abs(k + 1, k) } else { real(0.0) };
        }
        if below <= precision::<R>() * around {
            // Apply the stricter criterion of Ahues and Tisseur.
            let above = abs(k - 1, k);
            let difference = Float::abs(h[(k - 1, k - 1)] - h[(k, k)]);
            let (large, small) = (Float::max(below, above), Float::min(below, above));
            let (outer, inner) = (Float::max(abs(k, k), difference), Float::min(abs(k, k), difference));
            let sum = outer + large;
            if small * (large / sum) <= Float::max(tiny, precision::<R>() * (inner * (outer / sum))) {
                return k;
            }
        }
    }
    0
}

/// Two shifts. Each shift is a pair of its real part and its imaginary part.
type Shifts<R> = [(R, R); 2];

#[inline(always)]
fn shifts<R: Real + Scalar>(h: &Matrix<R>, start: usize, last: usize, round: usize) -> Shifts<R> {
    let exceptional = |size: R, corner: R| {
        let diagonal = real::<R>(0.75) * size + corner;
        (diagonal, real::<R>(-0.4375) * size, size, diagonal)
    };
    let (a, b, c, d) = match round {
        _ if round.is_multiple_of(20) => {
            let size = Float::abs(h[(last, last - 1)]) + Float::abs(h[(last - 1, last - 2)]);
            exceptional(size, h[(last, last)])
        }
        _ if round.is_multiple_of(10) => {
            let size = Float::abs(h[(start + 1, start)]) + Float::abs(h[(start + 2, start + 1)]);
            exceptional(size, h[(start, start)])
        }
        _ => (h[(last - 1, last - 1)], h[(last - 1, last)], h[(last, last - 1)], h[(last, last)]),
    };
    let zero = real::<R>(0.0);
    let size = Float::abs(a) + Float::abs(b) + Float::abs(c) + Float::abs(d);
    if size == zero {
        return [(zero, zero); 2];
    }
    let (a, b, c, d) = (a / size, b / size, c / size, d / size);
    let middle = (a + d) * real::<R>(0.5);
    let determinant = (a - middle) * (d - middle) - b * c;
    let root = Float::sqrt(Float::abs(determinant));
    if determinant >= zero {
        return [(middle * size, root * size), (middle * size, -root * size)];
    }
    // Both shifts are real. Replace both by the shift that is nearer to the last diagonal element.
    let (plus, minus) = (middle + root, middle - root);
    let nearer = if Float::abs(plus - d) <= Float::abs(minus - d) { plus } else { minus };
    [(nearer * size, zero); 2]
}

/// Returns the row at which a QR sweep over the block starts. Also returns the vector that
/// determines the first reflector of the sweep.
#[inline(always)]
fn start_of_bulge<R: Real + Scalar>(
    h: &Matrix<R>,
    start: usize,
    last: usize,
    [first, second]: Shifts<R>,
) -> (usize, [R; 3]) {
    let mut m = last - 2;
    loop {
        let (here, next) = (h[(m, m)], h[(m + 1, m + 1)]);
        let below = h[(m + 1, m)];
        let size = Float::abs(here - second.0) + Float::abs(second.1) + Float::abs(below);
        let scaled = below / size;
        let mut v = [
            scaled * h[(m, m + 1)] + (here - first.0) * ((here - second.0) / size) - first.1 * (second.1 / size),
            scaled * (here + next - first.0 - second.0),
            scaled * h[(m + 2, m + 1)],
        ];
        let size = Float::abs(v[0]) + Float::abs(v[1]) + Float::abs(v[2]);
        v.iter_mut().for_each(|x| *x /= size);
        if m == start {
            return (m, v);
        }
        let before = h[(m - 1, m - 1)];
        let around = Float::abs(before) + Float::abs(here) + Float::abs(next);
        let kept = Float::abs(h[(m, m - 1)]) * (Float::abs(v[1]) + Float::abs(v[2]));
        if kept <= precision::<R>() * Float::abs(v[0]) * around {
            return (m, v);
        }
        m -= 1;
    }
}

/// Executes one QR sweep. At row `from`, the first reflector creates nonzero elements below the
/// subdiagonal, which are called the bulge. The following reflectors move the bulge down, until it
/// leaves the block at row `last`.
#[inline(always)]
fn chase<R: Real + Scalar>(
    h: &mut Matrix<R>,
    q: &mut Matrix<R>,
    start: usize,
    from: usize,
    last: usize,
    bulge: [R; 3],
) {
    let zero = real::<R>(0.0);
    for k in from..last {
        let rows = 3.min(last - k + 1);
        let mut v = bulge;
        if k > from {
            v = [h[(k, k - 1)], h[(k + 1, k - 1)], if rows == 3 { h[(k + 2, k - 1)] } else { zero }];
        }
        let [head, tail @ ..] = &mut v;
        let tau = reflect(head, &mut tail[..rows - 1]);
        if k > from {
            h[(k, k - 1)] = v[0];
            (1..rows).for_each(|r| h[(k + r, k - 1)] = zero);
        } else if from > start {
            // Apply the reflector to this element too. The reflector would also change the elements
            // below this one, but those elements are negligible. If the reflector is the identity
            // up to a sign, `1 - tau` is that sign.
            let before = h[(k, k - 1)];
            h[(k, k - 1)] = before * (real::<R>(1.0) - tau);
        }
        match rows {
            3 => {
                for j in k..h.columns() {
                    if let [x, y, z] = &mut h.column_mut(j)[k..k + 3] {
                        let sum = tau * (*x + v[1] * *y + v[2] * *z);
                        *x -= sum;
                        *y -= sum * v[1];
                        *z -= sum * v[2];
                    }
                }
                turn_three(h, k, (k + 4).min(last + 1), tau, v);
                let all = q.rows();
                turn_three(q, k, all, tau, v);
            }
            _ => {
                for j in k..h.columns() {
                    if let [x, y] = &mut h.column_mut(j)[k..k + 2] {
                        let sum = tau * (*x + v[1] * *y);
                        *x -= sum;
                        *y -= sum * v[1];
                    }
                }
                turn_two(h, k, last + 1, tau, v);
                let all = q.rows();
                turn_two(q, k, all, tau, v);
            }
        }
    }
}

/// Applies a reflector from the right to columns `k..k + 3`, in the rows before `end`.
#[inline(always)]
fn turn_three<R: Real + Scalar>(m: &mut Matrix<R>, k: usize, end: usize, tau: R, v: [R; 3]) {
    let [x, y, z] = m.neighbours::<3>(k);
    for ((x, y), z) in x[..end].iter_mut().zip(&mut y[..end]).zip(&mut z[..end]) {
        let sum = tau * (*x + v[1] * *y + v[2] * *z);
        *x -= sum;
        *y -= sum * v[1];
        *z -= sum * v[2];
    }
}

#[inline(always)]
fn turn_two<R: Real + Scalar>(m: &mut Matrix<R>, k: usize, end: usize, tau: R, v: [R; 3]) {
    let [x, y] = m.neighbours::<2>(k);
    for (x, y) in x[..end].iter_mut().zip(&mut y[..end]) {
        let sum = tau * (*x + v[1] * *y);
        *x -= sum;
        *y -= sum * v[1];
    }
}

/// Transforms the diagonal block in rows `i` and `i + 1` to standard form. Returns the real and
/// imaginary parts of its two eigenvalues.
#[inline(always)]
fn standardise<R: Real + Scalar>(h: &mut Matrix<R>, q: &mut Matrix<R>, i: usize) -> [(R, R); 2] {
    let block = Block2x2 { a: h[(i, i)], b: h[(i, i + 1)], c: h[(i + 1, i)], d: h[(i + 1, i + 1)] };
    let (block, cosine, sine) = block.standard();
    for j in i + 2..h.columns() {
        if let [x, y] = &mut h.column_mut(j)[i..i + 2] {
            (*x, *y) = (cosine * *x + sine * *y, cosine * *y - sine * *x);
        }
    }
    let rotate = |m: &mut Matrix<R>, end: usize| {
        let [x, y] = m.neighbours::<2>(i);
        for (x, y) in x[..end].iter_mut().zip(&mut y[..end]) {
            (*x, *y) = (cosine * *x + sine * *y, cosine * *y - sine * *x);
        }
    };
    rotate(h, i);
    let all = q.rows();
    rotate(q, all);
    (h[(i, i)], h[(i, i + 1)], h[(i + 1, i)], h[(i + 1, i + 1)]) = (block.a, block.b, block.c, block.d);
    let zero = real(0.0);
    let imaginary =
        if block.c == zero { zero } else { Float::sqrt(Float::abs(block.b)) * Float::sqrt(Float::abs(block.c)) };
    [(block.a, imaginary), (block.d, -imaginary)]
}

/// The matrix with the rows `(a, b)` and `(c, d)`.
#[derive(Clone, Copy)]
struct Block2x2<R> {
    a: R,
    b: R,
    c: R,
    d: R,
}

impl<R: Real + Scalar> Block2x2<R> {
    /// Returns the standard form of the block, and the cosine and sine of the rotation that
    /// transforms the block to this form.
    #[inline(always)]
    fn standard(self) -> (Block2x2<R>, R, R) {
        let (zero, one, half) = (real::<R>(0.0), real::<R>(1.0), real::<R>(0.5));
        let Block2x2 { a, b, c, d } = self;
        let opposite = |x: R, y: R| signed(one, x) != signed(one, y);
        if c == zero {
            return (self, one, zero);
        }
        if b == zero {
            return (Block2x2 { a: d, b: -c, c: zero, d: a }, zero, one);
        }
        if a - d == zero && opposite(b, c) {
            return (self, one, zero);
        }
        let p = half * (a - d);
        let larger = Float::max(Float::abs(b), Float::abs(c));
        let smaller = Float::min(Float::abs(b), Float::abs(c)) * signed(one, b) * signed(one, c);
        let scale = Float::max(Float::abs(p), larger);
        let z = (p / scale) * p + (larger / scale) * smaller;
        if z >= real::<R>(4.0) * precision::<R>() {
            let z = p + signed(Float::sqrt(scale) * Float::sqrt(z), p);
            let length = Float::hypot(c, z);
            let block = Block2x2 { a: d + z, b: b - c, c: zero, d: d - (larger / z) * smaller };
            return (block, z / length, c / length);
        }
        self.with_equal_diagonal()
    }

    /// Computes the results of `standard` for blocks with complex eigenvalues, and for blocks whose
    /// real eigenvalues are nearly equal.
    #[inline(always)]
    fn with_equal_diagonal(self) -> (Block2x2<R>, R, R) {
        let (zero, one, half) = (real::<R>(0.0), real::<R>(1.0), real::<R>(0.5));
        let Block2x2 { a, b, c, d } = self;
        let (sum, difference) = (b + c, a - d);
        let length = Float::hypot(sum, difference);
        let mut cosine = Float::sqrt(half * (one + Float::abs(sum) / length));
        let mut sine = -(half * difference / (length * cosine)) * signed(one, sum);
        let (aa, bb) = (a * cosine + b * sine, b * cosine - a * sine);
        let (cc, dd) = (c * cosine + d * sine, d * cosine - c * sine);
        let (a, b) = (aa * cosine + cc * sine, bb * cosine + dd * sine);
        let (c, d) = (cc * cosine - aa * sine, dd * cosine - bb * sine);
        let middle = half * (a + d);
        let mut block = Block2x2 { a: middle, b, c, d: middle };
        if c == zero {
            return (block, cosine, sine);
        }
        if b == zero {
            block = Block2x2 { b: -c, c: zero, ..block };
            return (block, -sine, cosine);
        }
        if signed(one, b) == signed(one, c) {
            // The off-diagonal elements have equal signs, so the eigenvalues are real.
            let (root_b, root_c) = (Float::sqrt(Float::abs(b)), Float::sqrt(Float::abs(c)));
            let p = signed(root_b * root_c, c);
            let factor = one / Float::sqrt(Float::abs(b + c));
            block = Block2x2 { a: middle + p, b: b - c, c: zero, d: middle - p };
            let (cosine_2, sine_2) = (root_b * factor, root_c * factor);
            (cosine, sine) = (cosine * cosine_2 - sine * sine_2, cosine * sine_2 + sine * cosine_2);
        }
        (block, cosine, sine)
    }
}
