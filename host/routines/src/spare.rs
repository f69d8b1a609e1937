//! Memory that one part after the other uses.

use std::sync::{Mutex, PoisonError};

use crate::RoutineError;

/// Makes as many values as there are parts at work at a time, for each part to use one.
pub(crate) struct Spare<S, F> {
    idle: Mutex<Vec<S>>,
    make: F,
}

impl<S: Send, F: Fn() -> Result<S, RoutineError> + Sync> Spare<S, F> {
    pub fn new(make: F) -> Self {
        Spare { idle: Mutex::default(), make }
    }

    /// Calls `work` with a value that nobody uses; what it holds is not specified. Fails if none can be made.
    pub fn with<R>(&self, work: impl FnOnce(&mut S) -> R) -> Result<R, RoutineError> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = idle().pop();
        let mut value = waiting.map_or_else(&self.make, Ok)?;
        let result = work(&mut value);
        idle().push(value);
        Ok(result)
    }
}
