//! Measures two sides against each other on one machine.
//!
//! ```text
//! rounds.rs   pairs in random order, in rounds, until a verdict is certain or time is up
//! contest.rs  a pair of programs: loaded anew every round, with warm or cold caches
//! whole.rs    a pair of programs that are measured kernel by kernel
//! watch.rs    detects disturbance: other programs on the processor, or a lower clock
//! ```

mod contest;
mod rounds;
mod watch;
mod whole;

pub use contest::{Cache, Contest, time};
pub use rounds::{Effort, Pair, Round, Series, alternate};
pub use watch::Watch;
pub use whole::{Part, Whole};
