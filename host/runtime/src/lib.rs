//! Loads and runs executables. This crate needs neither MLIR nor LLVM.
//!
//! ```text
//! Executable (bytes)  ->  load: link objects, allocate buffers  ->  Program  ->  run thunks  ->  Literal
//! ```
//!
//! The folders below are in the order in which data passes through them. A folder uses only the
//! folders above it. All folders may use the errors.
//!
//! ```text
//! executable   plain data: the format of files, and its checks
//! processor    this machine's processor: properties, threads, speed
//! values       buffers, literals, files of arrays
//! code         loaded code: kernels and host operations, immutable
//! machine      execution of thunks: cpu, simulator, GPUs
//! program      a loaded executable with its inputs and its result
//! ```

#![deny(clippy::undocumented_unsafe_blocks)]

mod executable;
mod processor;
mod values;

mod code;
mod machine;
mod program;

mod error;

pub use code::Watchdog;
pub use error::{LoadError, RunError};
pub use executable::{
    Access, Allocation, AllocationKind, Binding, CodeImage, DynamicSize, Executable, FormatError, HostKernel, HostOp,
    KernelArgument, KernelImage, Slice, Target, Thunk, ValueShape, bytes_moved,
};
pub use machine::{LaunchReads, Options, PART_BYTES, ThreadOrder, describe_gpu, trace_reads};
pub use processor::{
    PinnedThread, Sweep, SweepAccess, TILES_OF_BF16, TILES_OF_INT8, describe_cpu, operations_per_second,
};
pub use program::{Effort, Program, Timing, measure};
pub use values::{Buffer, npz};
