//! The locks of [`completion`](super::completion). The tests replace this file by the locks of a
//! model checker.

pub use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
