//! Executes a program.

use std::sync::Arc;
use std::time::Duration;

use super::arguments::Argument;
use super::interface::{Input, Origin, Output, ResultMemory};
use super::program::{Arena, Program};
use crate::buffer::Array;
use crate::machine::{DeviceMemory, Machine, in_order};
use crate::{RunError, Slice, Thunk};

/// The executed thunks of an execution and their times, in order.
pub type ExecutedSteps<'t> = Vec<(&'t Thunk, Duration)>;

/// Executes a program, and returns the leaves of its result. Waits for arguments that are pending.
pub fn execute(program: &Program, arguments: Vec<Argument>, memory: ResultMemory) -> Result<Vec<Array>, RunError> {
    execute_by(program, arguments, memory, &mut |machine| machine.execute_untimed(&program.executable.thunks))
}

/// Executes a program, and waits for the end of every thunk. Returns the leaves of the program's
/// result, and the executed thunks.
pub fn execute_in_steps(
    program: &Program,
    arguments: Vec<Argument>,
    memory: ResultMemory,
) -> Result<(Vec<Array>, ExecutedSteps<'_>), RunError> {
    let mut steps = Vec::new();
    let arrays = execute_by(program, arguments, memory, &mut |machine| {
        in_order(machine, &program.executable.thunks, &mut |machine, thunk| {
            steps.push((thunk, machine.execute(std::slice::from_ref(thunk))?));
            Ok(())
        })
    })?;
    Ok((arrays, steps))
}

/// Executes a program. `run` executes the thunks of the program on a machine.
fn execute_by(
    program: &Program,
    arguments: Vec<Argument>,
    memory: ResultMemory,
    run: &mut dyn FnMut(&mut dyn Machine) -> Result<(), RunError>,
) -> Result<Vec<Array>, RunError> {
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
    let arrays = ExecutionMemory { program, inputs: &inputs, results: &results }.execute(&mut arena, run);
    program.keep(arena);
    match memory {
        ResultMemory::Shared => arrays,
        ResultMemory::Separate => separated(program, arrays?),
    }
}

/// Copies each result that is an input. For each donated input, does not copy the first result that
/// is this input.
fn separated(program: &Program, mut arrays: Vec<Array>) -> Result<Vec<Array>, RunError> {
    let interface = &program.interface;
    let mut is_free: Vec<bool> = interface.inputs.iter().map(|input| input.is_donated).collect();
    for (array, output) in arrays.iter_mut().zip(&interface.outputs) {
        let Origin::Input(number) = output.origin else { continue };
        if std::mem::take(&mut is_free[number]) {
            continue;
        }
        let memory = program.device.hardware().copied(&array.memory, array.range(&output.shape))?;
        *array = Array { memory: Arc::new(memory), offset: 0, sizes: array.sizes.take() };
    }
    Ok(arrays)
}

/// The memory of an execution, except temporary memory.
struct ExecutionMemory<'e> {
    program: &'e Program,
    inputs: &'e [Array],
    results: &'e [Arc<DeviceMemory>],
}

impl ExecutionMemory<'_> {
    fn execute(
        &self,
        arena: &mut Arena,
        run: &mut dyn FnMut(&mut dyn Machine) -> Result<(), RunError>,
    ) -> Result<Vec<Array>, RunError> {
        let interface = &self.program.interface;
        let run = |machine: &mut dyn Machine| {
            for (input, array) in interface.inputs.iter().zip(self.inputs) {
                for (dimension, at) in &input.sizes {
                    machine.write(at, &(array.dims(&input.shape)[*dimension] as i32).to_le_bytes())?;
                }
            }
            run(machine)?;
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

/// Reads the actual sizes of a result. Returns `None` if the actual sizes equal the bounds.
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
