//! Two sides measured against each other on one machine.
//!
//! ```text
//! rounds.rs   pairs in random order, in rounds, until the verdict stands or time is up
//! contest.rs  a pair of programs: loaded anew every round, with warm or cold caches
//! watch.rs    whether something else ran on the machine meanwhile
//! ```

mod contest;
mod rounds;
mod watch;

pub use contest::{Cache, Contest, time};
pub use rounds::{Effort, Pair, Round, Series, alternate};
pub use watch::Watch;
