//! Broken and misleading input for every door of fusebox, and what must hold of what comes out.
//!
//! ```text
//! seeds      what is mutated: modules, and what targets make of them
//! mutate     bytes, lines, tokens
//! targets    a door each: mutates, feeds, judges
//! worker     one process: case after case, each decided by seed and number
//! driver     starts workers, notices signals and silence, counts
//! ```
//!
//! A case is decided by the run's seed and its number, so a finding comes back with `--first NUMBER --cases 1`.

#![forbid(unsafe_code)]

mod compiled;
pub mod driver;
pub mod mutate;
pub mod random;
pub mod seeds;
pub mod targets;
pub mod worker;

use random::Random;

/// What became of a case, for counting: `refused`, `read`, `ran` …
pub type Outcome = &'static str;

/// A door of fusebox.
pub trait Target {
    /// Makes one case and judges what comes out. What is fed is put into `input` before, for findings that are noticed
    /// from outside.
    ///
    /// # Errors
    /// What must not happen, in words. Panics, signals and silence are noticed from outside.
    fn run(&mut self, random: &mut Random, input: &mut Vec<u8>) -> Result<Outcome, String>;
}
