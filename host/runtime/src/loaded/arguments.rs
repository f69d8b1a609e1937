//! Checks the buffers that a caller passes to an execution, and takes over the memory of donated
//! buffers.

use std::sync::Arc;

use fusebox_core::hlo::{ArrayLiteral, ArrayShape};

use super::interface::{Input, Interface};
use crate::buffer::{Array, Content};
use crate::values::{describe, extracted, placed};
use crate::{Buffer, Device, RunError};

/// A buffer that an execution uses.
pub struct Argument {
    content: Content,
    /// The shape of the buffer, if it differs from the shape of the input.
    shape: Option<Arc<ArrayShape>>,
}

impl Argument {
    /// Whether the bytes are not computed yet.
    pub fn is_pending(&self) -> bool {
        self.content.is_pending()
    }

    /// Calls a function as soon as the bytes are computed: at once if they are computed already.
    pub fn on_done(&self, callback: impl FnOnce() + Send + 'static) {
        match &self.content {
            Content::Pending(pending) => pending.on_done(|_| callback()),
            Content::Ready(_) | Content::Deleted => callback(),
        }
    }

    /// Waits for the bytes, and returns the memory for input `index` of a program. If the program
    /// may overwrite an input, the returned memory has no other user. Copies the array in two
    /// cases: something else uses an array that the program may overwrite, or the array is smaller
    /// than the bounds of its dimensions.
    pub fn placed(self, index: usize, input: &Input, device: &Device) -> Result<Array, RunError> {
        let mut array = self.content.into_array()?;
        let shape = self.shape.as_ref().unwrap_or(&input.shape);
        let dims = array.dims(shape);
        if !input.shape.admits(dims) {
            return Err(mismatch(index, &input.shape, &ArrayShape::new(shape.element_type, dims)));
        }
        if shape.dims != input.shape.dims {
            array = within_bounds(&array, shape, &input.shape, device)?;
        }
        if input.is_donated && !array.is_exclusive() {
            let memory = device.hardware().copied(&array.memory, array.range(&input.shape))?;
            array = Array { memory: Arc::new(memory), offset: 0, sizes: array.sizes };
        }
        Ok(array)
    }
}

/// Checks the buffers for an execution, and deletes those that the caller donates. `kept` are the
/// numbers of inputs that are not donated in this execution.
pub fn arguments(
    interface: &Interface,
    device: &Device,
    buffers: &[&Buffer],
    kept: &[usize],
) -> Result<Vec<Argument>, RunError> {
    let inputs = &interface.inputs;
    if inputs.len() != buffers.len() {
        return Err(RunError::InputCount { expected: inputs.len(), found: buffers.len() });
    }
    if let Some(&index) = kept.iter().find(|&&index| index >= inputs.len()) {
        return Err(RunError::NoSuchInput { index, count: inputs.len() });
    }
    for (index, (input, buffer)) in inputs.iter().zip(buffers).enumerate() {
        if !buffer.device().is_same(device) {
            return Err(RunError::OtherDevice { index });
        }
        check_shape(index, &input.shape, buffer.shape())?;
    }
    let mut is_taken: Vec<bool> = inputs.iter().map(|input| input.is_donated).collect();
    kept.iter().for_each(|&index| is_taken[index] = false);
    // Take the donated buffers first. If the caller passes one of them twice, it is found deleted.
    let argument = |(buffer, &is_taken): (&&Buffer, &bool)| Argument {
        content: if is_taken { buffer.take() } else { Content::Deleted },
        shape: None,
    };
    let mut arguments: Vec<Argument> = buffers.iter().zip(&is_taken).map(argument).collect();
    for (argument, (buffer, input)) in arguments.iter_mut().zip(buffers.iter().zip(inputs)) {
        if matches!(argument.content, Content::Deleted) {
            argument.content = buffer.content();
        }
        argument.shape = (buffer.shape().dims != input.shape.dims).then(|| buffer.shared_shape().clone());
    }
    let Some(index) = arguments.iter().position(|it| matches!(it.content, Content::Deleted)) else {
        return Ok(arguments);
    };
    let other = (0..buffers.len()).find(|&it| it != index && is_taken[it] && buffers[it].is_same(buffers[index]));
    for ((argument, buffer), _) in arguments.into_iter().zip(buffers).zip(&is_taken).filter(|(_, is_taken)| **is_taken)
    {
        if !matches!(argument.content, Content::Deleted) {
            buffer.put_back(argument.content);
        }
    }
    Err(match other {
        Some(donated) => RunError::DonatedTwice { index: donated, other: index },
        None => RunError::DeletedInput { index },
    })
}

/// Checks that the shape of a buffer fits the shape of an input. If a dimension is dynamic, the
/// size of the buffer may be known only when the buffer is ready.
fn check_shape(index: usize, expected: &ArrayShape, found: &ArrayShape) -> Result<(), RunError> {
    let fits = found.dims == expected.dims || found.has_dynamic_size() || expected.admits(&found.dims);
    let is_like = expected.element_type == found.element_type && expected.rank() == found.rank();
    if fits && is_like { Ok(()) } else { Err(mismatch(index, expected, found)) }
}

fn mismatch(index: usize, expected: &ArrayShape, found: &ArrayShape) -> RunError {
    RunError::InputShape { index, expected: describe(expected), found: describe(found) }
}

/// Copies an array to new memory that has space for the bounds of its dimensions.
fn within_bounds(array: &Array, shape: &ArrayShape, bounds: &ArrayShape, device: &Device) -> Result<Array, RunError> {
    let (element_type, dims) = (shape.element_type, array.dims(shape).to_vec());
    let bytes = device.hardware().fetched(&array.memory, array.range(shape))?;
    let bytes = extracted(&bytes, element_type.byte_size(), &dims, &shape.dims)?;
    let sizes = Some(dims.as_slice().into());
    let placed = placed(&ArrayLiteral { element_type, dims, data: bytes.into() }, &bounds.dims)?;
    let memory = Arc::new(device.hardware().holding(&placed.data)?);
    Ok(Array { memory, offset: 0, sizes })
}
