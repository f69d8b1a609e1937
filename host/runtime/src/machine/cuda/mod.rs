//! Runs programs on NVIDIA GPUs through the CUDA driver. The driver is loaded when the process
//! first opens a GPU.
//!
//! ```text
//! spares.rs    memory that is kept for later results
//! gpu.rs       the GPU and its memory
//! describe.rs  the GPU's properties
//! module.rs    PTX -> functions
//! order.rs     which thunks must wait for which
//! streams.rs   independent thunks -> streams
//! graph.rs     sequences of thunks -> CUDA graphs
//! sequence.rs  the order and the graph of a sequence, for its next execution
//! machine.rs   thunks -> sequences, host operations
//! product.rs   products of matrices by cuBLASLt
//! ```

mod describe;
mod gpu;
mod graph;
mod machine;
mod module;
mod order;
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
