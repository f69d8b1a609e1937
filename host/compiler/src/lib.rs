//! From a module to an executable: passes, fusion, selection, emission, buffers, thunks.
//!
//! The modules stand in the order in which data passes through them.

mod error;

mod host_module;
mod rebuild;
mod roles;

mod passes;

mod fuse;

mod kernels;

mod schedule;

pub use error::CompileError;
