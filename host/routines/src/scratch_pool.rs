//! Scratch memory that the parts of a routine's work use one after another.

use std::sync::{Mutex, PoisonError};

use crate::RoutineError;

/// A pool of scratch values. The pool creates a value only if no existing value is idle. So the
/// number of values is at most the number of parts that run concurrently.
pub(crate) struct ScratchPool<S, F> {
    idle: Mutex<Vec<S>>,
    make: F,
}

impl<S: Send, F: Fn() -> Result<S, RoutineError> + Sync> ScratchPool<S, F> {
    pub fn new(make: F) -> Self {
        ScratchPool { idle: Mutex::default(), make }
    }

    /// Calls `work` with an idle value. The content of the value is undefined. If no value is idle,
    /// creates one, and fails if a value cannot be created.
    pub fn with<R>(&self, work: impl FnOnce(&mut S) -> R) -> Result<R, RoutineError> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = idle().pop();
        let mut value = waiting.map_or_else(&self.make, Ok)?;
        let result = work(&mut value);
        idle().push(value);
        Ok(result)
    }
}
