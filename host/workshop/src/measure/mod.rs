//! Measures the times of two sides alternately on one machine.
//!
//! ```text
//! rounds.rs       pairs in random order, in rounds, until a verdict is certain or time is up
//! contest.rs      a pair of programs: loaded anew every round, with warm or cold caches
//! programs.rs     a pair of programs that are measured kernel by kernel
//! disturbance.rs  detects disturbance: other programs on the processor, or a lower clock
//! ```

mod contest;
mod disturbance;
mod programs;
mod rounds;

pub use contest::{Cache, Contest, time};
pub use disturbance::DisturbanceWatch;
pub use programs::{PartComparison, ProgramComparison};
pub use rounds::{Effort, Round, Series, TimePair, alternate};
