//! Feeds broken and misleading input to every entry point of fusebox, and checks the outcome.
//!
//! ```text
//! seeds      the inputs to mutate: HLO texts
//! mutate     mutations of bytes, lines, tokens
//! targets    one entry point each: mutates inputs, passes them on, judges the outcome
//! worker     one process: runs case after case, each determined by seed and number
//! driver     starts workers, detects signals and hangs, counts
//! ```
//!
//! A case is determined by the seed of the run and by the number of the case. Therefore `--first
//! NUMBER --cases 1` reproduces a finding.

#![forbid(unsafe_code)]

#[cfg(feature = "compiler")]
mod compiled;
pub mod driver;
mod memory;
pub mod mutate;
pub mod random;
pub mod seeds;
pub mod targets;
pub mod worker;

use random::Random;

/// Name of an outcome: `refused`, `read`, `ran` …. The cases with each outcome are counted.
pub type Outcome = &'static str;

/// An entry point of fusebox.
pub trait Target {
    /// Runs one case and judges its outcome. Stores the input in `input` before using it, so that
    /// the input is known even if the case panics.
    ///
    /// # Errors
    /// If fusebox does something that it must not do. The error describes this fault. Panics,
    /// signals and hangs are not reported as errors: the worker detects panics, and the driver
    /// detects signals and hangs.
    fn run(&mut self, random: &mut Random, input: &mut Vec<u8>) -> Result<Outcome, String>;
}
