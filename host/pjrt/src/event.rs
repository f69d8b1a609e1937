//! Events: the completion of an operation.
//!
//! A caller may destroy an event as soon as it has registered a callback, even inside the callback.
//! So callbacks belong to the state that the event shares with the operation, and no lock is held
//! while a callback runs.

use std::sync::Arc;

use fusebox_runtime::Completion;

use crate::error::{Answer, Error};

/// A function that is called once, with the outcome of the operation.
pub type Callback = Box<dyn FnOnce(Answer) + Send>;

/// The completion of an operation.
pub struct Event(Arc<Completion<(), Error>>);

impl Event {
    /// Returns an event whose operation is not complete.
    pub fn pending() -> Arc<Event> {
        Arc::new(Event(Arc::new(Completion::pending())))
    }

    /// Returns an event whose operation is complete.
    pub fn done(outcome: Answer) -> Arc<Event> {
        let event = Event::pending();
        event.complete(outcome);
        event
    }

    /// Completes the operation and calls the callbacks. Has no effect on a complete operation, and
    /// returns `false` then.
    pub fn complete(&self, outcome: Answer) -> bool {
        Arc::clone(&self.0).complete(outcome)
    }

    /// Returns the outcome, or `None` if the operation is not complete.
    pub fn outcome(&self) -> Option<Answer> {
        self.0.get()
    }

    /// Waits for the outcome.
    pub fn wait(&self) -> Answer {
        self.0.wait()
    }

    /// Calls a function when the operation is complete: now, or later from the thread that
    /// completes the operation.
    pub fn when_done(&self, callback: Callback) {
        self.0.on_done(move |error| callback(error.map_or(Ok(()), |error| Err(error.clone()))));
    }
}

impl Drop for Event {
    /// An operation that ends without an outcome has failed. Its callbacks may free memory, so they
    /// are called in any case.
    fn drop(&mut self) {
        self.complete(Err(Error::internal("the operation was abandoned")));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::sync::{Arc, Mutex};

    use super::Event;
    use crate::error::Error;

    #[test]
    fn callbacks_run_once_and_may_destroy_their_event() {
        let event = Event::pending();
        let (sender, receiver) = mpsc::channel();
        let own = Mutex::new(Some(Arc::clone(&event)));
        event.when_done(Box::new(move |outcome| {
            drop(own.lock().unwrap().take());
            sender.send(outcome).unwrap();
        }));
        assert!(event.outcome().is_none() && receiver.try_recv().is_err());
        assert!(event.complete(Ok(())) && !event.complete(Err(Error::internal("late"))));
        assert_eq!(receiver.recv().unwrap(), Ok(()));
        assert_eq!((event.wait(), Arc::strong_count(&event)), (Ok(()), 1));
    }

    #[test]
    fn an_event_that_is_dropped_early_calls_its_callbacks() {
        let event = Event::pending();
        let (sender, receiver) = mpsc::channel();
        event.when_done(Box::new(move |outcome| sender.send(outcome).unwrap()));
        drop(event);
        assert!(receiver.recv().unwrap().is_err());
    }

    #[test]
    fn waiting_ends_with_the_outcome() {
        let event = Event::pending();
        let other = Arc::clone(&event);
        let waiting = std::thread::spawn(move || other.wait());
        event.complete(Err(Error::invalid("wrong")));
        assert_eq!(waiting.join().unwrap(), Err(Error::invalid("wrong")));
    }
}
