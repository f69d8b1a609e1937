//! Transforms between real and complex lines. The length of the lines determines the method.

use num_complex::Complex;

use super::interleaved::{InterleavedFromReal, InterleavedToReal};
use super::lines::{FromRealLine, ToRealLine, TransformReal};
use super::pass::rotate;
use crate::{RoutineError, Workers};

/// Transform of real lines, by the method that suits their length.
pub(super) enum FromReal<T> {
    Interleaved(InterleavedFromReal<T>),
    Whole(FromRealLine<T>),
}

impl<T: TransformReal> FromReal<T> {
    pub fn new(length: usize) -> Self {
        match InterleavedFromReal::new(length) {
            Some(line) => FromReal::Interleaved(line),
            None => FromReal::Whole(FromRealLine::new(length)),
        }
    }

    /// Transforms the contiguous lines of `input`.
    pub fn run(&self, input: &[T], output: &mut [Complex<T>], workers: &dyn Workers) -> Result<(), RoutineError> {
        match self {
            FromReal::Interleaved(line) => rotate(line, 1, input, output, workers),
            FromReal::Whole(line) => rotate(line, 1, input, output, workers),
        }
    }
}

/// Inverse transform to real lines, by the method that suits their length.
pub(super) enum ToReal<T> {
    Interleaved(InterleavedToReal<T>),
    Whole(ToRealLine<T>),
}

impl<T: TransformReal> ToReal<T> {
    pub fn new(length: usize) -> Self {
        match InterleavedToReal::new(length) {
            Some(line) => ToReal::Interleaved(line),
            None => ToReal::Whole(ToRealLine::new(length)),
        }
    }

    /// Transforms the lines of `input`, of which `inner` are interleaved. See [`rotate`].
    pub fn run(
        &self,
        inner: usize,
        input: &[Complex<T>],
        output: &mut [T],
        workers: &dyn Workers,
    ) -> Result<(), RoutineError> {
        match self {
            ToReal::Interleaved(line) => rotate(line, inner, input, output, workers),
            ToReal::Whole(line) => rotate(line, inner, input, output, workers),
        }
    }
}
