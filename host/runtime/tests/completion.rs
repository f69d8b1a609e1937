//! Checks the state machine of buffers with many interleavings of threads, which a model checker
//! chooses. The file under test is compiled with the locks of the model checker.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../src/buffer/completion.rs"]
mod completion;
mod sync {
    pub use shuttle::sync::{Condvar, Mutex, MutexGuard};
    pub use std::sync::PoisonError;
}

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use completion::Completion;
use shuttle::thread;

/// Number of interleavings that each test tries.
const INTERLEAVINGS: usize = 5_000;

type Pending = Completion<u32, &'static str>;

#[test]
fn every_waiter_sees_the_value_and_every_function_is_called_once() {
    shuttle::check_random(
        || {
            let pending = Arc::new(Pending::pending());
            let called = Arc::new(AtomicUsize::new(0));
            let waiters: Vec<_> = (0..2)
                .map(|_| {
                    let (pending, called) = (pending.clone(), called.clone());
                    thread::spawn(move || {
                        pending.on_done(move |error| {
                            assert_eq!(error, None);
                            called.fetch_add(1, Ordering::SeqCst);
                        });
                        pending.wait()
                    })
                })
                .collect();
            let completer = thread::spawn({
                let pending = pending.clone();
                move || pending.complete(Ok(7))
            });
            for waiter in waiters {
                assert_eq!(waiter.join().unwrap(), Ok(7));
            }
            completer.join().unwrap();
            assert_eq!(called.load(Ordering::SeqCst), 2);
            assert_eq!((pending.is_done(), pending.get()), (true, Some(Ok(7))));
        },
        INTERLEAVINGS,
    );
}

#[test]
fn the_first_outcome_stays() {
    shuttle::check_random(
        || {
            let pending = Arc::new(Pending::pending());
            let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
            pending.on_done({
                let seen = seen.clone();
                move |error| seen.lock().unwrap().push(error.copied())
            });
            let completers: Vec<_> = [Ok(1), Err("broken")]
                .into_iter()
                .map(|outcome| {
                    let pending = pending.clone();
                    thread::spawn(move || pending.complete(outcome))
                })
                .collect();
            let first = pending.wait();
            let completed = completers.into_iter().filter_map(|completer| completer.join().unwrap().then_some(()));
            assert_eq!((completed.count(), pending.get()), (1, Some(first)));
            assert_eq!(*seen.lock().unwrap(), [first.err()]);
        },
        INTERLEAVINGS,
    );
}

/// Checks that a function may use the completion again: no lock is held while it runs.
#[test]
fn functions_run_without_locks_even_if_they_are_registered_late() {
    shuttle::check_random(
        || {
            let pending = Arc::new(Pending::pending());
            let called = Arc::new(AtomicUsize::new(0));
            let register = thread::spawn({
                let (pending, called) = (pending.clone(), called.clone());
                move || {
                    let again = pending.clone();
                    pending.on_done(move |_| {
                        assert_eq!(again.wait(), Ok(3));
                        let inner = called.clone();
                        again.on_done(move |_| _ = inner.fetch_add(1, Ordering::SeqCst));
                    });
                }
            });
            pending.clone().complete(Ok(3));
            register.join().unwrap();
            assert_eq!(called.load(Ordering::SeqCst), 1);
        },
        INTERLEAVINGS,
    );
}

/// Checks that the function that a completion calls finds the only reference, if the handle was
/// dropped. An execution relies on this when it overwrites a donated buffer.
#[test]
fn the_completing_thread_keeps_no_reference() {
    shuttle::check_random(
        || {
            let value = Arc::new(9);
            let pending = Arc::new(Completion::<Arc<u32>, ()>::pending());
            let taken = pending.clone();
            let owner = Arc::new(std::sync::Mutex::new(None));
            *owner.lock().unwrap() = Some(taken);
            let found = Arc::new(AtomicUsize::new(0));
            pending.on_done({
                let (owner, found) = (owner.clone(), found.clone());
                move |_| {
                    let mut value = owner.lock().unwrap().take().unwrap().into_outcome().unwrap().unwrap();
                    found.store(1 + usize::from(Arc::get_mut(&mut value).is_some()), Ordering::SeqCst);
                }
            });
            let completer = thread::spawn(move || pending.complete(Ok(value)));
            completer.join().unwrap();
            assert_eq!(found.load(Ordering::SeqCst), 2, "the function found another reference");
        },
        INTERLEAVINGS,
    );
}
