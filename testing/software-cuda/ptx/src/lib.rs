//! A strict interpreter of PTX, the assembly language of NVIDIA's GPUs. The interpreter executes
//! kernels warp by warp, and reports each behaviour that the PTX manual leaves undefined.
//!
//! ```text
//! device     kinds of GPUs and their limits
//! stamp      the order of work on streams
//! fault      errors of kernels, and their places
//! memory     a device's memory with bounds and a shadow of accesses
//! module     loads text: parsed, checked and decoded kernels
//! launch     executes a kernel
//! counts     instructions and traffic of a kernel
//! ```
//!
//! Limits: functions that kernels call must not be recursive. A call names its function, and passes
//! parameters in `.param` variables. The only supported function of the system is
//! `cudaGraphSetConditional`. A warp executes a barrier of the block as a whole. Only the end of
//! the launch orders accesses of different blocks: if one block writes a flag for which another
//! block waits, the accesses to the data that the flag announces count as a race. Matrices of
//! `wgmma` have no swizzling. Tensor maps and clusters with common memory are not supported.

#![forbid(unsafe_code)]

mod code;
mod counts;
mod decode;
mod device;
mod error;
mod execute;
mod fault;
mod launch;
mod memory;
mod module;
mod numbers;
mod shadow;
mod stamp;
mod text;
mod works;

pub use code::CONDITION;
pub use counts::{Counts, Executed, Traffic};
pub use device::DeviceKind;
pub use error::{LoadError, LoadErrorKind};
pub use fault::{Access, Fault, FaultKind, Place, Space};
pub use launch::{Launch, Settings, execute};
pub use memory::{Memory, OutOfMemory};
pub use module::{Kernel, Module, Parameter};
pub use stamp::Stamp;
