//! From measured pairs to a verdict.
//!
//! ```text
//! sample.rs    times -> median, quartiles
//! interval.rs  ratios of pairs, in rounds -> ratio with a confidence interval
//! verdict.rs   that interval, and what counts as the same -> faster, slower, same, ambiguous
//! ```
//!
//! Only ratios within a pair are used: what slows both sides of a pair down, such as another program or a lower clock,
//! is the same factor for both. What is alike in all pairs of a round, such as where its buffers lie, counts once a round.

mod interval;
mod sample;
mod verdict;

#[cfg(test)]
mod tests;

pub use interval::{Interval, of_ratios};
pub use sample::{Summary, median};
pub use verdict::{MARGIN, Verdict};
