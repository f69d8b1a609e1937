//! Repeated executions of a program in the same memory.

use std::sync::Arc;
use std::time::Duration;

use fusebox_core::hlo::{ArrayLiteral, Literal, Shape};

use super::caches;
use super::donation::Donations;
use crate::buffer::Array;
use crate::loaded::{Output, Program, sizes};
use crate::machine::{DeviceMemory, Frame, Machine, in_order};
use crate::values::placed;
use crate::{Buffer, Executable, LoadError, LoadedExecutable, Options, PinnedThread, RunError, Sweep, Thunk};

/// A loaded executable with memory for its inputs, temporary values and results. The calling thread
/// executes the program any number of times in the memory of the session. Before the first kernel
/// of an execution, the session allocates nothing, and copies nothing except the donated inputs
/// that it restores.
#[derive(Debug)]
pub struct Session {
    loaded: LoadedExecutable,
    /// The memory of each allocation. Except for constants, only this session uses the memory.
    memory: Vec<Arc<DeviceMemory>>,
    frame: Frame,
    donations: Donations,
}

impl Session {
    /// Opens a device for the target of an executable, loads the executable and allocates its
    /// memory.
    ///
    /// # Errors
    /// Fails as [`LoadedExecutable::open`] and [`Session::new`] do.
    pub fn load(executable: Executable, options: &Options) -> Result<Session, LoadError> {
        Session::new(&LoadedExecutable::open(executable, options)?)
    }

    /// Allocates the memory for executions of a program.
    ///
    /// # Errors
    /// Fails if memory is short.
    pub fn new(loaded: &LoadedExecutable) -> Result<Session, LoadError> {
        let program = loaded.program();
        let mut frame = program.frame();
        let mut memory = Vec::with_capacity(program.executable.allocations.len());
        for (number, allocation) in (0..).zip(&program.executable.allocations) {
            let short = |_| LoadError::Memory { bytes: allocation.bytes };
            let memory_of_allocation = match &program.constants[number as usize] {
                Some(constant) => constant.clone(),
                None => Arc::new(program.device.hardware().zeroed(allocation.bytes).map_err(short)?),
            };
            frame.set(number, memory_of_allocation.address());
            memory.push(memory_of_allocation);
        }
        let donations = Donations::of(&program.executable);
        Ok(Session { loaded: loaded.clone(), memory, frame, donations })
    }

    /// Returns the executable.
    pub fn executable(&self) -> &Executable {
        self.loaded.executable()
    }

    /// Returns the loaded executable.
    pub fn loaded(&self) -> &LoadedExecutable {
        &self.loaded
    }

    /// Returns the shapes of the parameters.
    pub fn parameter_shapes(&self) -> Vec<Shape> {
        self.loaded.parameter_shapes()
    }

    /// Sets the inputs: one array per array leaf of the parameters, in order. Along a dynamic
    /// dimension, an array may be smaller than the parameter's shape. The inputs are valid until
    /// this function is called again. An execution may overwrite donated inputs. So the session
    /// keeps copies of donated inputs and restores them before the next execution.
    ///
    /// # Errors
    /// Fails if the number, the types or the dimensions of the inputs do not match the parameters,
    /// if memory is short, or if the GPU fails.
    pub fn set_inputs(&mut self, inputs: &[ArrayLiteral]) -> Result<(), RunError> {
        self.loaded.check_inputs(inputs)?;
        let mut inputs_in_bounds = Vec::with_capacity(inputs.len());
        for (shape, input) in self.loaded.inputs().zip(inputs) {
            inputs_in_bounds.push(if shape.dims == input.dims { input.clone() } else { placed(input, &shape.dims)? });
        }
        self.with_machine(|program, machine| {
            let slices = program.executable.parameters.iter().flat_map(|parameter| &parameter.leaves);
            slices.zip(&inputs_in_bounds).try_for_each(|(slice, input)| machine.write(slice, &input.data))?;
            let sizes = program.interface.inputs.iter().zip(inputs);
            let mut sizes =
                sizes.flat_map(|(leaf, input)| leaf.sizes.iter().map(|(dimension, at)| (at, input.dims[*dimension])));
            sizes.try_for_each(|(at, elements)| machine.write(at, &(elements as i32).to_le_bytes()))
        })?;
        self.donations.keep(&inputs_in_bounds);
        Ok(())
    }

    /// Executes the program on its current inputs. The result remains in the session's memory.
    /// Returns the elapsed time. On a GPU, the GPU measures this time.
    ///
    /// # Errors
    /// Fails if the last execution may have overwritten a donated input and the inputs were never
    /// set. Fails if a host operation or the GPU fails, or if the simulator finds a fault in a
    /// kernel.
    pub fn execute(&mut self) -> Result<Duration, RunError> {
        self.begin()?;
        self.with_machine(|program, machine| machine.execute(&program.executable.thunks))
    }

    /// Executes the program as [`Session::execute`] does, but waits for the end of every thunk.
    /// Returns the executed thunks and their times, in order.
    ///
    /// # Errors
    /// Fails as [`Session::execute`] does.
    pub fn execute_in_steps(&mut self) -> Result<Vec<(&Thunk, Duration)>, RunError> {
        self.begin()?;
        let Session { loaded, frame, .. } = self;
        let mut steps = Vec::new();
        let run = |machine: &mut dyn Machine| {
            in_order(machine, &loaded.executable().thunks, &mut |machine, thunk| {
                steps.push((thunk, machine.execute(std::slice::from_ref(thunk))?));
                Ok(())
            })
        };
        // SAFETY: as in `with_machine`.
        unsafe { loaded.program().code.with_machine(frame, run) }?;
        Ok(steps)
    }

    fn begin(&mut self) -> Result<(), RunError> {
        self.frame.restart();
        let Session { loaded, frame, donations, .. } = self;
        // SAFETY: as in `with_machine`.
        unsafe { loaded.program().code.with_machine(frame, |machine| donations.begin(machine)) }
    }

    fn with_machine<R>(&mut self, f: impl FnOnce(&Program, &mut dyn Machine) -> R) -> R {
        let program = self.loaded.program();
        // SAFETY: the frame holds the addresses of `memory`, which only this session uses, except
        // constants. The memory is alive as long as the session, which is borrowed exclusively.
        unsafe { program.code.with_machine(&mut self.frame, |machine| f(program, machine)) }
    }

    /// Pins each thread of the pool to a different processor, so that the system does not run two
    /// threads on one processor. The calling thread remains pinned until the result is dropped.
    /// Returns `None` if the program has no pool, or if there are fewer processors than threads.
    pub fn pin_threads(&self) -> Option<PinnedThread> {
        self.loaded.device().hardware().pool()?.pin()
    }

    /// Evicts the session's memory from all caches, so that the next execution starts with cold
    /// caches.
    ///
    /// # Errors
    /// Fails if the GPU fails.
    pub fn evict(&mut self) -> Result<(), RunError> {
        let hardware = self.loaded.device().hardware();
        match hardware.gpu() {
            Some(gpu) => gpu.evict(),
            None => {
                caches::evict(&self.memory, hardware.pool().map(|pool| &**pool));
                Ok(())
            }
        }
    }

    /// Sweeps once over the memory of the first allocation, as fast as the processor can. Returns
    /// the elapsed time; `None` on a GPU and in the simulator.
    pub fn sweep(&mut self, sweep: Sweep) -> Option<Duration> {
        let (pool, memory) = (self.loaded.device().hardware().pool()?, self.memory.first()?.as_host()?);
        // SAFETY: the session is borrowed exclusively, and only it uses the memory.
        Some(unsafe { caches::sweep(memory, sweep, pool) })
    }

    /// Exchanges memory with a session of a program that has the same parameters, so that both
    /// programs can be measured in the same memory. Exchanges the memory of each parameter, and
    /// temporary memory and results of equal size. Has no effect on a GPU.
    pub fn exchange_memory(&mut self, other: &mut Session) {
        for (own, number) in self.executable().exchangeable(other.executable()) {
            if let (Some(own_memory), Some(memory)) = (self.memory.get_mut(own), other.memory.get_mut(number))
                && own_memory.as_host().is_some()
                && memory.as_host().is_some()
            {
                std::mem::swap(own_memory, memory);
                self.frame.set(own as u32, own_memory.address());
                other.frame.set(number as u32, memory.address());
            }
        }
        self.donations.spoil();
        other.donations.spoil();
    }

    /// Returns the result of the last execution.
    ///
    /// # Errors
    /// Fails if memory is short or the GPU fails.
    pub fn result(&mut self) -> Result<Literal, RunError> {
        let sizes = self.with_machine(|program, machine| {
            program.interface.outputs.iter().map(|output| sizes(machine, output)).collect::<Result<Vec<_>, RunError>>()
        })?;
        let buffer = |(output, sizes): (&Output, Option<Arc<[i64]>>)| {
            let memory = self.memory[output.slice.allocation as usize].clone();
            let array = Array { memory, offset: output.slice.offset as usize, sizes };
            Buffer::ready(self.loaded.device(), output.shape.clone(), array)
        };
        let buffers: Vec<Buffer> = self.loaded.program().interface.outputs.iter().zip(sizes).map(buffer).collect();
        self.loaded.to_literal(&buffers)
    }

    /// Sets the inputs, executes, and returns the result.
    ///
    /// # Errors
    /// Fails as [`Session::set_inputs`] and [`Session::execute`] do.
    pub fn run(&mut self, inputs: &[ArrayLiteral]) -> Result<Literal, RunError> {
        self.set_inputs(inputs)?;
        self.execute()?;
        self.result()
    }
}
