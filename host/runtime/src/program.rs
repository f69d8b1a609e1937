//! A loaded executable: code linked, buffers allocated, ready to run any number of times.

use std::sync::Arc;

use fusebox_core::hlo::{ArrayLiteral, Literal, Shape};

use crate::host_op::{LoadedHostOp, assemble};
use crate::kernel::LoadedKernel;
use crate::loader::LoadedObject;
use crate::memory::Buffer;
use crate::pool::Pool;
use crate::thunks::Machine;
use crate::value::describe;
use crate::{Allocation, AllocationKind, CodeImage, Executable, LoadError, RunError, Slice, ThreadOrder};

/// How to run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Threads of the cpu target's pool; 0: one per processor.
    pub threads: usize,
    /// The order in which the simt target runs threads.
    pub order: ThreadOrder,
}

/// A loaded executable.
#[derive(Debug)]
pub struct Program {
    executable: Executable,
    buffers: Vec<Buffer>,
    kernels: Vec<LoadedKernel>,
    host_ops: Vec<LoadedHostOp>,
    /// `None` for the simt target.
    pool: Option<Pool>,
    order: ThreadOrder,
}

impl Program {
    /// Links the code and allocates the buffers.
    ///
    /// # Errors
    /// If the target is not available here, the code cannot be linked, or memory is short.
    pub fn load(executable: Executable, options: &Options) -> Result<Program, LoadError> {
        executable.check().map_err(LoadError::Object)?;
        let pool = pool_for(&executable.target, options)?;
        let objects = executable.code.iter().map(link).collect::<Result<Vec<_>, _>>()?;
        let kernels = executable.kernels.iter().map(|k| LoadedKernel::new(k, objects[k.code as usize].clone()));
        let kernels = kernels.collect::<Result<Vec<_>, _>>()?;
        let host_ops = executable.host_ops.iter().map(LoadedHostOp::new).collect::<Result<Vec<_>, _>>()?;
        let buffers = executable.allocations.iter().map(allocate).collect::<Result<Vec<_>, _>>()?;
        Ok(Program { executable, buffers, kernels, host_ops, pool, order: options.order })
    }

    /// What was loaded.
    pub fn executable(&self) -> &Executable {
        &self.executable
    }

    /// Shapes of the parameters.
    pub fn parameter_shapes(&self) -> Vec<Shape> {
        self.executable.parameters.iter().filter_map(|p| p.shape.to_shape()).collect()
    }

    /// Puts the inputs in place: one array per leaf of the parameters, in order. They stay until set again.
    ///
    /// # Errors
    /// If their number, types or dimensions are not the parameters'.
    pub fn set_inputs(&mut self, inputs: &[ArrayLiteral]) -> Result<(), RunError> {
        let shapes = self.parameter_shapes();
        let expected: Vec<_> = shapes.iter().flat_map(Shape::leaves).filter_map(Shape::as_array).collect();
        if expected.len() != inputs.len() {
            return Err(RunError::InputCount { expected: expected.len(), found: inputs.len() });
        }
        for (index, (shape, input)) in expected.iter().zip(inputs).enumerate() {
            if !shape.same_type_and_dims(&input.shape()) {
                let (expected, found) = (describe(shape), describe(&input.shape()));
                return Err(RunError::InputShape { index, expected, found });
            }
        }
        let slices: Vec<Slice> = self.executable.parameters.iter().flat_map(|p| p.leaves.clone()).collect();
        for (slice, input) in slices.iter().zip(inputs) {
            self.buffers[slice.allocation as usize].as_mut_slice()[range(slice)].copy_from_slice(&input.data);
        }
        Ok(())
    }

    /// Runs on the inputs in place; the result stays in the program's buffers.
    ///
    /// # Errors
    /// If a host operation fails or the simulator finds a fault.
    pub fn execute(&mut self) -> Result<(), RunError> {
        let mut machine = Machine {
            buffers: &mut self.buffers,
            kernels: &self.kernels,
            host_ops: &self.host_ops,
            pool: self.pool.as_ref(),
            order: self.order,
        };
        machine.run(&self.executable.thunks)
    }

    /// The result of the last execution.
    pub fn result(&self) -> Literal {
        let binding = &self.executable.result;
        let leaves: Vec<&[u8]> =
            binding.leaves.iter().map(|s| &self.buffers[s.allocation as usize].as_slice()[range(s)]).collect();
        let shape = binding.shape.to_shape().unwrap_or(Shape::Token);
        assemble(&shape, &mut leaves.iter())
    }

    /// Sets the inputs, executes, and gives the result.
    ///
    /// # Errors
    /// As [`Program::set_inputs`] and [`Program::execute`].
    pub fn run(&mut self, inputs: &[ArrayLiteral]) -> Result<Literal, RunError> {
        self.set_inputs(inputs)?;
        self.execute()?;
        Ok(self.result())
    }
}

fn range(slice: &Slice) -> std::ops::Range<usize> {
    slice.offset as usize..(slice.offset + slice.bytes) as usize
}

fn pool_for(target: &str, options: &Options) -> Result<Option<Pool>, LoadError> {
    match target {
        "simt" => Ok(None),
        "cpu" => {
            let available = || std::thread::available_parallelism().map_or(1, usize::from);
            let threads = if options.threads == 0 { available() } else { options.threads };
            let system = |source| LoadError::System { what: "starting threads", source };
            Ok(Some(Pool::new(threads).map_err(system)?))
        }
        other => Err(LoadError::Device(format!(
            "this build of fusebox cannot run code for {other}: it has no CUDA support yet. Compile for cpu or simt"
        ))),
    }
}

fn link(code: &CodeImage) -> Result<Arc<LoadedObject>, LoadError> {
    match code {
        CodeImage::Object { bytes, sites } => Ok(Arc::new(LoadedObject::load(bytes, sites)?)),
        CodeImage::Ptx(_) => Err(LoadError::Device("PTX needs a GPU and a CUDA driver".into())),
    }
}

fn allocate(allocation: &Allocation) -> Result<Buffer, LoadError> {
    let buffer = match &allocation.kind {
        AllocationKind::Constant(data) => Buffer::from_bytes(data),
        AllocationKind::Parameter | AllocationKind::Temporary => {
            usize::try_from(allocation.bytes).ok().and_then(Buffer::zeroed)
        }
    };
    buffer.ok_or(LoadError::Memory { bytes: allocation.bytes })
}
