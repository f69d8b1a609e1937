//! Transforms of several lines at once, with one line per lane of a vector.

use bytemuck::{Pod, cast_slice, cast_slice_mut};
use num_complex::Complex;

use super::lanes::{Lanes, Vector, gather, scatter};
use super::lines::LineTransform;
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
        (read, written, scratch): &mut Self::Scratch,
    ) {
        // A complex number is two elements, so a complex line is a line of elements too.
        let elements = size_of::<Self::Input>() / size_of::<<<L::Input as HasLanes>::Vector as Vector>::Element>();
        let together = self.together();
        for (input, output) in input.chunks(together * distance).zip(output.chunks_mut(together * written.len())) {
            let lines = output.len() / written.len();
            let input = cast_slice(&input[..(lines - 1) * distance + read.len()]);
            gather::<<L::Input as HasLanes>::Vector>(input, distance * elements, cast_slice_mut(read));
            self.0.transform(read, written, scratch);
            scatter::<<L::Output as HasLanes>::Vector>(cast_slice_mut(written), cast_slice_mut(output));
        }
    }
}
