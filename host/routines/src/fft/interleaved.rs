//! Transforms of real lines of odd composite length.
//!
//! A real line of even length can be read as complex numbers, but a real line of odd length cannot.
//! So a line of odd length `n = p·m` is read as `p` interleaved sequences `y_j[i] = x[i·p + j]`.
//! Pairs of sequences are transformed together, as the real and the imaginary part of one complex
//! sequence. This formula defines the transform `X` of the line, where `Y_j` is the transform of
//! `y_j`, and `w_n` is `exp(-2πi/n)`.
//!
//! ```text
//! X[k + m·q] = sum over j of w_p^(j·q) · (w_n^(j·k) · Y_j[k])      0 <= k < m, 0 <= q < p
//! ```
//!
//! `X[n - k]` is the conjugate of `X[k]`, so the sums are computed for `k <= m/2` only. Source of
//! the formula: Cooley and Tukey, "An algorithm for the machine calculation of complex Fourier
//! series" (1965). Source of the transform of two real sequences as one complex sequence: Cooley,
//! Lewis and Welch, "The fast Fourier transform algorithm: programming considerations in the
//! calculation of sine, cosine and Laplace transforms" (1970).

use std::ops::Range;
use std::sync::Arc;

use num_complex::Complex;
use rustfft::{Fft, FftDirection};

use super::lines::{LineTransform, TransformReal, splat};
use super::method::has_only_fast_factors;
use crate::{RoutineError, scratch as reserve};

/// Transform of a real line of odd length `n`. Computes the same elements as
/// [`FromRealLine`](super::whole::FromRealLine).
pub(super) struct InterleavedFromReal<T: TransformReal>(InterleavedLine<T>);

/// Inverse transform to a real line of odd length `n`, divided by `n`. Computes the same elements
/// as [`ToRealLine`](super::whole::ToRealLine).
pub(super) struct InterleavedToReal<T: TransformReal>(InterleavedLine<T>);

/// The plans and factors of a transform or of an inverse transform. The inverse transform with
/// these plans does not divide by `n`.
struct InterleavedLine<T: TransformReal> {
    /// Number of interleaved sequences, `p`.
    sequences: usize,
    /// Length of a sequence, `m`.
    length: usize,
    of_sequences: Arc<dyn Fft<T>>,
    across_sequences: Arc<dyn Fft<T>>,
    /// Element `k·p + j` is `w_n^(j·k)/2`, for `k <= m/2`. For the inverse transform, the element
    /// is the conjugate of `w_n^(j·k)`.
    twiddles: Vec<Complex<T::Element>>,
}

/// Number of elements of each sequence for which the sums across sequences are computed together.
/// The terms of a block remain in the nearest cache.
const BLOCK: usize = 8;

/// Scratch memory of a transform.
pub(super) struct InterleavedScratch<T> {
    /// Pairs of sequences as complex sequences, one pair after the other.
    pairs: Vec<Complex<T>>,
    /// The terms `w_n^(j·k) · Y_j[k]` of a block of sums, or the sums `X[k + m·q]`. Elements with
    /// equal `k` are adjacent.
    across: Vec<Complex<T>>,
    of_transforms: Vec<Complex<T>>,
}

impl<T: TransformReal> InterleavedFromReal<T> {
    /// Plans the transform of lines of `length` elements. Returns `None` if the length is even or
    /// prime, or has no prime factor above 11.
    pub fn new(length: usize) -> Option<Self> {
        Some(InterleavedFromReal(InterleavedLine::new(length, FftDirection::Forward)?))
    }
}

impl<T: TransformReal> LineTransform for InterleavedFromReal<T> {
    type Input = T;
    type Output = Complex<T>;
    type Scratch = InterleavedScratch<T>;

    fn lengths(&self) -> (usize, usize) {
        (self.0.len(), self.0.len() / 2 + 1)
    }

    fn scratch(&self) -> Result<Self::Scratch, RoutineError> {
        self.0.scratch()
    }

    #[inline(always)]
    fn transform(&self, input: &[T], output: &mut [Complex<T>], scratch: &mut Self::Scratch) {
        self.0.forward(input, output, scratch);
    }
}

impl<T: TransformReal> InterleavedToReal<T> {
    /// Plans the transform to lines of `length` elements. Returns `None` if the length is even or
    /// prime, or has no prime factor above 11.
    pub fn new(length: usize) -> Option<Self> {
        Some(InterleavedToReal(InterleavedLine::new(length, FftDirection::Inverse)?))
    }
}

impl<T: TransformReal> LineTransform for InterleavedToReal<T> {
    type Input = Complex<T>;
    type Output = T;
    type Scratch = InterleavedScratch<T>;

    fn lengths(&self) -> (usize, usize) {
        (self.0.len() / 2 + 1, self.0.len())
    }

    fn scratch(&self) -> Result<Self::Scratch, RoutineError> {
        self.0.scratch()
    }

    #[inline(always)]
    fn transform(&self, input: &[Complex<T>], output: &mut [T], scratch: &mut Self::Scratch) {
        self.0.inverse(input, output, scratch);
        let scale = T::reciprocal(self.0.len());
        output.iter_mut().for_each(|x| *x = *x * scale);
    }
}

impl<T: TransformReal> InterleavedLine<T> {
    fn new(length: usize, direction: FftDirection) -> Option<Self> {
        if length.is_multiple_of(2) || has_only_fast_factors(length) {
            return None;
        }
        let sequences = largest_divisor_up_to_root(length)?;
        let (n, length) = (length, length / sequences);
        let (sign, factor) = if direction == FftDirection::Forward { (-1.0, 0.5) } else { (1.0, 1.0) };
        let twiddle = |k: usize, j: usize| {
            let angle = sign * std::f64::consts::TAU * (j * k) as f64 / n as f64;
            Complex::new(T::Element::rounded(factor * angle.cos()), T::Element::rounded(factor * angle.sin()))
        };
        let twiddles = (0..=length / 2).flat_map(|k| (0..sequences).map(move |j| twiddle(k, j)));
        Some(InterleavedLine {
            sequences,
            length,
            of_sequences: T::plan(length, direction),
            across_sequences: T::plan(sequences, direction),
            twiddles: twiddles.collect(),
        })
    }

    /// Returns the length of the line, `n`.
    fn len(&self) -> usize {
        self.sequences * self.length
    }

    fn scratch(&self) -> Result<InterleavedScratch<T>, RoutineError> {
        let of_transforms =
            self.of_sequences.get_inplace_scratch_len().max(self.across_sequences.get_inplace_scratch_len());
        Ok(InterleavedScratch {
            pairs: reserve(self.sequences.div_ceil(2) * self.length)?,
            across: reserve(BLOCK.min(self.length / 2 + 1) * self.sequences)?,
            of_transforms: reserve(of_transforms)?,
        })
    }

    /// Writes the first `n/2+1` elements of the transform of `line`.
    #[inline(always)]
    fn forward(&self, line: &[T], output: &mut [Complex<T>], scratch: &mut InterleavedScratch<T>) {
        let InterleavedScratch { pairs, across, of_transforms } = scratch;
        let (p, m) = (self.sequences, self.length);
        for (pair, sequence) in pairs.chunks_exact_mut(m).enumerate() {
            let has_second = 2 * pair + 1 < p;
            for (z, elements) in sequence.iter_mut().zip(line.chunks_exact(p)) {
                let second = if has_second { elements[2 * pair + 1] } else { T::zero() };
                *z = Complex::new(elements[2 * pair], second);
            }
        }
        self.of_sequences.process_with_scratch(pairs, of_transforms);
        for block in self.blocks_of_sums() {
            let across = &mut across[..block.len() * p];
            for (k, across) in block.clone().zip(across.chunks_exact_mut(p)) {
                let mirror = if k == 0 { 0 } else { m - k };
                let twiddles = &self.twiddles[k * p..][..p];
                for (pair, (across, twiddles)) in across.chunks_mut(2).zip(twiddles.chunks(2)).enumerate() {
                    let (z, c) = (pairs[pair * m + k], pairs[pair * m + mirror].conj());
                    let (sum, difference) = (z + c, z - c);
                    across[0] = sum * splat(twiddles[0]);
                    if let (Some(second), Some(&twiddle)) = (across.get_mut(1), twiddles.get(1)) {
                        // Division by i.
                        *second = Complex::new(difference.im, -difference.re) * splat(twiddle);
                    }
                }
            }
            self.across_sequences.process_with_scratch(across, of_transforms);
            self.each_sum(block, |at, k, is_conjugate| {
                output[k] = if is_conjugate { across[at].conj() } else { across[at] };
            });
        }
    }

    /// Computes the line whose transform begins with the `n/2+1` elements of `input`, and writes
    /// `n` times this line. Ignores the imaginary part of the first element of `input`.
    #[inline(always)]
    fn inverse(&self, input: &[Complex<T>], line: &mut [T], scratch: &mut InterleavedScratch<T>) {
        let InterleavedScratch { pairs, across, of_transforms } = scratch;
        let (p, m) = (self.sequences, self.length);
        for block in self.blocks_of_sums() {
            let across = &mut across[..block.len() * p];
            self.each_sum(block.clone(), |at, k, is_conjugate| {
                across[at] = if is_conjugate { input[k].conj() } else { input[k] };
            });
            if block.start == 0 {
                across[0].im = T::zero();
            }
            self.across_sequences.process_with_scratch(across, of_transforms);
            for (k, across) in block.zip(across.chunks_exact(p)) {
                let mirror = if k == 0 { 0 } else { m - k };
                let twiddles = &self.twiddles[k * p..][..p];
                for (pair, (across, twiddles)) in across.chunks(2).zip(twiddles.chunks(2)).enumerate() {
                    let first = across[0] * splat(twiddles[0]);
                    let second = match (across.get(1), twiddles.get(1)) {
                        (Some(&second), Some(&twiddle)) => second * splat(twiddle),
                        _ => Complex::new(T::zero(), T::zero()),
                    };
                    // The sequences are real, so their transforms have conjugates at `m - k`.
                    pairs[pair * m + k] = Complex::new(first.re - second.im, first.im + second.re);
                    pairs[pair * m + mirror] = Complex::new(first.re + second.im, second.re - first.im);
                }
            }
        }
        self.of_sequences.process_with_scratch(pairs, of_transforms);
        for (pair, sequence) in pairs.chunks_exact(m).enumerate() {
            for (z, elements) in sequence.iter().zip(line.chunks_exact_mut(p)) {
                elements[2 * pair] = z.re;
                if let Some(second) = elements.get_mut(2 * pair + 1) {
                    *second = z.im;
                }
            }
        }
    }

    /// Returns the blocks of numbers `k` whose sums across sequences are computed together.
    fn blocks_of_sums(&self) -> impl Iterator<Item = Range<usize>> {
        let count = self.length / 2 + 1;
        (0..count).step_by(BLOCK).map(move |first| first..count.min(first + BLOCK))
    }

    /// Calls `visit(at, k, is_conjugate)` for each sum across sequences of a block. The sum at
    /// index `at` is `X[k]`, or the conjugate of `X[k]` if `is_conjugate` is true. `k` is at most
    /// `n/2`.
    #[inline(always)]
    fn each_sum(&self, block: Range<usize>, mut visit: impl FnMut(usize, usize, bool)) {
        let (p, m, n) = (self.sequences, self.length, self.len());
        for (row, k) in block.enumerate() {
            for q in 0..p {
                let k = k + m * q;
                let is_conjugate = k > n / 2;
                visit(row * p + q, if is_conjugate { n - k } else { k }, is_conjugate);
            }
        }
    }
}

/// Returns the largest divisor of `n` that is at most the square root of `n`, or `None` if this
/// divisor is 1.
fn largest_divisor_up_to_root(n: usize) -> Option<usize> {
    (2..=n.isqrt()).rev().find(|&divisor| n.is_multiple_of(divisor))
}
