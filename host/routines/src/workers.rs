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
    for_each_numbered(workers, items, |_, item| work(item));
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
    // The number of the first item that failed, and its error.
    let first: Mutex<Option<(usize, E)>> = Mutex::default();
    for_each_numbered(workers, items, |number, item| {
        if let Err(error) = work(item) {
            let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
            if first.as_ref().is_none_or(|&(earlier, _)| number < earlier) {
                *first = Some((number, error));
            }
        }
    });
    let first = first.into_inner().unwrap_or_else(PoisonError::into_inner);
    first.map_or(Ok(()), |(_, error)| Err(error))
}

/// Calls `work` once with each item and its position in `items`, as [`for_each`] does.
fn for_each_numbered<T: Send>(workers: &dyn Workers, items: Vec<T>, work: impl Fn(usize, T) + Sync) {
    let items: Vec<Mutex<Option<T>>> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
    workers.run_parts(items.len(), &|number| {
        let item = items[number].lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(item) = item {
            work(number, item);
        }
    });
}
