//! A queue of jobs, and the threads that execute them.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A job. If a job panics, its thread continues with the next job.
pub type Job = Box<dyn FnOnce() + Send>;

/// A queue of jobs. The threads of the queue start the jobs in order. When the queue is dropped,
/// the threads execute the remaining jobs and end.
#[derive(Debug)]
pub struct Queue(Arc<QueueState>);

#[derive(Default)]
struct QueueState {
    waiting: Mutex<Waiting>,
    /// Signals that there is a new job, or that the queue is closed.
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    is_closed: bool,
}

impl std::fmt::Debug for QueueState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "QueueState {{ {} jobs }}", self.lock().jobs.len())
    }
}

impl Queue {
    /// Starts a queue with this number of threads. Fails if the system refuses to start a thread.
    pub fn start(threads: usize) -> std::io::Result<Queue> {
        let queue = Queue(Arc::default());
        for number in 0..threads.max(1) {
            let state = queue.0.clone();
            let name = format!("fusebox-queue-{number}");
            // The thread is not joined: the last user of the queue may end on this very thread.
            std::thread::Builder::new().name(name).spawn(move || state.serve())?;
        }
        Ok(queue)
    }

    /// Appends a job.
    pub fn push(&self, job: Job) {
        self.0.lock().jobs.push_back(job);
        self.0.changed.notify_one();
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.changed.notify_all();
    }
}

impl QueueState {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self) {
        while let Some(job) = self.next() {
            // The panic's message was printed by the hook. The results of the job fail when the job
            // is dropped.
            let _ = catch_unwind(AssertUnwindSafe(job));
        }
    }

    /// Waits for a job. Returns `None` if the queue is closed and empty.
    fn next(&self) -> Option<Job> {
        let mut waiting = self.lock();
        loop {
            if let Some(job) = waiting.jobs.pop_front() {
                return Some(job);
            }
            if waiting.is_closed {
                return None;
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn jobs_start_in_order_and_survive_a_panic_and_the_end() {
        let (sender, receiver) = mpsc::channel();
        let queue = Queue::start(1).unwrap();
        for number in 0..100 {
            let sender = sender.clone();
            queue.push(Box::new(move || {
                assert!(number != 50, "one of the jobs fails");
                sender.send(number).unwrap();
            }));
        }
        drop((queue, sender));
        let done: Vec<i32> = receiver.iter().collect();
        assert_eq!(done, (0..100).filter(|&number| number != 50).collect::<Vec<_>>());
    }
}
