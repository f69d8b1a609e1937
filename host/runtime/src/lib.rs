//! Loads and runs executables. This crate needs neither MLIR nor LLVM.
//!
//! ```text
//! Executable (bytes)  ->  LoadedExecutable  ->  execute with Buffers  ->  Buffers
//! ```
//!
//! # Embedding
//!
//! A program embeds the runtime with the types [`Device`], [`Executable`], [`LoadedExecutable`] and
//! [`Buffer`]. `examples/embed` is an example of an embedding program.
//!
//! * [`Device`] is the hardware: threads of the processor, the simulator, or a GPU. Open a device
//!   once, and clone the [`Device`] for each use. Devices of the cpu target with equal numbers of
//!   threads share one thread pool.
//! * [`Executable`] is plain data. [`Executable::from_bytes`] reads a file that
//!   `fusebox compile --emit executable` has written. An executable contains machine code, so run
//!   an executable file only if you would run any other program from the same source.
//! * [`LoadedExecutable`] is an executable that is linked for a device. A loaded executable does
//!   not change, and any number of threads can execute it at the same time.
//! * [`Buffer`] is an array in the memory of the device. A buffer does not belong to an executable,
//!   and a clone refers to the same buffer. A buffer holds a copy of given bytes, or uses memory of
//!   the caller without a copy ([`Buffer::from_foreign`]). [`Buffer::bytes`] reads a buffer in the
//!   host's memory without a copy.
//! * [`LoadedExecutable::execute`] takes one buffer per array leaf of the parameters, and returns
//!   one buffer per array leaf of the result.
//!
//! ```no_run
//! use fusebox_runtime::{Buffer, Device, ElementType, Executable};
//! use fusebox_runtime::{ExecuteOptions, LoadedExecutable, Options};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let executable = Executable::from_bytes(&std::fs::read("sum.fusebox")?)?;
//! let device = Device::open(executable.target, &Options::default())?;
//! let program = LoadedExecutable::load(&device, executable)?;
//! let x = Buffer::from_bytes(&device, ElementType::F32, &[2], &[0; 8])?;
//! let results = program.execute(&[&x], &ExecuteOptions::default())?;
//! println!("{:?}", &results[0].bytes()?[..]);
//! # Ok(())
//! # }
//! ```
//!
//! **Results that are ready later.** The calling thread executes a program if all arguments are
//! ready, and if the compiler has predicted that the program takes no longer than waking a thread.
//! Otherwise the execution is queued: it starts on a thread of the device when its arguments are
//! ready, and its results are pending until it ends ([`Buffer::wait`], [`Buffer::is_ready`],
//! [`Buffer::on_ready`]). Pending buffers can be arguments of other executions. If an execution
//! fails, its results fail with its error. All executions that use these results fail with the same
//! error. [`ExecuteOptions::thread`] overrides the choice of the thread that executes the program.
//!
//! **Memory.** An execution copies neither arguments nor results. Each result has its own memory. A
//! result that is a parameter or a constant shares the memory of this parameter or constant.
//! Temporary memory belongs to the executable, which keeps one arena of temporary memory for each
//! concurrent execution.
//!
//! **Donation.** A module may declare inputs as donated. [`LoadedExecutable::execute`] deletes the
//! buffers of donated inputs. If nothing else uses the memory of a donated buffer, the execution
//! overwrites this memory, else the execution overwrites a copy. [`ExecuteOptions::keep`] lists the
//! inputs that one execution must not donate.
//!
//! **Random numbers.** Each execution has its own generator of random numbers, which starts from
//! the same state. So executions with equal arguments have equal results.
//!
//! **Measurement.** The module [`measurement`] executes a program repeatedly in the same memory,
//! and measures times.
//!
//! # Folders
//!
//! The list of folders is in the order in which data passes through the folders. A folder uses only
//! folders that are above it in the list. All folders may use the error types.
//!
//! ```text
//! executable    plain data: the format of files, and its checks
//! processor     this machine's processor: properties, threads, speed
//! values        literals, files of arrays, aligned memory of the host
//! code          loaded code: kernels and host operations, immutable
//! machine       execution of thunks: cpu, simulator, GPUs
//! device        a device and its queue of executions
//! buffer        arrays in the memory of a device
//! loaded        loaded executables, shared by many threads
//! measurement   repeated executions in the same memory, and their times
//! ```

#![deny(clippy::undocumented_unsafe_blocks)]

mod executable;
mod processor;
mod values;

mod code;
mod machine;

mod buffer;
mod device;
mod loaded;
pub mod measurement;

mod error;

pub use fusebox_core::hlo::{ArrayLiteral, ArrayShape, ElementType, Literal, Shape};

pub use buffer::{Buffer, BufferPromise, BufferState, Completion, HostBytes};
pub use code::Watchdog;
pub use device::Device;
pub use error::{LoadError, RunError};
pub use executable::{
    Access, Allocation, AllocationKind, Binding, CodeImage, Cubin, DevicePart, DynamicSize, Executable, FormatError,
    HostKernel, HostOp, KernelArgument, KernelImage, PerDevice, Slice, Target, Thunk, ValueShape, bytes_moved,
};
pub use loaded::{ExecuteOptions, ExecutedSteps, ExecutionThread, LoadedExecutable, ResultMemory};
pub use machine::{ForeignMemory, Graphs, LaunchReads, Options, PART_BYTES, ThreadOrder, describe_gpu, trace_reads};
pub use processor::{
    PinnedThread, Sweep, SweepAccess, TILES_OF_BF16, TILES_OF_INT8, describe_cpu, operations_per_second,
};
pub use values::npz;
