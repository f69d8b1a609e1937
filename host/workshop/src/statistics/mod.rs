//! Derives a verdict from measured pairs.
//!
//! ```text
//! sample.rs    times -> median, quartiles
//! interval.rs  ratios of pairs, in rounds -> ratio with a confidence interval
//! verdict.rs   that interval, and the margin of equal times -> faster, slower, same, ambiguous
//! ```
//!
//! Only ratios within a pair are used, because another program or a lower clock slows both sides of
//! a pair by the same factor. Effects that are common to all pairs of a round count once per round.
//! For example, the addresses of the buffers affect all pairs of a round.

mod interval;
mod sample;
mod verdict;

#[cfg(test)]
mod tests;

pub use interval::{Interval, of_ratios};
pub use sample::{Summary, median};
pub use verdict::{MARGIN, Verdict};
