//! Compiles a module to an executable: passes, fusion, selection, emission, buffers, thunks.
//!
//! [`compile`] is the entry point. The modules are listed in the order in which data passes through
//! them.

#![forbid(unsafe_code)]

mod cache;
mod departures;
mod phase;
mod pipeline;
mod planted;
mod pointwise;
mod progress;
mod steps;

mod dump;
mod error;
pub mod report;

mod source;

mod roles;

mod passes;

mod fuse;
mod host_operations;

mod kernels;
mod select;

mod lower;

mod comparators;
mod schedule;
mod wide;

#[cfg(test)]
mod tests;

pub use cache::{Cache, Cached, compile_or_load};
pub use departures::Departures;
pub use dump::Dump;
pub use error::{CompileError, EmitterError};
pub use fuse::{BidRecord, Cut, Reason, Way, heroes};
pub use fusebox_core::emitter::Prediction;
pub use kernels::KernelUnit;
pub use lower::{LoweredKernels, dump_of_stage};
pub use passes::{PASSES, Pass};
pub use phase::Phase;
pub use pipeline::{Compilation, Options, compile, compile_fused};
pub use planted::Planted;
pub use progress::{Advance, Progress};
pub use schedule::{LiveBuffer, MemoryUse, SharedBuffer};
pub use select::{Emitters, Selected, Tuned, ask, is_in_emitter};
pub use source::{Format, Source};
pub use steps::Step;
