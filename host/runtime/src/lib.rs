//! Loads and runs executables. This crate needs neither MLIR nor LLVM.
//!
//! ```text
//! Executable (bytes)  ->  LoadedExecutable  ->  execute with Buffers  ->  Buffers
//! ```
//!
//! # Embedding
//!
//! A program embeds the runtime with these types. `examples/embed` is such a program.
//!
//! * [`Device`] is the hardware: threads of the processor, the simulator, or a GPU. Open it once,
//!   and clone it. Devices of the cpu target with equal numbers of threads share one thread pool.
//! * [`Executable`] is plain data. [`Executable::from_bytes`] reads a file that `fusebox compile
//!   --emit executable` has written. It is machine code, so trust its file like a program.
//! * [`LoadedExecutable`] is an executable that is linked for a device. It does not change, and any
//!   number of threads can execute it at the same time.
//! * [`Buffer`] is an array in the memory of the device. It lives on its own, and a clone refers to
//!   the same buffer. It is made from bytes, which are copied, or from memory of the caller, which
//!   is used itself ([`Buffer::from_foreign`]). [`Buffer::bytes`] reads it without a copy.
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
//! **Results that are ready later.** If the compiler has predicted that a program takes no longer
//! than waking a thread, and all arguments are ready, the calling thread executes the program.
//! Otherwise the execution is queued: it starts on a thread of the device when its arguments are
//! ready, and its results are pending until it ends ([`Buffer::wait`], [`Buffer::is_ready`],
//! [`Buffer::on_ready`]). Pending buffers can be arguments of other executions. If an execution
//! fails, its results fail with its error, and so do all executions that use these results.
//! [`ExecuteOptions::thread`] overrides the choice of the thread.
//!
//! **Memory.** An execution copies neither arguments nor results. Each result has its own memory. A
//! result that is a parameter or a constant shares its memory. Temporary memory belongs to the
//! executable, which keeps one arena for each execution that runs at the same time as others.
//!
//! **Donation.** A module may declare inputs as donated. [`LoadedExecutable::execute`] deletes the
//! buffers of these inputs, and overwrites their memory if nothing else uses it, else a copy.
//! [`ExecuteOptions::keep`] names inputs that one execution does not donate.
//!
//! **Random numbers.** Each execution has its own generator of random numbers, which starts from
//! the same state. So every execution with equal arguments has equal results.
//!
//! **Measurement.** The module [`measurement`] executes a program repeatedly in the same memory,
//! and measures times.
//!
//! # Folders
//!
//! The folders below are in the order in which data passes through them. A folder uses only the
//! folders above it. All folders may use the errors.
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
