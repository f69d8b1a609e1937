//! Transforms of real lines: each real line is read as one complex line.
//!
//! A line of even length `n = 2m` is read as the complex line `z[i] = x[2i] + i·x[2i+1]`. This
//! formula defines the transform `X` of the real line, where `Z` is the transform of `z`, and `w`
//! is `exp(-2πi/n)`.
//!
//! ```text
//! X[k] = 1/2 (Z[k] + conj Z[m-k]) - i/2 w^k (Z[k] - conj Z[m-k])      0 <= k <= m, Z[m] = Z[0]
//! ```
//!
//! Source: Cooley, Lewis and Welch, "The fast Fourier transform algorithm: programming
//! considerations in the calculation of sine, cosine and Laplace transforms" (1970). A line of odd
//! length is read as a complex line with imaginary parts 0.
//!
//! The crate `realfft` has these transforms too, but its planner compiles the code with AVX for all
//! number types, even for number types that the AVX code does not support.

use std::sync::Arc;

use bytemuck::{cast_slice, cast_slice_mut};
use num_complex::Complex;
use rustfft::{Fft, FftDirection};

use super::lines::{LineTransform, TransformReal, splat};
use crate::{RoutineError, scratch as reserve};

/// Transform of a real line of length `n`. The result consists of the first `n/2+1` elements of the
/// complex transform. The first `n/2+1` elements determine all other elements of the complex
/// transform.
pub(super) struct FromRealLine<T: TransformReal>(RealLine<T>);

/// Inverse transform to a real line of length `n`, divided by `n`. The input consists of the first
/// `n/2+1` elements of a complex line. The other elements of the complex line are conjugates of
/// input elements. So the first element of the input must be real. If `n` is even, the last element
/// of the input must be real too. The transform ignores the imaginary part of an element that must
/// be real.
pub(super) struct ToRealLine<T: TransformReal>(RealLine<T>);

struct RealLine<T: TransformReal> {
    length: usize,
    /// The transform of the complex line.
    plan: Arc<dyn Fft<T>>,
    /// Element `k`, for each `k <= m/2`, is the number by which the transform multiplies
    /// `Z[k] - conj Z[m-k]`. The inverse transform multiplies `X[k] - conj X[m-k]` by this element.
    /// The list is empty if the length is odd.
    twiddles: Vec<Complex<T::Element>>,
}

/// Scratch memory of a transform: memory for the complex line, and memory that `rustfft` needs to
/// transform this line.
type Scratch<T> = (Vec<Complex<T>>, Vec<Complex<T>>);

impl<T: TransformReal> RealLine<T> {
    /// Plans transforms whose twiddles are multiplied by `factor`.
    fn new(length: usize, direction: FftDirection, factor: f64) -> Self {
        if !length.is_multiple_of(2) {
            return RealLine { length, plan: T::plan(length, direction), twiddles: Vec::new() };
        }
        let sign = if direction == FftDirection::Forward { -1.0 } else { 1.0 };
        let twiddle = |k: usize| {
            let angle = std::f64::consts::TAU * k as f64 / length as f64;
            // The product of `sign·i` and `exp(sign·i·angle)`.
            Complex::new(T::Element::rounded(-angle.sin() * factor), T::Element::rounded(sign * angle.cos() * factor))
        };
        let twiddles = (0..=length / 4).map(twiddle).collect();
        RealLine { length, plan: T::plan(length / 2, direction), twiddles }
    }

    fn scratch(&self) -> Result<Scratch<T>, RoutineError> {
        let of_plan = self.plan.get_inplace_scratch_len().max(self.plan.get_immutable_scratch_len());
        Ok((reserve(self.plan.len())?, reserve(of_plan)?))
    }

    /// Writes `sum + difference` to `to[k]` and the conjugate of `sum - difference` to `to[m-k]`
    /// for `0 < k < m`. `sum` is `half (from[k] + conj from[m-k])`, and `difference` is
    /// `twiddles[k] (from[k] - conj from[m-k])`.
    #[inline(always)]
    fn combine(&self, from: &[Complex<T>], to: &mut [Complex<T>], half: T) {
        let m = self.plan.len();
        let each = |a: Complex<T>, b: Complex<T>, twiddle: Complex<T::Element>| {
            let b = b.conj();
            let (sum, difference) = ((a + b).scale(half), (a - b) * splat(twiddle));
            (sum + difference, (sum - difference).conj())
        };
        let (first, last) = to[1..m].split_at_mut((m - 1) / 2);
        let pairs = first.iter_mut().zip(last.iter_mut().rev()).zip(&self.twiddles[1..]);
        let operands = from[1..m].iter().zip(from[1..m].iter().rev());
        for (((low, high), &twiddle), (&a, &b)) in pairs.zip(operands) {
            (*low, *high) = each(a, b, twiddle);
        }
        if m.is_multiple_of(2) {
            (to[m / 2], _) = each(from[m / 2], from[m / 2], self.twiddles[m / 2]);
        }
    }
}

impl<T: TransformReal> FromRealLine<T> {
    pub fn new(length: usize) -> Self {
        FromRealLine(RealLine::new(length, FftDirection::Forward, 0.5))
    }
}

impl<T: TransformReal> LineTransform for FromRealLine<T> {
    type Input = T;
    type Output = Complex<T>;
    type Scratch = Scratch<T>;

    fn lengths(&self) -> (usize, usize) {
        (self.0.length, self.0.length / 2 + 1)
    }

    fn scratch(&self) -> Result<Self::Scratch, RoutineError> {
        self.0.scratch()
    }

    #[inline(always)]
    fn transform(&self, input: &[T], output: &mut [Complex<T>], (line, scratch): &mut Self::Scratch) {
        let RealLine { plan, twiddles, .. } = &self.0;
        if twiddles.is_empty() {
            line.iter_mut().zip(input).for_each(|(z, &x)| *z = Complex::new(x, T::zero()));
            plan.process_with_scratch(line, scratch);
            return output.copy_from_slice(&line[..output.len()]);
        }
        plan.process_immutable_with_scratch(cast_slice(input), line, scratch);
        output[0] = Complex::new(line[0].re + line[0].im, T::zero());
        output[line.len()] = Complex::new(line[0].re - line[0].im, T::zero());
        self.0.combine(line, output, T::reciprocal(2));
    }
}

impl<T: TransformReal> ToRealLine<T> {
    pub fn new(length: usize) -> Self {
        ToRealLine(RealLine::new(length, FftDirection::Inverse, 1.0))
    }
}

impl<T: TransformReal> LineTransform for ToRealLine<T> {
    type Input = Complex<T>;
    type Output = T;
    type Scratch = Scratch<T>;

    fn lengths(&self) -> (usize, usize) {
        (self.0.length / 2 + 1, self.0.length)
    }

    fn scratch(&self) -> Result<Self::Scratch, RoutineError> {
        self.0.scratch()
    }

    #[inline(always)]
    fn transform(&self, input: &[Complex<T>], output: &mut [T], (line, scratch): &mut Self::Scratch) {
        let RealLine { plan, twiddles, length } = &self.0;
        let scale = T::reciprocal(*length);
        if twiddles.is_empty() {
            line[0] = Complex::new(input[0].re, T::zero());
            let (first, last) = line[1..].split_at_mut(length / 2);
            for ((low, high), &x) in first.iter_mut().zip(last.iter_mut().rev()).zip(&input[1..]) {
                (*low, *high) = (x, x.conj());
            }
            plan.process_with_scratch(line, scratch);
            return output.iter_mut().zip(line).for_each(|(x, z)| *x = z.re * scale);
        }
        let (first, middle) = (input[0].re, input[line.len()].re);
        line[0] = Complex::new(first + middle, first - middle);
        self.0.combine(input, line, T::one());
        plan.process_immutable_with_scratch(line, cast_slice_mut(output), scratch);
        output.iter_mut().for_each(|x| *x = *x * scale);
    }
}
