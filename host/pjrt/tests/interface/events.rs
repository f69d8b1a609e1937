//! Events, and the two ways in which JAX destroys them early.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::caller::{Failure, GARBAGE, at, call, failure};

/// A record of the calls of a callback.
#[derive(Default)]
struct Seen {
    calls: AtomicU64,
    errors: AtomicU64,
    /// The event that the callback destroys, or 0.
    event: AtomicU64,
}

unsafe extern "C" fn note(error: *mut c_void, seen: *mut c_void) {
    // SAFETY: tests register this callback for a `Seen` that outlives the event.
    let seen = unsafe { &*seen.cast::<Seen>() };
    if !error.is_null() {
        assert_eq!(failure(error), (8, "no memory".to_owned()));
        seen.errors.fetch_add(1, Ordering::Relaxed);
    }
    seen.calls.fetch_add(1, Ordering::Relaxed);
    let event = seen.event.swap(0, Ordering::Relaxed);
    if event != 0 {
        call("Event_Destroy", [event]).unwrap();
    }
}

fn pending() -> u64 {
    call("Event_Create", [GARBAGE]).unwrap()[0]
}

fn register(event: u64, seen: &Seen) {
    call("Event_OnReady", [event, note as *const () as u64, at(seen)]).unwrap();
}

fn set(event: u64, code: i32, message: &str) -> Result<(), Failure> {
    call("Event_Set", [event, code as u64, at(message), message.len() as u64]).map(|_| ())
}

fn is_ready(event: u64) -> bool {
    call("Event_IsReady", [event, GARBAGE]).unwrap()[1] & 0xFF == 1
}

#[test]
fn a_callback_may_destroy_its_event() {
    for is_late in [true, false] {
        let (event, seen) = (pending(), Seen::default());
        seen.event.store(event, Ordering::Relaxed);
        if is_late {
            set(event, 0, "").unwrap();
            register(event, &seen);
        } else {
            register(event, &seen);
            assert_eq!(seen.calls.load(Ordering::Relaxed), 0);
            set(event, 0, "").unwrap();
        }
        assert_eq!((seen.calls.load(Ordering::Relaxed), seen.event.load(Ordering::Relaxed)), (1, 0));
    }
}

#[test]
fn errors_reach_callbacks_and_callers() {
    let (event, seen) = (pending(), Seen::default());
    register(event, &seen);
    register(event, &seen);
    assert!(!is_ready(event));
    assert_eq!(call("Event_Error", [event]).unwrap_err().0, 9);
    set(event, 8, "no memory").unwrap();
    assert!(is_ready(event));
    assert_eq!((seen.calls.load(Ordering::Relaxed), seen.errors.load(Ordering::Relaxed)), (2, 2));
    for name in ["Event_Error", "Event_Await"] {
        assert_eq!(call(name, [event]), Err((8, "no memory".into())));
    }
    assert_eq!(set(event, 0, "").unwrap_err().0, 9, "an event is set once");
    call("Event_Destroy", [event]).unwrap();
}

#[test]
fn another_thread_can_wait() {
    let event = pending();
    let waiting = std::thread::spawn(move || call("Event_Await", [event]).map(|_| ()));
    set(event, 8, "no memory").unwrap();
    assert_eq!(waiting.join().unwrap(), Err((8, "no memory".into())));
    call("Event_Destroy", [event]).unwrap();
}
