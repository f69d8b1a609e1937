//! Loads an executable and runs it. Needs neither MLIR nor LLVM.
//!
//! ```text
//! Executable (bytes)  ->  load: link objects, allocate buffers  ->  Program  ->  run thunks  ->  Literal
//! ```
//!
//! The modules stand in the order in which data passes through them.

mod check;
mod executable;
mod format;
mod value;

mod loader;
mod memory;
mod pool;

mod kernel;
mod simt;

mod error;

pub mod npz;

pub use error::{LoadError, RunError};
pub use executable::{
    Access, Allocation, AllocationKind, Binding, CodeImage, Executable, HostOp, KernelArgument, KernelImage, Slice,
    Thunk,
};
pub use format::FormatError;
pub use value::ValueShape;
