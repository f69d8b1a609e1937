//! Fourier transforms of lines. A line is the sequence of elements along the transformed dimension.
//! Each transform is planned once, for one line length.

use std::sync::Arc;

use bytemuck::Pod;
use num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftDirection, FftNum, FftPlanner};

use crate::{RoutineError, scratch as reserve};

/// A real element type for which transforms are implemented.
pub(super) trait TransformReal: FftNum + Pod {
    fn reciprocal(length: usize) -> Self;
}

impl TransformReal for f32 {
    fn reciprocal(length: usize) -> Self {
        (1.0 / length as f64) as f32
    }
}

impl TransformReal for f64 {
    fn reciprocal(length: usize) -> Self {
        1.0 / length as f64
    }
}

/// An operation that reads a line of elements and writes another line.
pub(super) trait LineTransform: Sync {
    type Input: Pod + Send + Sync;
    type Output: Pod + Send + Sync;
    type Scratch: Send;

    /// Returns the length of the line read and of the line written, in elements.
    fn lengths(&self) -> (usize, usize);

    /// Allocates scratch memory for a transform. The content of the scratch memory is undefined
    /// before and after the transform.
    fn scratch(&self) -> Result<Self::Scratch, RoutineError>;

    /// Returns the number of lines that are computed together.
    fn together(&self) -> usize {
        1
    }

    fn transform(&self, input: &[Self::Input], output: &mut [Self::Output], scratch: &mut Self::Scratch);

    /// Transforms lines that start `distance` elements apart to adjacent lines.
    fn transform_lines(
        &self,
        input: &[Self::Input],
        distance: usize,
        output: &mut [Self::Output],
        scratch: &mut Self::Scratch,
    ) {
        let (read, written) = self.lengths();
        for (input, output) in input.chunks(distance).zip(output.chunks_exact_mut(written)) {
            self.transform(&input[..read], output, scratch);
        }
    }
}

/// Transform of a complex line to a complex line of equal length.
pub(super) struct ComplexLine<T> {
    plan: Arc<dyn Fft<T>>,
    scale: Option<T>,
}

impl<T: TransformReal> ComplexLine<T> {
    /// Plans the transform of lines of `length` elements. The inverse transform divides by the
    /// length.
    pub fn new(length: usize, inverse: bool) -> Self {
        let direction = if inverse { FftDirection::Inverse } else { FftDirection::Forward };
        let plan = FftPlanner::new().plan_fft(length, direction);
        ComplexLine { plan, scale: inverse.then(|| T::reciprocal(length)) }
    }

    pub fn length(&self) -> usize {
        self.plan.len()
    }
}

impl<T: TransformReal> LineTransform for ComplexLine<T> {
    type Input = Complex<T>;
    type Output = Complex<T>;
    type Scratch = Vec<Complex<T>>;

    fn lengths(&self) -> (usize, usize) {
        (self.plan.len(), self.plan.len())
    }

    fn scratch(&self) -> Result<Self::Scratch, RoutineError> {
        reserve(self.plan.get_immutable_scratch_len())
    }

    fn transform(&self, input: &[Complex<T>], output: &mut [Complex<T>], scratch: &mut Self::Scratch) {
        self.plan.process_immutable_with_scratch(input, output, scratch);
        if let Some(scale) = self.scale {
            output.iter_mut().for_each(|z| *z = z.scale(scale));
        }
    }
}

/// Transform of a real line of length `n`. The result consists of the first `n/2+1` elements of the
/// complex transform. These elements determine all other elements of the transform.
pub(super) struct FromRealLine<T> {
    plan: Arc<dyn RealToComplex<T>>,
}

impl<T: TransformReal> FromRealLine<T> {
    pub fn new(length: usize) -> Self {
        FromRealLine { plan: RealFftPlanner::new().plan_fft_forward(length) }
    }
}

impl<T: TransformReal> LineTransform for FromRealLine<T> {
    type Input = T;
    type Output = Complex<T>;
    type Scratch = (Vec<T>, Vec<Complex<T>>);

    fn lengths(&self) -> (usize, usize) {
        (self.plan.len(), self.plan.complex_len())
    }

    fn scratch(&self) -> Result<Self::Scratch, RoutineError> {
        Ok((reserve(self.plan.len())?, reserve(self.plan.get_scratch_len())?))
    }

    fn transform(&self, input: &[T], output: &mut [Complex<T>], (line, scratch): &mut Self::Scratch) {
        line.copy_from_slice(input);
        let transformed = self.plan.process_with_scratch(line, output, scratch);
        debug_assert!(transformed.is_ok());
    }
}

/// Inverse transform to a real line of length `n`, divided by `n`. The input consists of the first
/// `n/2+1` elements of a complex line. The other elements of that line are conjugates of input
/// elements. So the first element must be real, and the middle element too if `n` is even. The
/// transform ignores the imaginary parts of these two elements.
pub(super) struct ToRealLine<T> {
    plan: Arc<dyn ComplexToReal<T>>,
    scale: T,
}

impl<T: TransformReal> ToRealLine<T> {
    pub fn new(length: usize) -> Self {
        ToRealLine { plan: RealFftPlanner::new().plan_fft_inverse(length), scale: T::reciprocal(length) }
    }
}

impl<T: TransformReal> LineTransform for ToRealLine<T> {
    type Input = Complex<T>;
    type Output = T;
    type Scratch = (Vec<Complex<T>>, Vec<Complex<T>>);

    fn lengths(&self) -> (usize, usize) {
        (self.plan.complex_len(), self.plan.len())
    }

    fn scratch(&self) -> Result<Self::Scratch, RoutineError> {
        Ok((reserve(self.plan.complex_len())?, reserve(self.plan.get_scratch_len())?))
    }

    fn transform(&self, input: &[Complex<T>], output: &mut [T], (line, scratch): &mut Self::Scratch) {
        line.copy_from_slice(input);
        line[0].im = T::zero();
        if output.len().is_multiple_of(2) {
            line[output.len() / 2].im = T::zero();
        }
        let transformed = self.plan.process_with_scratch(line, output, scratch);
        debug_assert!(transformed.is_ok());
        output.iter_mut().for_each(|x| *x = *x * self.scale);
    }
}

/// Copies a line without a change.
pub(super) struct CopiedLine<T> {
    pub length: usize,
    pub element: std::marker::PhantomData<fn() -> T>,
}

impl<T: Pod + Send + Sync> LineTransform for CopiedLine<T> {
    type Input = T;
    type Output = T;
    type Scratch = ();

    fn lengths(&self) -> (usize, usize) {
        (self.length, self.length)
    }

    fn scratch(&self) -> Result<(), RoutineError> {
        Ok(())
    }

    fn transform(&self, input: &[T], output: &mut [T], (): &mut ()) {
        output.copy_from_slice(input);
    }
}
