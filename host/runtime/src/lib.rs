//! Loads and runs executables. This crate needs neither MLIR nor LLVM.
//!
//! ```text
//! Executable (bytes)  ->  load: link objects, allocate buffers  ->  Program  ->  run thunks  ->  Literal
//! ```
//!
//! The modules below are in the order in which data passes through them.

#![deny(clippy::undocumented_unsafe_blocks)]

mod check;
mod executable;
mod format;
mod nesting;
mod target;
mod value;

mod affinity;
mod loader;
mod memory;
mod pool;

mod comparator;
mod host_op;
mod kernel;
mod simt;
mod subnormals;
mod sweeps;

mod cuda;
mod donation;
mod host;
mod options;
mod processor;
mod program;
mod repeated;
mod thunks;
mod watchdog;

mod error;
mod instruction_sets;
mod measure;
mod peak;
mod within_bounds;

pub mod npz;

pub use affinity::PinnedThread;
pub use cuda::describe_gpu;
pub use error::{LoadError, RunError};
pub use executable::{
    Access, Allocation, AllocationKind, Binding, CodeImage, DynamicSize, Executable, HostKernel, HostOp,
    KernelArgument, KernelImage, Slice, Thunk,
};
pub use format::FormatError;
pub use host::PART_BYTES;
pub use instruction_sets::{TILES_OF_BF16, TILES_OF_INT8};
pub use measure::{Effort, Timing, measure};
pub use memory::{Buffer, Sweep, SweepAccess};
pub use options::Options;
pub use peak::operations_per_second;
pub use processor::describe_cpu;
pub use program::Program;
pub use simt::{LaunchReads, ThreadOrder, trace_reads};
pub use target::Target;
pub use value::ValueShape;
pub use watchdog::Watchdog;
