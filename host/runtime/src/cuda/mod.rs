//! NVIDIA GPUs through the driver, which is loaded when the first program for one is.
//!
//! ```text
//! device.rs   open the card, what it is
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

/// What the driver said to a step of loading.
fn load_error(what: &str, error: DriverError) -> LoadError {
    LoadError::Device(format!("{what}: the CUDA driver says {error}"))
}

/// What the driver said to a step of running.
fn run_error(what: &str, error: DriverError) -> RunError {
    RunError::Device(format!("{what}: the CUDA driver says {error}"))
}
