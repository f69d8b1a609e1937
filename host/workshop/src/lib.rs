//! Tools for those who write emitters.
//!
//! ```text
//! module, two sides -> ab: compile both -> compare results -> measure in turns -> statistics -> report
//! ```
//!
//! * [`new_emitter`]: a crate of one's own to begin with.
//! * [`sources`]: the crate of a library under development, built and watched.
//! * [`ab`]: two choices of emitters, or two versions of fusebox, on one module.
//! * [`compare`]: results of two programs.
//! * [`measure`]: pairs of programs in turns.
//! * [`statistics`]: from pairs to a verdict.
//! * [`roof`]: what the machine could do.
//! * [`ptxas`]: what NVIDIA's assembler says of kernels.

#![forbid(unsafe_code)]

mod error;

pub mod ab;
pub mod compare;
pub mod measure;
pub mod new_emitter;
pub mod ptxas;
pub mod roof;
pub mod sources;
pub mod statistics;

pub use error::WorkshopError;
