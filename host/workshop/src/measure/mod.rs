//! Measures two sides against each other on one machine.
//!
//! ```text
//! rounds.rs   pairs in random order, in rounds, until the verdict stands or time is up
//! contest.rs  a pair of programs: loaded anew every round, with warm or cold caches
//! whole.rs    a pair of programs that are measured kernel by kernel
//! watch.rs    whether something else ran on the machine meanwhile
//! ```

mod contest;
mod rounds;
mod watch;
mod whole;

pub use contest::{Cache, Contest, time};
pub use rounds::{Effort, Pair, Round, Series, alternate};
pub use watch::Watch;
pub use whole::{Part, Whole};
