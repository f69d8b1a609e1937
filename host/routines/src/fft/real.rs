//! Transforms between real and complex lines. The length and the number of the lines determine the
//! method of the transform.

use num_complex::Complex;

use super::in_lanes::InLanes;
use super::interleaved::{InterleavedFromReal, InterleavedToReal};
use super::lanes::{Element, LanesOf};
use super::method::suits_real_lanes;
use super::pass::rotate;
use super::whole::{FromRealLine, ToRealLine};
use crate::{RoutineError, Workers};

/// Transform of real lines, by the method that suits their length and number.
pub(super) enum FromReal<T: Element> {
    Interleaved(InterleavedFromReal<T>),
    InterleavedInLanes(InLanes<InterleavedFromReal<LanesOf<T>>>),
    Whole(FromRealLine<T>),
    WholeInLanes(InLanes<FromRealLine<LanesOf<T>>>),
}

impl<T: Element> FromReal<T> {
    /// Plans the transform of `lines` lines.
    pub fn new(length: usize, lines: usize) -> Self {
        let in_lanes = suits_real_lanes::<T>(length, lines);
        if in_lanes && let Some(line) = InterleavedFromReal::new(length) {
            FromReal::InterleavedInLanes(InLanes(line))
        } else if in_lanes {
            FromReal::WholeInLanes(InLanes(FromRealLine::new(length)))
        } else if let Some(line) = InterleavedFromReal::new(length) {
            FromReal::Interleaved(line)
        } else {
            FromReal::Whole(FromRealLine::new(length))
        }
    }

    /// Transforms the contiguous lines of `input`.
    pub fn run(&self, input: &[T], output: &mut [Complex<T>], workers: &dyn Workers) -> Result<(), RoutineError> {
        match self {
            FromReal::Interleaved(line) => rotate(line, 1, input, output, workers),
            FromReal::InterleavedInLanes(line) => rotate(line, 1, input, output, workers),
            FromReal::Whole(line) => rotate(line, 1, input, output, workers),
            FromReal::WholeInLanes(line) => rotate(line, 1, input, output, workers),
        }
    }
}

/// Inverse transform to real lines, by the method that suits their length and number.
pub(super) enum ToReal<T: Element> {
    Interleaved(InterleavedToReal<T>),
    InterleavedInLanes(InLanes<InterleavedToReal<LanesOf<T>>>),
    Whole(ToRealLine<T>),
    WholeInLanes(InLanes<ToRealLine<LanesOf<T>>>),
}

impl<T: Element> ToReal<T> {
    /// Plans the transform to `lines` lines.
    pub fn new(length: usize, lines: usize) -> Self {
        let in_lanes = suits_real_lanes::<T>(length, lines);
        if in_lanes && let Some(line) = InterleavedToReal::new(length) {
            ToReal::InterleavedInLanes(InLanes(line))
        } else if in_lanes {
            ToReal::WholeInLanes(InLanes(ToRealLine::new(length)))
        } else if let Some(line) = InterleavedToReal::new(length) {
            ToReal::Interleaved(line)
        } else {
            ToReal::Whole(ToRealLine::new(length))
        }
    }

    /// Transforms the lines of `input`. The lines are interleaved in groups of `inner` lines. See
    /// [`rotate`].
    pub fn run(
        &self,
        inner: usize,
        input: &[Complex<T>],
        output: &mut [T],
        workers: &dyn Workers,
    ) -> Result<(), RoutineError> {
        match self {
            ToReal::Interleaved(line) => rotate(line, inner, input, output, workers),
            ToReal::InterleavedInLanes(line) => rotate(line, inner, input, output, workers),
            ToReal::Whole(line) => rotate(line, inner, input, output, workers),
            ToReal::WholeInLanes(line) => rotate(line, inner, input, output, workers),
        }
    }
}
