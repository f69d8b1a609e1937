//! Programs, which are loaded executables. A program has linked code and allocated buffers, and can
//! run any number of times.
//!
//! ```text
//! mod        loading, inputs, execution, result
//! donation   inputs that an execution may overwrite
//! exchange   buffers that two programs can exchange
//! measure    times of repeated executions
//! ```

mod donation;
mod exchange;
mod measure;

pub use measure::{Effort, Timing, measure};

use std::borrow::Cow;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use fusebox_core::hlo::{ArrayLiteral, Literal, Shape};
use fusebox_routines::{Generator, SharedGenerator};

use crate::code::{LoadedHostOp, check_steps};
use crate::machine::{Cuda, Host, Machine, in_order};
use crate::processor::{self, Pool};
use crate::values::{assemble, describe, extracted, placed};
use crate::{Binding, Buffer, Executable, LoadError, Options, PinnedThread, RunError, Sweep, Target, Thunk};
use donation::Donations;

/// A loaded executable, which can run any number of times.
#[derive(Debug)]
pub struct Program {
    executable: Executable,
    machine: Box<dyn Machine>,
    donations: Donations,
    /// The random number generator of all operations. Each execution resets it.
    generator: SharedGenerator,
}

impl Program {
    /// Links the code and allocates the buffers.
    ///
    /// # Errors
    /// If the executable is inconsistent, its target is not available on this machine, its code
    /// cannot be linked, or memory is short.
    pub fn load(executable: Executable, options: &Options) -> Result<Program, LoadError> {
        Program::load_on(|| Host::start_pool(options), executable, options)
    }

    /// Loads an executable as [`Program::load`] does, but executes it on the thread pool of this
    /// program. If the times of two programs are compared, a common pool ensures that different
    /// threads do not affect the comparison. While the pool executes one program, the other program
    /// runs on its calling thread alone.
    ///
    /// # Errors
    /// As [`Program::load`].
    pub fn load_on_same_pool(&self, executable: Executable, options: &Options) -> Result<Program, LoadError> {
        Program::load_on(|| self.machine.pool().map_or_else(|| Host::start_pool(options), Ok), executable, options)
    }

    /// Loads an executable. Calls `pool` to get a thread pool, but only for the cpu target.
    fn load_on(
        pool: impl FnOnce() -> Result<Arc<Pool>, LoadError>,
        executable: Executable,
        options: &Options,
    ) -> Result<Program, LoadError> {
        executable.check().map_err(LoadError::Object)?;
        check_processor(&executable.instruction_sets)?;
        let generator = SharedGenerator::default();
        let host_ops = executable.host_ops.iter().map(|op| LoadedHostOp::new(op, &generator));
        let host_ops = host_ops.collect::<Result<Vec<_>, _>>()?;
        check_steps(&executable.thunks, &host_ops)?;
        let machine: Box<dyn Machine> = match executable.target {
            Target::Cpu => Box::new(Host::load(&executable, host_ops, Some(pool()?), options)?),
            Target::Simt => Box::new(Host::load(&executable, host_ops, None, options)?),
            Target::Cuda(capability) => Box::new(Cuda::load(&executable, capability, host_ops)?),
        };
        let donations = Donations::of(&executable);
        Ok(Program { executable, machine, donations, generator })
    }

    /// Returns the loaded executable.
    pub fn executable(&self) -> &Executable {
        &self.executable
    }

    /// Returns the shapes of the parameters.
    pub fn parameter_shapes(&self) -> Vec<Shape> {
        self.executable.parameters.iter().filter_map(Binding::to_shape).collect()
    }

    /// Sets the inputs: one array per array leaf of the parameters, in order. Along a dynamic
    /// dimension, an array may be smaller than the parameter's shape. The inputs are valid until
    /// they are set again. An execution may overwrite donated inputs. So the program keeps copies
    /// of donated inputs and restores them before the next execution.
    ///
    /// # Errors
    /// If the number, the types or the dimensions of the inputs do not match the parameters, if
    /// memory is short, or if the GPU fails.
    pub fn set_inputs(&mut self, inputs: &[ArrayLiteral]) -> Result<(), RunError> {
        let shapes = self.parameter_shapes();
        let expected: Vec<_> = shapes.iter().flat_map(Shape::leaves).filter_map(Shape::as_array).collect();
        if expected.len() != inputs.len() {
            return Err(RunError::InputCount { expected: expected.len(), found: inputs.len() });
        }
        let mut inputs_in_bounds = Vec::with_capacity(inputs.len());
        for (index, (shape, input)) in expected.iter().zip(inputs).enumerate() {
            if shape.element_type != input.element_type || !shape.admits(&input.dims) {
                let (expected, found) = (describe(shape), describe(&input.shape()));
                return Err(RunError::InputShape { index, expected, found });
            }
            inputs_in_bounds.push(if shape.dims == input.dims { input.clone() } else { placed(input, &shape.dims)? });
        }
        let slices = self.executable.parameters.iter().flat_map(|p| &p.leaves);
        slices.zip(&inputs_in_bounds).try_for_each(|(slice, input)| self.machine.write(slice, &input.data))?;
        self.donations.keep(&inputs_in_bounds);
        self.set_sizes(inputs)
    }

    /// Writes the actual sizes of dynamic dimensions of the inputs to the program's memory.
    fn set_sizes(&mut self, inputs: &[ArrayLiteral]) -> Result<(), RunError> {
        let mut rest = inputs;
        for parameter in &self.executable.parameters {
            let arrays = rest.split_off(..parameter.leaves.len()).unwrap_or_default();
            for size in &parameter.sizes {
                let elements = arrays[size.leaf as usize].dims[size.dimension as usize];
                self.machine.write(&size.at, &(elements as i32).to_le_bytes())?;
            }
        }
        Ok(())
    }

    /// Hands over a buffer for a donated input, and returns the previous buffer of this input. Does
    /// not copy the buffer if the program is in host memory. If a result aliases the input, the
    /// returned buffer holds this result of the last execution. The next execution may overwrite
    /// the new buffer, so the caller must donate the input again before each execution.
    ///
    /// # Errors
    /// If the module does not declare this input as donated, if the buffer has the wrong size, or
    /// if the GPU fails.
    pub fn donate(&mut self, index: usize, buffer: Buffer) -> Result<Buffer, RunError> {
        let place = self.donations.place(index).ok_or(RunError::NotDonated { index })?;
        let found = buffer.as_slice().len() as u64;
        if found != place.bytes {
            return Err(RunError::DonatedSize { index, expected: place.bytes, found });
        }
        let before = self.machine.exchange(&place, buffer)?;
        self.donations.hand_over(index);
        Ok(before)
    }

    /// Executes the program on its current inputs. The result remains in the program's buffers.
    /// Returns the elapsed time. On a GPU, the GPU measures this time.
    ///
    /// # Errors
    /// If a donated input was not donated again after the last execution, or if a host operation or
    /// the GPU fails. Also if the simulator finds a fault in a kernel.
    pub fn execute(&mut self) -> Result<Duration, RunError> {
        self.begin()?;
        self.machine.execute(&self.executable.thunks)
    }

    /// Executes the program as [`Program::execute`] does, but waits for the end of every thunk.
    /// Returns the executed thunks and their times, in order.
    ///
    /// # Errors
    /// As [`Program::execute`].
    pub fn execute_in_steps(&mut self) -> Result<Vec<(&Thunk, Duration)>, RunError> {
        self.begin()?;
        let mut steps = Vec::new();
        in_order(&mut *self.machine, &self.executable.thunks, &mut |machine, thunk| {
            steps.push((thunk, machine.execute(std::slice::from_ref(thunk))?));
            Ok(())
        })?;
        Ok(steps)
    }

    fn begin(&mut self) -> Result<(), RunError> {
        *self.generator.lock().unwrap_or_else(PoisonError::into_inner) = Generator::default();
        self.donations.begin(&mut *self.machine)
    }

    /// Pins each thread of the pool to a different processor, so that the system does not run two
    /// threads on one processor. The calling thread remains pinned until the result is dropped.
    /// Returns `None` if the program has no pool, or if there are fewer processors than threads.
    pub fn pin_threads(&self) -> Option<PinnedThread> {
        self.machine.pool()?.pin()
    }

    /// Evicts the program's memory from all caches, so that the next execution starts with cold
    /// caches.
    ///
    /// # Errors
    /// If the GPU fails.
    pub fn evict(&mut self) -> Result<(), RunError> {
        self.machine.evict()
    }

    /// Sweeps once over the program's first buffer, as fast as the processor can. Returns the
    /// elapsed time; `None` on a GPU and in the simulator.
    pub fn sweep(&mut self, sweep: Sweep) -> Option<Duration> {
        self.machine.sweep(sweep)
    }

    /// Exchanges buffers with a program that has the same parameters, so that both programs can be
    /// measured in the same memory. Exchanges the buffers of each parameter, and temporary buffers
    /// of equal size. Has no effect on a GPU.
    pub fn exchange_memory(&mut self, other: &mut Program) {
        let pairs = self.executable.exchangeable(&other.executable);
        let (own, others) = (self.machine.buffers(), other.machine.buffers());
        for (own_number, number) in pairs {
            if let (Some(own), Some(other)) = (own.get_mut(own_number), others.get_mut(number)) {
                std::mem::swap(own, other);
            }
        }
        self.donations.spoil();
        other.donations.spoil();
    }

    /// Returns the result of the last execution.
    ///
    /// # Errors
    /// If memory is short or the GPU fails.
    pub fn result(&self) -> Result<Literal, RunError> {
        let binding = &self.executable.result;
        let mut leaves = binding.leaves.iter().map(|s| self.machine.read(s)).collect::<Result<Vec<_>, _>>()?;
        let mut shape = binding.shape.to_shape().unwrap_or(Shape::Token);
        self.cut_to_sizes(&mut shape, &mut leaves)?;
        let leaves: Vec<&[u8]> = leaves.iter().map(|bytes| bytes.as_ref()).collect();
        assemble(&shape, &mut leaves.iter())
    }

    /// Extracts the valid elements of the dynamic arrays in the result. Replaces the bounds in
    /// `shape` by the actual sizes.
    fn cut_to_sizes(&self, shape: &mut Shape, leaves: &mut [Cow<[u8]>]) -> Result<(), RunError> {
        let mut arrays = shape.arrays_mut();
        let bounds: Vec<Vec<i64>> = arrays.iter().map(|array| array.dims.clone()).collect();
        for size in &self.executable.result.sizes {
            let (leaf, dimension) = (size.leaf as usize, size.dimension as usize);
            let mut elements = [0; size_of::<i32>()];
            elements.copy_from_slice(&self.machine.read(&size.at)?);
            arrays[leaf].dims[dimension] = i64::from(i32::from_le_bytes(elements)).clamp(0, bounds[leaf][dimension]);
        }
        for ((array, bounds), leaf) in arrays.iter().zip(&bounds).zip(leaves) {
            if array.dims != *bounds {
                *leaf = extracted(leaf, array.element_type.byte_size(), &array.dims, bounds)?.into();
            }
        }
        Ok(())
    }

    /// Sets the inputs, executes, and returns the result.
    ///
    /// # Errors
    /// As [`Program::set_inputs`] and [`Program::execute`].
    pub fn run(&mut self, inputs: &[ArrayLiteral]) -> Result<Literal, RunError> {
        self.set_inputs(inputs)?;
        self.execute()?;
        self.result()
    }
}

/// Checks that this machine has the instruction sets that a program needs.
fn check_processor(needed: &[String]) -> Result<(), LoadError> {
    let missing = processor::missing(needed);
    if missing.is_empty() { Ok(()) } else { Err(LoadError::Processor { missing }) }
}
