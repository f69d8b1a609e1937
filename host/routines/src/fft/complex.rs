//! Transforms of complex lines. The length and the number of the lines determine whether the lines
//! are transformed one by one or several at once.

use num_complex::Complex;

use super::in_lanes::InLanes;
use super::lanes::{Element, LanesOf};
use super::lines::{ComplexLine, LineTransform};
use super::method::suits_lanes;
use super::pass::rotate;
use crate::{RoutineError, Workers};

/// Transform of complex lines, by the method that suits their length and number.
pub(super) enum OfComplex<T: Element> {
    OneByOne(ComplexLine<T>),
    InLanes(InLanes<ComplexLine<LanesOf<T>>>),
}

impl<T: Element> OfComplex<T> {
    /// Plans the transform of `lines` lines. The inverse transform divides its result by the length
    /// of a line.
    pub fn new(length: usize, lines: usize, inverse: bool) -> Self {
        if suits_lanes::<T>(length, lines) {
            OfComplex::InLanes(InLanes(ComplexLine::new(length, inverse)))
        } else {
            OfComplex::OneByOne(ComplexLine::new(length, inverse))
        }
    }

    /// Returns the length of a line, in elements.
    pub fn length(&self) -> usize {
        match self {
            OfComplex::OneByOne(line) => line.length(),
            OfComplex::InLanes(line) => line.lengths().0,
        }
    }

    /// Transforms the lines of `input`. The lines are interleaved in groups of `inner` lines. See
    /// [`rotate`].
    pub fn run(
        &self,
        inner: usize,
        input: &[Complex<T>],
        output: &mut [Complex<T>],
        workers: &dyn Workers,
    ) -> Result<(), RoutineError> {
        match self {
            OfComplex::OneByOne(line) => rotate(line, inner, input, output, workers),
            OfComplex::InLanes(line) => rotate(line, inner, input, output, workers),
        }
    }
}
