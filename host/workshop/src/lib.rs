//! Tools for those who write emitters.
//!
//! ```text
//! module, two sides -> ab: compile both -> compare results -> measure in turns -> statistics -> report
//! ```
//!
//! * [`ab`]: two choices of emitters, or two versions of fusebox, on one module.
//! * [`compare`]: results of two programs.
//! * [`measure`]: pairs of programs in turns.
//! * [`statistics`]: from pairs to a verdict.
//! * [`roof`]: what the machine could do.
//! * [`tune`]: the fastest emitter and knobs for each fusion, kept for later runs.
//! * [`page`]: a report as a page for a browser.
//! * [`ptxas`]: what NVIDIA's assembler says of kernels.

#![forbid(unsafe_code)]

mod alone;
mod error;

pub mod ab;
pub mod compare;
pub mod measure;
pub mod page;
pub mod ptxas;
pub mod roof;
pub mod statistics;
pub mod tune;

pub use error::WorkshopError;
