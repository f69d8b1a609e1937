//! The obligation to fill a buffer.

use std::sync::Arc;

use super::array::Array;
use super::completion::Completion;
use crate::RunError;

/// The state of a buffer that is not ready yet.
pub type PendingArray = Completion<Array, RunError>;

/// The obligation to fill a buffer. If the promise is dropped before the buffer is filled, the
/// buffer fails with [`RunError::Abandoned`].
pub struct Promise(Option<Arc<PendingArray>>);

impl Promise {
    /// Returns a pending state and the promise to complete it.
    pub fn new() -> (Arc<PendingArray>, Promise) {
        let pending = Arc::new(Completion::pending());
        (pending.clone(), Promise(Some(pending)))
    }

    /// Marks the buffer as ready or failed, and calls the functions that are registered for this
    /// event.
    pub fn complete(mut self, outcome: Result<Array, RunError>) {
        if let Some(pending) = self.0.take() {
            pending.complete(outcome);
        }
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        if let Some(pending) = self.0.take() {
            pending.complete(Err(RunError::Abandoned));
        }
    }
}
