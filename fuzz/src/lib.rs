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
//! The run's seed and the case's number determine a case. Therefore `--first NUMBER --cases 1`
//! reproduces a finding.

#![forbid(unsafe_code)]

mod compiled;
pub mod driver;
pub mod mutate;
pub mod random;
pub mod seeds;
pub mod targets;
pub mod worker;

use random::Random;

/// The name under which the outcome of a case is counted: `refused`, `read`, `ran` …
pub type Outcome = &'static str;

/// An entry point of fusebox.
pub trait Target {
    /// Runs one case and judges its outcome. Stores the input in `input` before using it, so that
    /// the input is known even if the case panics.
    ///
    /// # Errors
    /// If fusebox does what it must not do; the error describes it. The worker detects panics, the
    /// driver detects signals and hangs.
    fn run(&mut self, random: &mut Random, input: &mut Vec<u8>) -> Result<Outcome, String>;
}
