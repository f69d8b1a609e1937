//! What the machine could do: how long a copy of as many bytes takes.

use fusebox_core::hlo::{ArrayShape, ElementType, Shape};
use fusebox_runtime::{
    Allocation, AllocationKind, Binding, Executable, Options, Program, Slice, Target, Thunk, ValueShape,
};

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
    let mut program = Program::load(copy(bytes.div_ceil(2), target), options)?;
    program.execute()?;
    let samples = (0..SAMPLES).map(|_| time(&mut program, cache)).collect::<Result<Vec<_>, _>>()?;
    Ok(median(samples))
}

fn copy(bytes: u64, target: Target) -> Executable {
    let slice = |allocation| Slice { allocation, offset: 0, bytes };
    let allocation = || Allocation { bytes, kind: AllocationKind::Temporary };
    let shape = Shape::Array(ArrayShape::new(ElementType::U8, vec![bytes.cast_signed()]));
    Executable {
        name: "copy".into(),
        target,
        extensions: Vec::new(),
        code: Vec::new(),
        kernels: Vec::new(),
        host_ops: Vec::new(),
        allocations: vec![allocation(), allocation()],
        thunks: vec![Thunk::Copy { from: slice(0), to: slice(1) }],
        parameters: Vec::new(),
        result: Binding { shape: ValueShape::from(&shape), leaves: vec![slice(1)] },
    }
}
