//! Tests of the order in which the engine executes work.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::*;

/// Work that appends its name to a shared text.
struct Note(char, Arc<Mutex<String>>);

impl Task for Note {
    fn perform(self, _: &Ticket) {
        self.1.lock().unwrap().push(self.0);
    }
}

struct Notes {
    engine: Engine<Note>,
    written: Arc<Mutex<String>>,
}

impl Notes {
    fn new(seed: Option<u64>) -> Notes {
        Notes { engine: Engine::new(seed), written: Arc::default() }
    }

    fn issue(&self, lane: u32, name: char) -> Clock {
        self.engine.issue(lane, &Clock::default(), Note(name, self.written.clone()))
    }

    fn finish(&self) -> String {
        self.engine.finish(&self.engine.mark_context(0));
        std::mem::take(&mut self.written.lock().unwrap())
    }
}

/// Returns all orders in which the engine executes the work, for 200 seeds and without a seed.
fn orders(issue: impl Fn(&Notes)) -> BTreeSet<String> {
    let run = |seed| {
        let notes = Notes::new(seed);
        issue(&notes);
        notes.finish()
    };
    (0..200).map(|seed| run(Some(seed))).chain([run(None)]).collect()
}

fn set(orders: &[&str]) -> BTreeSet<String> {
    orders.iter().map(|order| (*order).to_string()).collect()
}

#[test]
fn work_of_one_stream_is_executed_in_order() {
    let found = orders(|notes| {
        let lane = notes.engine.open(0, LaneKind::Free);
        "abc".chars().for_each(|name| _ = notes.issue(lane, name));
    });
    assert_eq!(found, set(&["abc"]));
}

#[test]
fn work_of_two_streams_interleaves_in_every_way() {
    let found = orders(|notes| {
        let [first, second] = [0, 0].map(|context| notes.engine.open(context, LaneKind::Blocking));
        "ab".chars().for_each(|name| _ = notes.issue(first, name));
        "xy".chars().for_each(|name| _ = notes.issue(second, name));
    });
    assert_eq!(found, set(&["abxy", "axby", "axyb", "xaby", "xayb", "xyab"]));
}

#[test]
fn an_event_orders_two_streams() {
    let found = orders(|notes| {
        let [first, second] = [0, 0].map(|context| notes.engine.open(context, LaneKind::Free));
        let recorded = notes.issue(first, 'a');
        notes.issue(first, 'b');
        notes.engine.wait(second, &recorded);
        notes.issue(second, 'x');
    });
    assert_eq!(found, set(&["abx", "axb"]));
}

#[test]
fn the_default_stream_is_ordered_with_blocking_streams_of_its_context() {
    let found = orders(|notes| {
        let default = notes.engine.open(0, LaneKind::Default);
        let blocking = notes.engine.open(0, LaneKind::Blocking);
        notes.issue(blocking, 'a');
        notes.issue(default, 'd');
        notes.issue(blocking, 'b');
    });
    assert_eq!(found, set(&["adb"]));
    let found = orders(|notes| {
        let default = notes.engine.open(0, LaneKind::Default);
        let free = notes.engine.open(0, LaneKind::Free);
        notes.issue(default, 'd');
        notes.issue(free, 'a');
    });
    assert_eq!(found, set(&["da", "ad"]));
}

#[test]
fn work_waits_until_a_call_waits_for_it() {
    let notes = Notes::new(None);
    let lane = notes.engine.open(0, LaneKind::Free);
    let first = notes.issue(lane, 'a');
    let second = notes.issue(lane, 'b');
    assert_eq!(*notes.written.lock().unwrap(), "");
    notes.engine.finish(&first);
    assert_eq!(*notes.written.lock().unwrap(), "a");
    assert!(!notes.engine.poll(&second));
    assert!(notes.engine.poll(&second));
    assert_eq!(*notes.written.lock().unwrap(), "ab");
}

#[test]
fn work_is_ordered_after_what_the_host_has_waited_for() {
    let notes = Notes::new(None);
    let [first, second] = [0, 0].map(|context| notes.engine.open(context, LaneKind::Free));
    let seen = notes.issue(first, 'a');
    let not_seen = notes.issue(first, 'b');
    notes.engine.finish(&seen);
    let later = notes.issue(second, 'x');
    assert!(later.contains(&seen) && !later.contains(&not_seen));
}

#[test]
fn a_closed_lane_executes_its_work_and_serves_a_new_stream() {
    let notes = Notes::new(None);
    let lane = notes.engine.open(0, LaneKind::Free);
    notes.issue(lane, 'a');
    notes.engine.close(lane);
    assert_ne!(notes.engine.open(0, LaneKind::Free), lane);
    assert_eq!(notes.finish(), "a");
    assert_eq!(notes.engine.open(0, LaneKind::Free), lane);
    let again = notes.issue(lane, 'b');
    assert_eq!(again.position(lane), 2);
    assert_eq!(notes.finish(), "b");
}

#[test]
fn threads_share_the_work() {
    let notes = Notes::new(Some(1));
    let lanes: Vec<u32> = (0..4).map(|_| notes.engine.open(0, LaneKind::Free)).collect();
    std::thread::scope(|scope| {
        for &lane in &lanes {
            let notes = &notes;
            scope.spawn(move || {
                for _ in 0..50 {
                    let issued = notes.issue(lane, 'a');
                    notes.engine.finish(&issued);
                }
            });
        }
    });
    assert_eq!(notes.finish().len(), 200);
}
