//! The locks of [`completion`](super::completion). The tests replace these locks by the locks of a
//! model checker.

pub use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
