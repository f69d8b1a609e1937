//! The state of an event: the work that it stands for, and the time when that work was finished.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use crate::engine::Clock;

/// The time at which the engine executed the recording of an event. The cell is empty before the
/// execution.
pub type Moment = Arc<OnceLock<Instant>>;

/// The last recording of an event. Graphs and streams share the last recording of an event.
#[derive(Debug, Default)]
pub struct Signal {
    recorded: Mutex<Option<(Clock, Moment)>>,
}

impl Signal {
    /// Notes that the event was recorded, after all work in the clock.
    pub fn record(&self, clock: Clock, moment: Moment) {
        *self.recorded.lock().unwrap_or_else(PoisonError::into_inner) = Some((clock, moment));
    }

    /// Returns the last recording. `None` if the event was never recorded.
    pub fn recorded(&self) -> Option<(Clock, Moment)> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
