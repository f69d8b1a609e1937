//! Events.

use std::sync::{Arc, Mutex, PoisonError};

use crate::capture::Session;
use crate::signal::Signal;
use crate::status::{Answer, Status};

/// An event.
#[derive(Debug)]
pub struct Event {
    /// Whether the event measures time.
    has_time: bool,
    pub signal: Arc<Signal>,
    /// The capture in which the event was last recorded, and the nodes that the event stands for.
    /// `None` if the event was last recorded outside of captures.
    captured: Mutex<Option<(Arc<Session>, Vec<usize>)>>,
}

impl Event {
    pub fn new(has_time: bool) -> Event {
        Event { has_time, signal: Arc::default(), captured: Mutex::default() }
    }

    /// Stores the capture in which the event was last recorded, and the nodes that the event stands
    /// for.
    pub fn set_captured(&self, captured: Option<(Arc<Session>, Vec<usize>)>) {
        *self.captured.lock().unwrap_or_else(PoisonError::into_inner) = captured;
    }

    /// Returns the capture in which the event was last recorded, and the nodes that the event
    /// stands for.
    pub fn captured(&self) -> Option<(Arc<Session>, Vec<usize>)> {
        self.captured.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the milliseconds from this event to another event.
    pub fn elapsed(&self, to: &Event) -> Answer<f32> {
        if !self.has_time || !to.has_time {
            return Err(Status::INVALID_HANDLE);
        }
        let moment = |event: &Event| {
            let (_, moment) = event.signal.recorded().ok_or(Status::INVALID_HANDLE)?;
            moment.get().copied().ok_or(Status::NOT_READY)
        };
        let (from, to) = (moment(self)?, moment(to)?);
        let sign = if to < from { -1.0 } else { 1.0 };
        let distance = if to < from { from - to } else { to - from };
        Ok(sign * distance.as_secs_f32() * 1e3)
    }
}
