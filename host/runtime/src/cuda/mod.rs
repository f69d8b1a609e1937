//! Runs programs on NVIDIA GPUs through the driver. The first program for a GPU loads the driver.
//!
//! ```text
//! device.rs   the GPU and its properties
//! module.rs   PTX -> functions
//! machine.rs  thunks -> stream
//! product.rs  products of matrices by cuBLASLt
//! ```

mod device;
mod machine;
mod module;
mod product;

pub use device::describe_gpu;
pub use machine::Cuda;

use cudarc::driver::DriverError;

use crate::{LoadError, RunError};

/// Converts a driver error of a loading step.
fn load_error(what: &str, error: DriverError) -> LoadError {
    LoadError::Device(format!("{what}: the CUDA driver says {error}"))
}

/// Converts a driver error of a running step.
fn run_error(what: &str, error: DriverError) -> RunError {
    RunError::Device(format!("{what}: the CUDA driver says {error}"))
}
