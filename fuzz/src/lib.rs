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

/// The outcome of a case, for counting: `refused`, `read`, `ran` …
pub type Outcome = &'static str;

/// An entry point of fusebox.
pub trait Target {
    /// Runs one case and judges its outcome. Stores the input in `input` before using it, for
    /// failures that are detected from outside.
    ///
    /// # Errors
    /// A description of forbidden behaviour. Panics, signals and hangs are detected from outside.
    fn run(&mut self, random: &mut Random, input: &mut Vec<u8>) -> Result<Outcome, String>;
}
