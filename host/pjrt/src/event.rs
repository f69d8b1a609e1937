//! Events: the completion of an operation.
//!
//! A caller may destroy an event as soon as it has registered a callback, even inside the callback.
//! The callbacks are therefore stored in the state that the event shares with its operation, and
//! the library holds no lock while a callback runs.

use std::sync::{Arc, LazyLock};

use fusebox_runtime::Completion;

use crate::abi::{Kind, Object};
use crate::error::{Answer, Error};

/// The completion of an operation.
pub struct Event(State);

enum State {
    /// The operation was complete when the event was created.
    Done(Answer),
    /// The operation completes the event later.
    Later(Arc<Completion<(), Error>>),
}

/// The common event of all operations that had already succeeded when their event was created.
static SUCCESS: LazyLock<Arc<Event>> = LazyLock::new(|| Arc::new(Event(State::Done(Ok(())))));

impl Object for Event {
    const KIND: Kind = Kind::Event;
}

impl Event {
    /// Returns an event whose operation is not complete.
    pub fn pending() -> Arc<Event> {
        Arc::new(Event(State::Later(Arc::new(Completion::pending()))))
    }

    /// Returns an event whose operation is complete.
    pub fn done(outcome: Answer) -> Arc<Event> {
        if outcome.is_ok() { Arc::clone(&SUCCESS) } else { Arc::new(Event(State::Done(outcome))) }
    }

    /// Completes the operation and calls the callbacks. If the operation is already complete, does
    /// nothing and returns `false`.
    pub fn complete(&self, outcome: Answer) -> bool {
        match &self.0 {
            State::Done(_) => false,
            State::Later(completion) => Arc::clone(completion).complete(outcome),
        }
    }

    /// Returns the outcome, or `None` if the operation is not complete.
    pub fn outcome(&self) -> Option<Answer> {
        match &self.0 {
            State::Done(outcome) => Some(outcome.clone()),
            State::Later(completion) => completion.get(),
        }
    }

    /// Waits for the outcome.
    pub fn wait(&self) -> Answer {
        match &self.0 {
            State::Done(outcome) => outcome.clone(),
            State::Later(completion) => completion.wait(),
        }
    }

    /// Calls a function when the operation is complete: now, or later from the thread that
    /// completes the operation.
    pub fn when_done(&self, callback: impl FnOnce(Answer) + Send + 'static) {
        match &self.0 {
            State::Done(outcome) => callback(outcome.clone()),
            State::Later(completion) => {
                completion.on_done(move |error| callback(error.map_or(Ok(()), |error| Err(error.clone()))));
            }
        }
    }
}

impl Drop for Event {
    /// If the operation has ended without an outcome, completes the event with an error. The event
    /// must call its callbacks in any case, because they may free memory.
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
        event.when_done(move |outcome| {
            drop(own.lock().unwrap().take());
            sender.send(outcome).unwrap();
        });
        assert!(event.outcome().is_none() && receiver.try_recv().is_err());
        assert!(event.complete(Ok(())) && !event.complete(Err(Error::internal("late"))));
        assert_eq!(receiver.recv().unwrap(), Ok(()));
        assert_eq!((event.wait(), Arc::strong_count(&event)), (Ok(()), 1));
    }

    #[test]
    fn an_event_that_is_dropped_early_calls_its_callbacks() {
        let event = Event::pending();
        let (sender, receiver) = mpsc::channel();
        event.when_done(move |outcome| sender.send(outcome).unwrap());
        drop(event);
        assert!(receiver.recv().unwrap().is_err());
    }

    #[test]
    fn a_complete_event_answers_at_once() {
        for outcome in [Ok(()), Err(Error::invalid("wrong"))] {
            let event = Event::done(outcome.clone());
            let (sender, receiver) = mpsc::channel();
            event.when_done(move |outcome| sender.send(outcome).unwrap());
            assert_eq!((receiver.try_recv(), event.wait()), (Ok(outcome.clone()), outcome.clone()));
            assert_eq!((event.outcome(), event.complete(Ok(()))), (Some(outcome), false));
        }
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
