//! Compiles a module to an executable: passes, fusion, selection, emission, buffers, thunks.
//!
//! [`compile`] is the entry point. The modules are listed in the order in which data passes through
//! them.

#![forbid(unsafe_code)]

mod departures;
mod dump;
mod error;
mod options;
mod phase;
mod planted;
mod progress;

mod source;

mod side_effects;

mod equal_instructions;
mod invariance;
mod passes;
mod roles;

mod emitters;
mod fuse;
mod host_operations;
mod wide;

mod kernels;
mod select;

mod assembler;
mod comparators;
mod lower;
mod pointwise;

mod memory_use;
mod schedule;

mod cache;
mod pipeline;
pub mod report;
mod steps;

#[cfg(test)]
mod tests;

pub use assembler::{Assembled, Assembler, AssemblerError};
pub use cache::{Cache, Cached, compile_or_load};
pub use departures::Departures;
pub use dump::Dump;
pub use emitters::{Emitters, Tuned, ask, is_in_emitter};
pub use error::{CompileError, EmitterError};
pub use fuse::{BidRecord, Cut, Reason, Way, heroes};
pub use fusebox_prediction::Prediction;
pub use kernels::KernelUnit;
pub use lower::{LoweredKernels, dump_of_stage};
pub use memory_use::{LiveBuffer, MemoryUse, SharedBuffer};
pub use options::Options;
pub use passes::{PASSES, Pass};
pub use phase::Phase;
pub use pipeline::{Compilation, compile, compile_fused};
pub use planted::Planted;
pub use progress::{Advance, Progress};
pub use select::Selected;
pub use source::{Format, Source};
pub use steps::Step;
