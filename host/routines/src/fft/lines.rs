//! Fourier transforms of lines. A line is the sequence of elements along the transformed dimension.
//! Each transform is planned once, for one line length.

use std::sync::Arc;

use bytemuck::Pod;
use num_complex::Complex;
use rustfft::{Fft, FftDirection, FftNum};

use super::planner;
use crate::{RoutineError, scratch as reserve};

/// A real type for which transforms are implemented: an element type of arrays, or vectors whose
/// lanes have this type.
pub(super) trait TransformReal: FftNum + Pod {
    /// The element type of arrays.
    type Element: TransformReal;

    fn rounded(value: f64) -> Self;

    /// Returns a number whose lanes are equal to `element`.
    fn splat(element: Self::Element) -> Self;

    fn reciprocal(length: usize) -> Self {
        Self::rounded(1.0 / length as f64)
    }

    /// Plans the transform of complex lines of this length.
    fn plan(length: usize, direction: FftDirection) -> Arc<dyn Fft<Self>>;
}

impl TransformReal for f32 {
    type Element = f32;

    fn splat(element: f32) -> f32 {
        element
    }

    fn rounded(value: f64) -> Self {
        value as f32
    }

    fn plan(length: usize, direction: FftDirection) -> Arc<dyn Fft<f32>> {
        planner::plan(length, direction)
    }
}

impl TransformReal for f64 {
    type Element = f64;

    fn splat(element: f64) -> f64 {
        element
    }

    fn rounded(value: f64) -> Self {
        value
    }

    fn plan(length: usize, direction: FftDirection) -> Arc<dyn Fft<f64>> {
        planner::plan(length, direction)
    }
}

/// Returns a complex number whose lanes are equal to `element`.
#[inline(always)]
pub(super) fn splat<T: TransformReal>(element: Complex<T::Element>) -> Complex<T> {
    Complex::new(T::splat(element.re), T::splat(element.im))
}

/// An operation that reads a line of elements and writes another line.
pub(super) trait LineTransform: Sync {
    type Input: Pod + Send + Sync;
    type Output: Pod + Send + Sync;
    type Scratch: Send;

    /// Whether one call of [`transform`](LineTransform::transform) can transform several adjacent
    /// lines.
    const TAKES_ADJACENT_LINES: bool = false;

    /// Returns the length of the line that the transform reads, and the length of the line that it
    /// writes, in elements.
    fn lengths(&self) -> (usize, usize);

    /// Allocates scratch memory for a transform. The content of the scratch memory is undefined
    /// before and after the transform.
    fn scratch(&self) -> Result<Self::Scratch, RoutineError>;

    /// Returns the number of lines that the transform computes at once.
    fn together(&self) -> usize {
        1
    }

    fn transform(&self, input: &[Self::Input], output: &mut [Self::Output], scratch: &mut Self::Scratch);

    /// Transforms lines that start `distance` elements apart, and writes the results as adjacent
    /// lines.
    fn transform_lines(
        &self,
        input: &[Self::Input],
        distance: usize,
        output: &mut [Self::Output],
        scratch: &mut Self::Scratch,
    ) {
        let (read, written) = self.lengths();
        if Self::TAKES_ADJACENT_LINES && distance == read {
            return self.transform(&input[..output.len() / written * read], output, scratch);
        }
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
    /// Plans the transform of lines of `length` elements. The inverse transform divides its result
    /// by the length of a line.
    pub fn new(length: usize, inverse: bool) -> Self {
        let direction = if inverse { FftDirection::Inverse } else { FftDirection::Forward };
        let plan = T::plan(length, direction);
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

    // A call of the crate costs as much time as the transform of a short line.
    const TAKES_ADJACENT_LINES: bool = true;

    fn lengths(&self) -> (usize, usize) {
        (self.plan.len(), self.plan.len())
    }

    fn scratch(&self) -> Result<Self::Scratch, RoutineError> {
        reserve(self.plan.get_immutable_scratch_len())
    }

    #[inline(always)]
    fn transform(&self, input: &[Complex<T>], output: &mut [Complex<T>], scratch: &mut Self::Scratch) {
        self.plan.process_immutable_with_scratch(input, output, scratch);
        if let Some(scale) = self.scale {
            output.iter_mut().for_each(|z| *z = z.scale(scale));
        }
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

    #[inline(always)]
    fn transform(&self, input: &[T], output: &mut [T], (): &mut ()) {
        output.copy_from_slice(input);
    }
}
