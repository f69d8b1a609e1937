//! Distributes work among threads.

use std::sync::{Mutex, PoisonError};

/// Threads that execute parts of a routine's work.
pub trait Workers: Sync {
    /// Calls `task` once with each number below `parts`, in any order and concurrently. Returns
    /// when all calls are done.
    fn run_parts(&self, parts: usize, task: &(dyn Fn(usize) + Sync));
}

/// Workers that consist of the calling thread only.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallingThread;

impl Workers for CallingThread {
    fn run_parts(&self, parts: usize, task: &(dyn Fn(usize) + Sync)) {
        (0..parts).for_each(task);
    }
}

/// Calls `work` with each item, concurrently. An item holds all that one thread needs for a part:
/// the pieces of the results to write, and their inputs.
pub fn for_each<T: Send>(workers: &dyn Workers, items: Vec<T>, work: impl Fn(T) + Sync) {
    let items: Vec<Mutex<Option<T>>> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
    workers.run_parts(items.len(), &|number| {
        let item = items[number].lock().unwrap_or_else(PoisonError::into_inner).take();
        item.into_iter().for_each(&work);
    });
}

/// Calls `work` with each item as [`for_each`] does, for work that can fail.
///
/// # Errors
/// The error of the first failing item in the order of `items`, independent of thread timing.
pub fn try_for_each<T: Send, E: Send>(
    workers: &dyn Workers,
    items: Vec<T>,
    work: impl Fn(T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let mut outcomes: Vec<Result<(), E>> = items.iter().map(|_| Ok(())).collect();
    let items = items.into_iter().zip(&mut outcomes).collect();
    for_each(workers, items, |(item, outcome)| *outcome = work(item));
    outcomes.into_iter().collect()
}
