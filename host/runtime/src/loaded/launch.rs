//! Executions that start when their arguments are ready, on a thread of the device.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::arguments::Argument;
use super::execution::execute;
use super::interface::ResultMemory;
use super::program::Program;
use crate::buffer::Promise;

/// An execution that has not started.
pub struct Launch {
    pub program: Arc<Program>,
    pub arguments: Vec<Argument>,
    pub memory: ResultMemory,
    /// The promises of the results.
    pub promises: Vec<Promise>,
}

/// An execution that waits for its arguments.
struct WaitingLaunch {
    /// Number of arguments that are not ready. While [`Launch::start`] counts these arguments, the
    /// number is larger by one.
    missing: AtomicUsize,
    launch: Mutex<Option<Launch>>,
}

impl Launch {
    /// Appends the execution to the device's queue as soon as all arguments are ready.
    pub fn start(self) {
        let pending: Vec<usize> = (0..self.arguments.len()).filter(|&it| self.arguments[it].is_pending()).collect();
        if pending.is_empty() {
            return self.enqueue();
        }
        let waiting = Arc::new(WaitingLaunch { missing: AtomicUsize::new(1), launch: Mutex::new(None) });
        for index in pending {
            waiting.missing.fetch_add(1, Ordering::Relaxed);
            let waiting = waiting.clone();
            self.arguments[index].on_done(move || waiting.arrive());
        }
        *waiting.launch.lock().unwrap_or_else(PoisonError::into_inner) = Some(self);
        waiting.arrive();
    }

    fn enqueue(self) {
        let device = self.program.device.clone();
        device.enqueue(Box::new(move || self.run()));
    }

    /// Executes the program and completes its results.
    fn run(self) {
        // All memory that the execution uses is released before the first result is ready.
        let outcome = execute(&self.program, self.arguments, self.memory);
        match outcome {
            Ok(arrays) => self.promises.into_iter().zip(arrays).for_each(|(it, array)| it.complete(Ok(array))),
            Err(error) => self.promises.into_iter().for_each(|it| it.complete(Err(error.clone()))),
        }
    }
}

impl WaitingLaunch {
    /// Counts one argument as ready. Appends the execution to the device's queue when all arguments
    /// are ready.
    fn arrive(&self) {
        if self.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            let launch = self.launch.lock().unwrap_or_else(PoisonError::into_inner).take();
            launch.into_iter().for_each(Launch::enqueue);
        }
    }
}
