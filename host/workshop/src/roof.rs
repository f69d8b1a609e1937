//! What the machine could do: how long a copy of as many bytes takes.

use fusebox_runtime::{Executable, Options, Program, Target};

use crate::WorkshopError;
use crate::measure::{Cache, time};
use crate::statistics::median;

/// Samples of a copy.
const SAMPLES: usize = 9;

/// Microseconds in which memory moves so many bytes, half of them read and half of them written, by a copy between buffers of
/// that size on all threads.
///
/// # Errors
/// If memory is short, or a GPU fails.
pub fn copy_us(bytes: u64, target: Target, options: &Options, cache: Cache) -> Result<f64, WorkshopError> {
    let mut program = Program::load(Executable::copying(bytes.div_ceil(2), target), options)?;
    program.execute()?;
    let _pinned = program.pin_threads();
    let samples = (0..SAMPLES).map(|_| time(&mut program, cache)).collect::<Result<Vec<_>, _>>()?;
    Ok(median(samples))
}
