//! Fourier transforms over the last one to three dimensions of an array.
//!
//! The crate `rustfft` transforms single complex lines, which are sequences of elements along one
//! dimension. If the transform of one line would leave most of a vector register unused, several
//! lines are transformed at once (`lanes.rs`), without `rustfft` (`mixed_radix.rs`). The shape
//! determines which lines a thread transforms together, and the result of a line does not depend on
//! other lines. So the bits of a result do not depend on the number of threads.

mod butterflies;
mod complex;
mod in_lanes;
mod interleaved;
mod lanes;
mod lines;
mod method;
mod mixed_radix;
mod pass;
mod planner;
mod real;
mod registers;
mod whole;

use std::fmt::{self, Debug, Formatter};
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use fusebox_core::hlo::{ElementType, FftType, Op};
use num_complex::Complex;

use crate::{Context, Operation, Routine, RoutineError, Unsupported, Workers, elements, elements_mut, scratch};
use complex::OfComplex;
use lanes::Element;
use lines::{CopiedLine, TransformReal};
use pass::rotate;
use real::{FromReal, ToReal};

/// Creates the routine of `fft`.
pub fn make(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    let Op::Fft { kind, length } = &operation.instruction.op else {
        return Err(Unsupported::new("a Fourier transform without its attributes"));
    };
    let (operand, result) = (operation.argument(0)?, operation.result(0)?);
    let lengths = length.iter().map(|&n| usize::try_from(n)).collect::<Result<Vec<usize>, _>>();
    let lengths = lengths.map_err(|_| Unsupported::new("fft_length beyond the host's memory"))?;
    // A plan for long lines is large. A result without elements needs no plan, so the length 0
    // replaces its lengths.
    let lengths = if result.element_count() == 0 { vec![0] } else { lengths };
    let count = operand.element_count().max(result.element_count()) as usize;
    Ok(match operand.element_type {
        ElementType::F32 | ElementType::C64 => Box::new(FourierTransform::<f32>::new(*kind, lengths, count)),
        ElementType::F64 | ElementType::C128 => Box::new(FourierTransform::<f64>::new(*kind, lengths, count)),
        ty => return Err(Unsupported::new(format!("Fourier transforms of {ty}"))),
    })
}

/// A transform of arrays of one shape.
struct FourierTransform<T: Element> {
    kind: FftType,
    lengths: Vec<usize>,
    passes: TransformPasses<T>,
    /// Two buffers for values between passes. The next run reuses the buffers, to avoid new
    /// allocations.
    between: Mutex<[Vec<Complex<T>>; 2]>,
}

/// The transforms of all passes, one per transformed dimension.
enum TransformPasses<T: Element> {
    /// No transform, because a dimension has length zero.
    None,
    Complex(Vec<OfComplex<T>>),
    FromReal {
        last: FromReal<T>,
        others: Vec<OfComplex<T>>,
        half: usize,
    },
    ToReal {
        others: Vec<OfComplex<T>>,
        last: ToReal<T>,
        half: usize,
    },
}

impl<T: Element> FourierTransform<T> {
    /// `count` is the number of real or complex elements of the array.
    fn new(kind: FftType, lengths: Vec<usize>, count: usize) -> Self {
        FourierTransform {
            kind,
            passes: TransformPasses::new(kind, &lengths, count),
            lengths,
            between: Mutex::default(),
        }
    }
}

impl<T: Element> Debug for FourierTransform<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {:?}", self.kind, self.lengths)
    }
}

impl<T: Element> Routine for FourierTransform<T> {
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], context: &Context<'_>) -> Result<(), RoutineError> {
        let ([input], [output]) = (arguments, results) else {
            return Err(RoutineError::Buffer);
        };
        let keep = || self.between.lock().unwrap_or_else(PoisonError::into_inner);
        let mut between = std::mem::take(&mut *keep());
        let done = self.passes.run(input, output, &mut between, context.workers);
        *keep() = between;
        done
    }

    fn describe(&self) -> String {
        "fast Fourier transforms, line by line".into()
    }
}

impl<T: Element> TransformPasses<T> {
    fn new(kind: FftType, lengths: &[usize], count: usize) -> Self {
        let (Some((&last, others)), false) = (lengths.split_last(), lengths.contains(&0)) else {
            return TransformPasses::None;
        };
        let complex =
            |lengths: &[usize], inverse| lengths.iter().map(|&n| OfComplex::new(n, count / n, inverse)).collect();
        let (half, lines) = (last / 2 + 1, count / last);
        match kind {
            FftType::Fft => TransformPasses::Complex(complex(lengths, false)),
            FftType::Ifft => TransformPasses::Complex(complex(lengths, true)),
            FftType::Rfft => {
                TransformPasses::FromReal { last: FromReal::new(last, lines), others: complex(others, false), half }
            }
            FftType::Irfft => {
                TransformPasses::ToReal { others: complex(others, true), last: ToReal::new(last, lines), half }
            }
        }
    }

    fn run(
        &self,
        input: &[u8],
        output: &mut [u8],
        [first, second]: &mut [Vec<Complex<T>>; 2],
        workers: &dyn Workers,
    ) -> Result<(), RoutineError> {
        match self {
            TransformPasses::None => Ok(()),
            TransformPasses::Complex(lines) => {
                let input = elements::<Complex<T>>(input)?;
                let between = if lines.len() > 1 { sized(first, input.len())? } else { &mut [] };
                rotations(lines, 1, input, elements_mut(output)?, between, workers)
            }
            TransformPasses::FromReal { last, others, half } => {
                let input = elements::<T>(input)?;
                let output = elements_mut::<Complex<T>>(output)?;
                if others.is_empty() {
                    return last.run(input, output, workers);
                }
                let rows = sized(first, output.len())?;
                last.run(input, rows, workers)?;
                let rotated = sized(second, output.len())?;
                rotations(others, *half, rows, rotated, output, workers)?;
                // The first pass has transformed the last dimension, which is now in front of the
                // others. This pass moves that dimension back to the end.
                let back = CopiedLine { length: *half, element: PhantomData };
                rotate(&back, product(others), rotated, output, workers)
            }
            TransformPasses::ToReal { others, last, half } => {
                let input = elements::<Complex<T>>(input)?;
                let output = elements_mut::<T>(output)?;
                if others.is_empty() {
                    return last.run(1, input, output, workers);
                }
                let rotated = sized(first, input.len())?;
                let between = if others.len() > 1 { sized(second, input.len())? } else { &mut [] };
                rotations(others, *half, input, rotated, between, workers)?;
                last.run(product(others), rotated, output, workers)
            }
        }
    }
}

/// Returns `memory` as a slice of `count` elements. The content of the slice is undefined.
/// Reallocates `memory` if its length differs from `count`.
fn sized<T: TransformReal>(memory: &mut Vec<Complex<T>>, count: usize) -> Result<&mut [Complex<T>], RoutineError> {
    if memory.len() != count {
        *memory = scratch(count)?;
    }
    Ok(memory)
}

/// Returns the product of the lengths of the transformed dimensions.
fn product<T: Element>(lines: &[OfComplex<T>]) -> usize {
    lines.iter().map(OfComplex::length).product()
}

/// Transforms all dimensions `lines…` of an array of shape `(batch, lines…, inner)`. The output has
/// the shape `(batch, inner, lines…)`. If there is more than one dimension to transform, `between`
/// must be as long as the output.
fn rotations<T: Element>(
    lines: &[OfComplex<T>],
    inner: usize,
    input: &[Complex<T>],
    output: &mut [Complex<T>],
    between: &mut [Complex<T>],
    workers: &dyn Workers,
) -> Result<(), RoutineError> {
    let whole = product(lines) * inner;
    for (index, line) in lines.iter().enumerate() {
        // Passes alternate between the two buffers, so that the last one writes the output.
        let into_output = (lines.len() - index) % 2 == 1;
        let (from, to): (&[Complex<T>], &mut [Complex<T>]) = match (index, into_output) {
            (0, true) => (input, &mut *output),
            (0, false) => (input, &mut *between),
            (_, true) => (&*between, &mut *output),
            (_, false) => (&*output, &mut *between),
        };
        line.run(whole / line.length(), from, to, workers)?;
    }
    Ok(())
}
