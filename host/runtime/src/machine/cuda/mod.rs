//! Runs programs on NVIDIA GPUs through the CUDA driver. The driver is loaded when the process
//! first opens a GPU.
//!
//! ```text
//! pinned.rs    memory of the host for values that decide
//! spares.rs    memory that is kept for later results
//! gpu.rs       the GPU and its memory
//! describe.rs  the GPU's properties
//! module.rs    machine code or PTX -> functions
//! order.rs     which thunks must wait for which
//! streams.rs   independent thunks -> streams
//! condition.rs kernels that decide about loops and branches in graphs
//! level.rs     sequences of thunks -> nodes, in the order of their accesses
//! node.rs      nodes -> parameters of the driver
//! graph.rs     nodes -> CUDA graphs
//! sequence.rs  the order and the graph of a sequence, for its next execution
//! machine.rs   thunks -> sequences, host operations
//! product.rs   products of matrices by cuBLASLt
//! ```

mod condition;
mod describe;
mod gpu;
mod graph;
mod level;
mod machine;
mod module;
mod node;
mod order;
mod pinned;
mod product;
mod sequence;
mod spares;
mod streams;

pub use describe::describe_gpu;
pub use gpu::{Gpu, GpuMemory};
pub use machine::{GpuProgram, GpuRun};

use cudarc::driver::DriverError;

use crate::{LoadError, RunError};

/// Converts an error that the driver reports while a program is loaded. `what` names the failed
/// action.
fn load_error(what: &str, error: DriverError) -> LoadError {
    LoadError::Device(format!("{what}: the CUDA driver says {error}"))
}

/// Converts an error that the driver reports while a program runs. `what` names the failed action.
fn run_error(what: &str, error: DriverError) -> RunError {
    RunError::Device(format!("{what}: the CUDA driver says {error}"))
}
