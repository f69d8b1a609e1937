//! The state of a value that another thread computes: pending, then either ready or failed. After a
//! value is ready or has failed, its state does not change any more.
//!
//! This file synchronises threads only by locks, so that tests can execute it with all
//! interleavings of threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A function that is called when the value is ready or has failed.
type Callback<E> = Box<dyn FnOnce(Option<&E>) + Send>;

/// A value that another thread computes, or the error of this computation.
pub struct Completion<T, E> {
    state: Mutex<State<T, E>>,
    /// Signals that the value is ready or has failed.
    changed: Condvar,
}

enum State<T, E> {
    /// The value is not ready. Holds the functions to call when the value is ready or has failed,
    /// and the number of threads that wait for the value.
    Pending(Vec<Callback<E>>, usize),
    Done(Result<T, E>),
}

impl<T: Clone, E: Clone> Completion<T, E> {
    /// Returns the state of a pending value.
    pub fn pending() -> Completion<T, E> {
        Completion { state: Mutex::new(State::Pending(Vec::new(), 0)), changed: Condvar::new() }
    }

    /// Sets the value, or the reason why there is no value. Wakes waiting threads, drops this
    /// reference, and then calls the registered functions without holding a lock. If the state is
    /// not pending, does nothing and returns `false`.
    pub fn complete(self: Arc<Self>, outcome: Result<T, E>) -> bool {
        let error = outcome.as_ref().err().cloned();
        let mut state = self.lock();
        let State::Pending(callbacks, threads) = &mut *state else { return false };
        let (callbacks, is_awaited) = (std::mem::take(callbacks), *threads > 0);
        *state = State::Done(outcome);
        drop(state);
        // To notify is a system call, even if no thread waits.
        if is_awaited {
            self.changed.notify_all();
        }
        // The functions may need the only reference to the value.
        drop(self);
        for callback in callbacks {
            // A function that panics must not keep the others from being called. The panic's
            // message was printed by the hook.
            let _ = catch_unwind(AssertUnwindSafe(|| callback(error.as_ref())));
        }
        true
    }

    /// Whether the value is ready or has failed.
    pub fn is_done(&self) -> bool {
        matches!(*self.lock(), State::Done(_))
    }

    /// Returns the value or the error; `None` if the value is pending.
    pub fn get(&self) -> Option<Result<T, E>> {
        match &*self.lock() {
            State::Pending(..) => None,
            State::Done(outcome) => Some(outcome.clone()),
        }
    }

    /// Waits until the value is ready or has failed.
    pub fn wait(&self) -> Result<T, E> {
        let mut state = self.lock();
        loop {
            match &mut *state {
                State::Done(outcome) => return outcome.clone(),
                State::Pending(_, threads) => *threads += 1,
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Registers a function, which is called exactly once: by the thread that completes the value,
    /// or at once by this thread if the value is not pending. The argument of the function is the
    /// error if the value has failed, else `None`. The calling thread holds no lock during the
    /// call.
    pub fn on_done(&self, callback: impl FnOnce(Option<&E>) + Send + 'static) {
        let mut state = self.lock();
        let error = match &mut *state {
            State::Pending(callbacks, _) => return callbacks.push(Box::new(callback)),
            State::Done(outcome) => outcome.as_ref().err().cloned(),
        };
        drop(state);
        callback(error.as_ref());
    }

    /// Returns the value or the error. If `self` is the only reference to the completion, moves the
    /// value instead of cloning it. Returns `None` if the value is pending.
    pub fn into_outcome(self: Arc<Self>) -> Option<Result<T, E>> {
        let state = match Arc::try_unwrap(self) {
            Ok(this) => this.state.into_inner().unwrap_or_else(PoisonError::into_inner),
            Err(shared) => return shared.get(),
        };
        if let State::Done(outcome) = state { Some(outcome) } else { None }
    }

    fn lock(&self) -> MutexGuard<'_, State<T, E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
