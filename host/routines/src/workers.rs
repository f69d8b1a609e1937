//! Distributes the parts of a routine's work among threads.

use std::sync::{Mutex, PoisonError};

/// A set of threads that executes the parts of a routine's work.
pub trait Workers: Sync {
    /// Returns the largest number of parts that are executed concurrently.
    fn threads(&self) -> usize;

    /// Calls `task` once with each number in `0..parts`, in any order and possibly concurrently.
    /// Returns after the last call has returned.
    fn run_parts(&self, parts: usize, task: &(dyn Fn(usize) + Sync));
}

/// Workers without additional threads: the calling thread executes all parts.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallingThread;

impl Workers for CallingThread {
    fn threads(&self) -> usize {
        1
    }

    fn run_parts(&self, parts: usize, task: &(dyn Fn(usize) + Sync)) {
        (0..parts).for_each(task);
    }
}

/// Calls `work` once with each item, possibly concurrently. An item holds the inputs of one part of
/// the work, and the pieces of the results that the part writes.
pub fn for_each<T: Send>(workers: &dyn Workers, items: Vec<T>, work: impl Fn(T) + Sync) {
    let items: Vec<Mutex<Option<T>>> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
    workers.run_parts(items.len(), &|number| {
        let item = items[number].lock().unwrap_or_else(PoisonError::into_inner).take();
        item.into_iter().for_each(&work);
    });
}

/// Calls `work`, which may fail, once with each item, as [`for_each`] does. Calls `work` for all
/// items even if some fail.
///
/// # Errors
/// If `work` fails for several items, returns the error of the item that comes first in `items`. So
/// the error does not depend on the timing of threads.
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
