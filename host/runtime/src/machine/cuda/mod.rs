//! Runs programs on NVIDIA GPUs through the CUDA driver. The driver is loaded when the process
//! first opens a GPU.
//!
//! ```text
//! device.rs    the GPU
//! describe.rs  the GPU's properties
//! module.rs    PTX -> functions
//! machine.rs   thunks -> stream
//! product.rs   products of matrices by cuBLASLt
//! ```

mod describe;
mod device;
mod machine;
mod module;
mod product;

pub use describe::describe_gpu;
pub use machine::Cuda;

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
