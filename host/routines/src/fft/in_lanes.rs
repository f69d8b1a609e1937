//! Transforms of several lines at once, with one line per lane of a vector.

use bytemuck::{Pod, cast_slice, cast_slice_mut};
use num_complex::Complex;
use pulp::{Simd, WithSimd};

use super::lanes::{Lanes, Vector, gather, scatter};
use super::lines::LineTransform;
use super::registers::vectorize;
use crate::{RoutineError, scratch as reserve};

/// A transform of several lines at once. The transform `L` computes with vectors, and each lane of
/// these vectors belongs to another line.
pub(super) struct InLanes<L>(pub L);

/// A type of real or complex numbers that holds one number per lane of a vector.
pub(super) trait HasLanes: Pod + Send + Sync {
    type Vector: Vector;
    /// Type of the number in one lane.
    type Lane: Pod + Send + Sync;
}

impl<V: Vector> HasLanes for Lanes<V> {
    type Vector = V;
    type Lane = V::Element;
}

impl<V: Vector> HasLanes for Complex<Lanes<V>> {
    type Vector = V;
    type Lane = Complex<V::Element>;
}

impl<L: LineTransform> LineTransform for InLanes<L>
where
    L::Input: HasLanes,
    L::Output: HasLanes,
{
    type Input = <L::Input as HasLanes>::Lane;
    type Output = <L::Output as HasLanes>::Lane;
    type Scratch = (Vec<L::Input>, Vec<L::Output>, L::Scratch);

    fn lengths(&self) -> (usize, usize) {
        self.0.lengths()
    }

    fn together(&self) -> usize {
        <L::Input as HasLanes>::Vector::COUNT
    }

    fn scratch(&self) -> Result<Self::Scratch, RoutineError> {
        let (read, written) = self.0.lengths();
        Ok((reserve(read)?, reserve(written)?, self.0.scratch()?))
    }

    fn transform(&self, input: &[Self::Input], output: &mut [Self::Output], scratch: &mut Self::Scratch) {
        self.transform_lines(input, input.len(), output, scratch);
    }

    fn transform_lines(
        &self,
        input: &[Self::Input],
        distance: usize,
        output: &mut [Self::Output],
        scratch: &mut Self::Scratch,
    ) {
        vectorize(TransformLines { line: self, input, distance, output, scratch });
    }
}

impl<L: LineTransform> InLanes<L>
where
    L::Input: HasLanes,
    L::Output: HasLanes,
{
    /// Implements [`transform_lines`](LineTransform::transform_lines). Functions that are not
    /// inlined would be compiled without AVX, so this function and all functions that it calls for
    /// every element are inlined.
    #[inline(always)]
    fn transform_in_lanes(
        &self,
        input: &[<L::Input as HasLanes>::Lane],
        distance: usize,
        output: &mut [<L::Output as HasLanes>::Lane],
        (read, written, scratch): &mut (Vec<L::Input>, Vec<L::Output>, L::Scratch),
    ) {
        // A complex number is two elements, so a complex line is a line of elements too.
        let elements = size_of::<L::Input>() / size_of::<Lanes<<L::Input as HasLanes>::Vector>>();
        let together = <L::Input as HasLanes>::Vector::COUNT;
        for (input, output) in input.chunks(together * distance).zip(output.chunks_mut(together * written.len())) {
            let lines = output.len() / written.len();
            let input = cast_slice(&input[..(lines - 1) * distance + read.len()]);
            gather::<<L::Input as HasLanes>::Vector>(input, distance * elements, cast_slice_mut(read));
            self.0.transform(read, written, scratch);
            scatter::<<L::Output as HasLanes>::Vector>(cast_slice_mut(written), cast_slice_mut(output));
        }
    }
}

/// The task of transforming lines. See [`transform_lines`](LineTransform::transform_lines).
struct TransformLines<'a, L: LineTransform> {
    line: &'a L,
    input: &'a [L::Input],
    distance: usize,
    output: &'a mut [L::Output],
    scratch: &'a mut L::Scratch,
}

impl<L: LineTransform> WithSimd for TransformLines<'_, InLanes<L>>
where
    L::Input: HasLanes,
    L::Output: HasLanes,
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.line.transform_in_lanes(self.input, self.distance, self.output, self.scratch);
    }
}
