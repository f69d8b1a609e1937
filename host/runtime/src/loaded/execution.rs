//! Executes a program.

use std::sync::Arc;

use super::arguments::Argument;
use super::interface::{Input, Origin, Output};
use super::program::{Arena, Program};
use crate::buffer::Array;
use crate::machine::{DeviceMemory, Machine};
use crate::{RunError, Slice};

/// Executes a program, and returns the leaves of its result. Waits for arguments that are pending.
pub fn execute(program: &Program, arguments: Vec<Argument>) -> Result<Vec<Array>, RunError> {
    let interface = &program.interface;
    let place =
        |((index, argument), input): ((usize, Argument), &Input)| argument.placed(index, input, &program.device);
    let inputs = arguments.into_iter().enumerate().zip(&interface.inputs).map(place);
    let inputs = inputs.collect::<Result<Vec<Array>, RunError>>()?;
    let allocated = |&number: &u32| {
        let bytes = program.executable.allocations[number as usize].bytes;
        program.device.hardware().for_result(bytes).map(Arc::new)
    };
    let results = interface.results.iter().map(allocated).collect::<Result<Vec<Arc<DeviceMemory>>, RunError>>()?;
    let mut arena = program.arena()?;
    for (input, array) in interface.inputs.iter().zip(&inputs) {
        arena.frame.set(input.allocation, array.address());
    }
    for (&number, memory) in interface.results.iter().zip(&results) {
        arena.frame.set(number, memory.address());
    }
    let memory = ExecutionMemory { program, inputs: &inputs, results: &results };
    let arrays = memory.execute(&mut arena);
    program.keep(arena);
    arrays
}

/// The memory of an execution, except temporary memory.
struct ExecutionMemory<'e> {
    program: &'e Program,
    inputs: &'e [Array],
    results: &'e [Arc<DeviceMemory>],
}

impl ExecutionMemory<'_> {
    fn execute(&self, arena: &mut Arena) -> Result<Vec<Array>, RunError> {
        let interface = &self.program.interface;
        let run = |machine: &mut dyn Machine| {
            for (input, array) in interface.inputs.iter().zip(self.inputs) {
                for (dimension, at) in &input.sizes {
                    machine.write(at, &(array.dims(&input.shape)[*dimension] as i32).to_le_bytes())?;
                }
            }
            machine.execute(&self.program.executable.thunks)?;
            interface.outputs.iter().map(|output| self.result(machine, output)).collect()
        };
        // SAFETY: the frame holds the addresses of all allocations: of constants, of temporary
        // memory, which this execution has taken out of the list of arenas, of inputs, and of
        // results. The memory is alive until this function ends. The program writes only temporary
        // memory, new memory for results, and donated inputs, which nothing else uses.
        unsafe { self.program.code.with_machine(&mut arena.frame, run) }
    }

    fn result(&self, machine: &mut dyn Machine, output: &Output) -> Result<Array, RunError> {
        let Slice { allocation, offset, .. } = output.slice;
        let sizes = sizes(machine, output)?;
        let (memory, start) = match output.origin {
            Origin::Result(number) => (Some(&self.results[number]), 0),
            Origin::Input(number) => (Some(&self.inputs[number].memory), self.inputs[number].offset),
            Origin::Constant => (self.program.constants[allocation as usize].as_ref(), 0),
            Origin::Size => (None, 0),
        };
        if let Some(memory) = memory {
            return Ok(Array { memory: memory.clone(), offset: start + offset as usize, sizes });
        }
        let copied = self.program.device.hardware().holding(&machine.read(&output.slice)?)?;
        Ok(Array { memory: Arc::new(copied), offset: 0, sizes })
    }
}

/// Reads the actual sizes of a result. Returns `None` if they equal the bounds.
pub fn sizes(machine: &mut dyn Machine, output: &Output) -> Result<Option<Arc<[i64]>>, RunError> {
    let bounds = &output.shape.dims;
    let mut dims = Vec::new();
    for (dimension, at) in &output.sizes {
        if dims.is_empty() {
            dims.clone_from(bounds);
        }
        dims[*dimension] = i64::from(number(machine, at)?).clamp(0, bounds[*dimension]);
    }
    Ok((!dims.is_empty() && dims != *bounds).then(|| dims.into()))
}

fn number(machine: &mut dyn Machine, at: &Slice) -> Result<i32, RunError> {
    let mut bytes = [0; size_of::<i32>()];
    bytes.copy_from_slice(&machine.read(at)?);
    Ok(i32::from_le_bytes(bytes))
}
