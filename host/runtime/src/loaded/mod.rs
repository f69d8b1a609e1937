//! Loaded executables, which any number of threads execute at the same time.
//!
//! ```text
//! interface   the array leaves of parameters and result
//! policy      which executions run on their calling threads
//! program     immutable state; arenas of executions
//! arguments   the buffers that a caller passes: checks, donation
//! execution   addresses of all memory -> thunks -> results
//! launch      executions that wait for their arguments
//! ```

mod arguments;
mod execution;
mod interface;
mod launch;
mod policy;
mod program;

pub use execution::{ExecutedSteps, sizes};
pub use interface::{Output, ResultMemory};
pub use program::Program;

use std::sync::Arc;

use fusebox_core::hlo::{ArrayLiteral, ArrayShape, Literal, Shape};

use crate::buffer::{Array, Content, Promise};
use crate::processor::with_short_jobs;
use crate::values::{assemble, describe};
use crate::{Binding, Buffer, Device, Executable, LoadError, Options, RunError};
use launch::Launch;

/// An executable that is loaded on a device. A loaded executable does not change, and its clones
/// refer to the same code. Any number of threads can execute a loaded executable at the same time.
///
/// Each execution uses an arena of temporary memory. The executable keeps arenas for later
/// executions, so that in the steady state an execution allocates memory only for its results.
#[derive(Clone, Debug)]
pub struct LoadedExecutable(Arc<Program>);

/// Choices for one execution.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExecuteOptions<'a> {
    /// Numbers of the inputs that this execution does not donate, although the executable declares
    /// them as donated. An input's number is its position among the array leaves of all parameters.
    /// The execution uses copies of the inputs in `keep`.
    pub keep: &'a [usize],
    /// The thread that executes the program.
    pub thread: ExecutionThread,
    /// Whether a result that is a parameter shares the memory of the parameter.
    pub results: ResultMemory,
}

/// The thread that executes a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExecutionThread {
    /// The calling thread, if all arguments are ready and the execution is predicted to take no
    /// longer than its transfer to another thread. Otherwise a thread of the device executes the
    /// program.
    #[default]
    Automatic,
    /// The calling thread, which first waits for the arguments.
    Caller,
    /// A thread of the device. The execution starts when its arguments are ready. Executions whose
    /// arguments are ready start in the order of the calls.
    Device,
}

impl LoadedExecutable {
    /// Links the code of an executable, and allocates its constants.
    ///
    /// # Errors
    /// Fails if the executable is inconsistent, if the device has another target, if the code
    /// cannot be linked, or if memory is short.
    pub fn load(device: &Device, executable: Executable) -> Result<LoadedExecutable, LoadError> {
        Ok(LoadedExecutable(Arc::new(Program::load(device, executable)?)))
    }

    /// Opens a device for the target of an executable, and loads the executable there.
    ///
    /// # Errors
    /// Fails as [`Device::open`] and [`LoadedExecutable::load`] do.
    pub fn open(executable: Executable, options: &Options) -> Result<LoadedExecutable, LoadError> {
        // An executable whose data is inconsistent should not start threads.
        executable.check().map_err(LoadError::Object)?;
        let device = Device::open(executable.target, options)?;
        LoadedExecutable::load(&device, executable)
    }

    /// Returns the description of the program.
    pub fn executable(&self) -> &Executable {
        &self.0.executable
    }

    /// Returns remarks for users about the loaded code. Each remark is a sentence. For example, a
    /// GPU's driver may have refused the machine code and used the PTX.
    pub fn remarks(&self) -> &[String] {
        self.0.code.remarks()
    }

    /// Returns the device that executes the program.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Returns the shapes of the parameters.
    pub fn parameter_shapes(&self) -> Vec<Shape> {
        self.0.executable.parameters.iter().filter_map(Binding::to_shape).collect()
    }

    /// Returns the shapes of the inputs, which are the array leaves of all parameters. For a
    /// dynamic dimension, a shape states the bound.
    pub fn inputs(&self) -> impl ExactSizeIterator<Item = &ArrayShape> {
        self.0.interface.inputs.iter().map(|input| &*input.shape)
    }

    /// Returns the shapes of the results, which are the array leaves of the program's result. For a
    /// dynamic dimension, a shape states the bound.
    pub fn outputs(&self) -> impl ExactSizeIterator<Item = &ArrayShape> {
        self.0.interface.outputs.iter().map(|output| &*output.shape)
    }

    /// Whether the executable declares input `index` as donated.
    pub fn is_donated(&self, index: usize) -> bool {
        self.0.interface.inputs.get(index).is_some_and(|input| input.is_donated)
    }

    /// Executes the program. `arguments` are the array leaves of all parameters, in order. Returns
    /// the array leaves of the result.
    ///
    /// Arguments are not copied. By default, results are not copied: a result that is a parameter
    /// or a constant shares the memory of the parameter or constant. `options.results` can request
    /// copies of results that are parameters. Donated arguments are deleted by this call. The
    /// execution overwrites the memory of a donated argument if nothing else uses this memory. If
    /// something else uses this memory, the execution overwrites a copy of the argument.
    ///
    /// `options.thread` determines which thread executes the program. If a thread of the device
    /// executes the program, the results are pending when this function returns. A program without
    /// results runs on the calling thread.
    ///
    /// # Errors
    /// Fails if the number, the types or the dimensions of the arguments do not match the
    /// parameters. Fails if an argument was deleted, is on another device, or is donated and passed
    /// twice. A call with unsuitable arguments deletes no argument. Fails if the execution fails on
    /// the calling thread, for example because an argument has failed. If the execution fails on a
    /// thread of the device, the results fail with its error.
    pub fn execute(&self, arguments: &[&Buffer], options: &ExecuteOptions<'_>) -> Result<Vec<Buffer>, RunError> {
        let program = &self.0;
        let outputs = &program.interface.outputs;
        if options.thread != ExecutionThread::Caller {
            program.device.start_queue()?;
        }
        let arguments = arguments::arguments(&program.interface, &program.device, arguments, options.keep)?;
        let runs_here = match options.thread {
            _ if outputs.is_empty() => true,
            ExecutionThread::Caller => true,
            ExecutionThread::Device => false,
            ExecutionThread::Automatic => program.is_cheap && !arguments.iter().any(|it| it.is_pending()),
        };
        if runs_here {
            let execute = || execution::execute(program, arguments, options.results);
            // A caller that chooses its own thread, as a measurement does, keeps the workers awake.
            let is_short = program.is_cheap && options.thread == ExecutionThread::Automatic;
            return Ok(self.ready(if is_short { with_short_jobs(execute) } else { execute() }?));
        }
        let mut promises = Vec::with_capacity(outputs.len());
        let pending = |output: &Output| {
            let (pending, promise) = Promise::new();
            promises.push(promise);
            Buffer::new(&program.device, output.shape.clone(), Content::Pending(pending))
        };
        let results = outputs.iter().map(pending).collect();
        Launch { program: program.clone(), arguments, memory: options.results, promises }.start();
        Ok(results)
    }

    /// Executes the program as [`LoadedExecutable::execute`] does on the calling thread, but waits
    /// for the end of every thunk. Also returns the executed thunks and their times, in order.
    ///
    /// # Errors
    /// Fails as [`LoadedExecutable::execute`] does.
    pub fn execute_in_steps(
        &self,
        arguments: &[&Buffer],
        options: &ExecuteOptions<'_>,
    ) -> Result<(Vec<Buffer>, ExecutedSteps<'_>), RunError> {
        let program = &self.0;
        let arguments = arguments::arguments(&program.interface, &program.device, arguments, options.keep)?;
        let (arrays, steps) = execution::execute_in_steps(program, arguments, options.results)?;
        Ok((self.ready(arrays), steps))
    }

    /// Returns buffers for the results of a finished execution.
    fn ready(&self, arrays: Vec<Array>) -> Vec<Buffer> {
        let Program { device, interface, .. } = &*self.0;
        let ready = |(array, output): (_, &Output)| Buffer::ready(device, output.shape.clone(), array);
        arrays.into_iter().zip(&interface.outputs).map(ready).collect()
    }

    /// Copies arrays of the host to the device, executes the program on the calling thread, and
    /// copies the result to the host. `inputs` are the array leaves of all parameters. Along a
    /// dynamic dimension, an array may be smaller than the parameter's shape.
    ///
    /// # Errors
    /// Fails as [`LoadedExecutable::execute`] does.
    pub fn run(&self, inputs: &[ArrayLiteral]) -> Result<Literal, RunError> {
        self.check_inputs(inputs)?;
        let buffer = |input: &ArrayLiteral| Buffer::from_literal(&self.0.device, input);
        let buffers = inputs.iter().map(buffer).collect::<Result<Vec<Buffer>, RunError>>()?;
        let arguments: Vec<&Buffer> = buffers.iter().collect();
        let options = ExecuteOptions { thread: ExecutionThread::Caller, ..ExecuteOptions::default() };
        self.to_literal(&self.execute(&arguments, &options)?)
    }

    /// Copies the results of an execution to the host. Waits until the results are ready.
    ///
    /// # Errors
    /// Fails if a result has failed or was deleted, if memory is short, or if the GPU fails.
    pub fn to_literal(&self, results: &[Buffer]) -> Result<Literal, RunError> {
        let arrays = results.iter().map(Buffer::to_literal).collect::<Result<Vec<ArrayLiteral>, RunError>>()?;
        let (expected, found) = (self.0.interface.outputs.len(), arrays.len());
        let shape = self.0.executable.result.to_shape().unwrap_or(Shape::Token);
        assemble(&shape, &mut arrays.into_iter()).ok_or(RunError::ResultCount { expected, found })
    }

    /// Checks the number, the types and the dimensions of inputs.
    pub(crate) fn check_inputs(&self, inputs: &[ArrayLiteral]) -> Result<(), RunError> {
        let expected = &self.0.interface.inputs;
        if expected.len() != inputs.len() {
            return Err(RunError::InputCount { expected: expected.len(), found: inputs.len() });
        }
        for (index, (expected, input)) in expected.iter().zip(inputs).enumerate() {
            let shape = &expected.shape;
            if shape.element_type != input.element_type || !shape.admits(&input.dims) {
                let (expected, found) = (describe(shape), describe(&input.shape()));
                return Err(RunError::InputShape { index, expected, found });
            }
        }
        Ok(())
    }

    /// Returns the program.
    pub(crate) fn program(&self) -> &Arc<Program> {
        &self.0
    }
}
