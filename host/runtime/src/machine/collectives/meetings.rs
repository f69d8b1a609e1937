//! Exchanges of arrays among threads that stand for devices. The devices of a group meet: each
//! device deposits copies of its arrays, and the last device to arrive combines the arrays.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fusebox_routines::{CollectiveCall, RoutineError, SentArrays};

use crate::RunError;

/// All meetings of one execution of a program: the exchanges of arrays among its devices.
#[derive(Debug)]
pub struct Meetings {
    state: Mutex<MeetingsState>,
    /// Wakes waiting devices if a meeting is complete or a device fails.
    changed: Condvar,
    /// Longest time that a device waits for others.
    limit: Duration,
}

/// Identifies a meeting: the devices of the group, and the number of the meeting among the meetings
/// of this group.
pub type MeetingKey = (Vec<i64>, u64);

#[derive(Debug, Default)]
struct MeetingsState {
    /// For each group and each device of the group, the number of meetings at which the device has
    /// arrived.
    counts: HashMap<(Vec<i64>, i64), u64>,
    open: HashMap<MeetingKey, Meeting>,
    /// The first failure, with the number of its device.
    failure: Option<(i64, RunError)>,
    /// Devices that have executed all their code.
    ended: HashSet<i64>,
}

#[derive(Debug)]
struct Meeting {
    call: CollectiveCall,
    /// For each device in the order of the group, the arrays that the device has deposited, if it
    /// has arrived.
    sent: Vec<Option<SentArrays>>,
    /// The combined arrays of all devices, after all devices have arrived.
    together: Option<Arc<Vec<SentArrays>>>,
    /// Number of devices that have not received their arrays.
    remaining: usize,
}

impl Meeting {
    /// Returns the devices of the group that have not arrived.
    fn missing(&self, group: &[i64]) -> Vec<i64> {
        group.iter().zip(&self.sent).filter(|(_, sent)| sent.is_none()).map(|(&device, _)| device).collect()
    }
}

impl Meetings {
    /// Creates meetings in which a device waits at most as long as `limit`.
    pub fn new(limit: Duration) -> Meetings {
        Meetings { state: Mutex::default(), changed: Condvar::new(), limit }
    }

    fn lock(&self) -> MutexGuard<'_, MeetingsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a device has failed. The first failure ends the waiting of all devices.
    pub fn fail(&self, device: i64, error: RunError) {
        self.lock().failure.get_or_insert((device, error));
        self.changed.notify_all();
    }

    /// Records that a device has executed all its code.
    pub fn end(&self, device: i64) {
        self.lock().ended.insert(device);
        self.changed.notify_all();
    }

    /// Returns the first failure.
    pub fn failure(&self) -> Option<RunError> {
        self.lock().failure.clone().map(|(_, error)| error)
    }

    /// Deposits the arrays of a device for the other devices of its group. Returns the meeting.
    pub fn come(
        &self,
        call: &CollectiveCall,
        device: i64,
        group: Vec<i64>,
        sent: SentArrays,
    ) -> Result<MeetingKey, RoutineError> {
        let mut state = self.lock();
        state.check()?;
        let count = state.counts.entry((group.clone(), device)).or_default();
        let key = (group, *count);
        *count += 1;
        let meeting = match state.open.entry(key.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let (sent, size) = (vec![None; key.0.len()], key.0.len());
                place.insert(Meeting { call: call.clone(), sent, together: None, remaining: size })
            }
        };
        let is_same = meeting.call.is_same_exchange(call);
        if !is_same {
            let (first, second) = (meeting.call.name.clone(), &call.name);
            let message = format!(
                "device {device} executes {second}, but other devices of its group execute {first} at this time"
            );
            return Err(RoutineError::Value(message));
        }
        if let Some(place) = key.0.iter().position(|it| *it == device) {
            meeting.sent[place] = Some(sent);
        }
        if meeting.sent.iter().all(Option::is_some) {
            let all: Vec<SentArrays> = meeting.sent.iter_mut().filter_map(Option::take).collect();
            drop(state);
            let together = call.together(all);
            if let Some(meeting) = self.lock().open.get_mut(&key) {
                meeting.together = Some(Arc::new(together));
            }
            self.changed.notify_all();
        }
        Ok(key)
    }

    /// Waits until all devices of the group have arrived at a meeting. Returns the combined arrays
    /// of the devices.
    pub fn wait(&self, key: &MeetingKey, device: i64) -> Result<Arc<Vec<SentArrays>>, RoutineError> {
        let begin = Instant::now();
        let mut state = self.lock();
        loop {
            state.check()?;
            let Some(meeting) = state.open.get_mut(key) else { return Err(RoutineError::Buffer) };
            if let Some(together) = meeting.together.clone() {
                meeting.remaining -= 1;
                if meeting.remaining == 0 {
                    state.open.remove(key);
                }
                return Ok(together);
            }
            // While the last device combines the arrays, no device is missing.
            let missing = meeting.missing(&key.0);
            let is_combining = missing.len() == key.0.len();
            let gone: Vec<i64> = missing.iter().copied().filter(|it| state.ended.contains(it)).collect();
            if !is_combining && !gone.is_empty() {
                return Err(RoutineError::Value(format!(
                    "device {device} waits for {}, but {} executed everything without this operation",
                    named(&missing),
                    if gone.len() == 1 { format!("device {} has", gone[0]) } else { format!("{} have", named(&gone)) }
                )));
            }
            let elapsed = begin.elapsed();
            if !is_combining && elapsed >= self.limit {
                return Err(RoutineError::Value(format!(
                    "device {device} has waited {} s for {}: the devices must execute the same exchanges in the same \
                     order; if a device only needs more time, set the limit by FUSEBOX_COLLECTIVE_SECONDS",
                    self.limit.as_secs_f64(),
                    named(&missing)
                )));
            }
            let rest = if is_combining { self.limit } else { self.limit - elapsed };
            state = self.changed.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl MeetingsState {
    fn check(&self) -> Result<(), RoutineError> {
        match &self.failure {
            Some((device, error)) => Err(RoutineError::Value(format!("device {device} failed: {error}"))),
            None => Ok(()),
        }
    }
}

fn named(devices: &[i64]) -> String {
    let numbers: Vec<String> = devices.iter().map(i64::to_string).collect();
    format!("{} {}", if devices.len() == 1 { "device" } else { "devices" }, numbers.join(", "))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fusebox_core::hlo::parse_module;
    use fusebox_routines::{CollectiveCall, Operation, RoutineError};

    use super::Meetings;
    use crate::RunError;

    fn call(name: &str, size: usize) -> CollectiveCall {
        let text = format!(
            "add {{ a = u8[] parameter(0)\n b = u8[] parameter(1)\n ROOT c = u8[] add(a, b) }}\nENTRY e {{\n  \
             p = u8[{size}] parameter(0)\n  ROOT {name} = u8[{size}] all-reduce(p), channel_id=1, to_apply=add\n}}\n"
        );
        CollectiveCall::of(&Operation::of(&parse_module(&text, "m").unwrap()).unwrap()).unwrap()
    }

    fn exchanged(meetings: &Meetings, device: i64, group: &[i64], value: u8) -> Result<u8, RoutineError> {
        let key = meetings.come(&call("sum", 1), device, group.to_vec(), vec![vec![value]])?;
        meetings.wait(&key, device).map(|together| together[0][0][0])
    }

    fn message(outcome: Result<u8, RoutineError>) -> String {
        outcome.unwrap_err().to_string()
    }

    #[test]
    fn groups_meet_independently_and_repeatedly() {
        let meetings = Meetings::new(Duration::from_secs(20));
        let sums = |device: i64| {
            let group = if device < 2 { [0, 1] } else { [2, 3] };
            let rounds = (0..50u8).map(|round| exchanged(&meetings, device, &group, round + device as u8).unwrap());
            let sums: Vec<u8> = rounds.collect();
            let all = exchanged(&meetings, device, &[0, 1, 2, 3], 1 << device).unwrap();
            (sums, all)
        };
        std::thread::scope(|scope| {
            let devices: Vec<_> = (0..4).map(|device| scope.spawn(move || sums(device))).collect();
            for (device, thread) in devices.into_iter().enumerate() {
                let (sums, all) = thread.join().unwrap();
                let first = if device < 2 { 1 } else { 5 };
                assert_eq!(sums, (0..50).map(|round| 2 * round + first).collect::<Vec<u8>>());
                assert_eq!(all, 15);
            }
        });
        assert!(meetings.lock().open.is_empty());
    }

    #[test]
    fn waiting_ends_after_the_limit() {
        let meetings = Meetings::new(Duration::from_millis(30));
        let text = message(exchanged(&meetings, 1, &[0, 1, 2], 1));
        assert!(text.starts_with("device 1 has waited 0.03 s for devices 0, 2: "), "{text}");
    }

    #[test]
    fn a_failure_and_an_end_reach_waiting_devices() {
        /// Returns the error message of device 0 if `event` happens while device 0 waits for device
        /// 1.
        fn waiting(meetings: &Meetings, event: &(dyn Fn() + Sync)) -> String {
            std::thread::scope(|scope| {
                let thread = scope.spawn(|| message(exchanged(meetings, 0, &[0, 1], 1)));
                std::thread::sleep(Duration::from_millis(20));
                event();
                thread.join().unwrap()
            })
        }
        let meetings = Meetings::new(Duration::from_secs(20));
        let text = waiting(&meetings, &|| meetings.end(1));
        assert_eq!(text, "device 0 waits for device 1, but device 1 has executed everything without this operation");
        let meetings = Meetings::new(Duration::from_secs(20));
        let text = waiting(&meetings, &|| meetings.fail(1, RunError::Memory { bytes: 5 }));
        assert_eq!(text, "device 1 failed: 5 bytes of memory are not available");
        assert_eq!(meetings.failure(), Some(RunError::Memory { bytes: 5 }));
        assert!(exchanged(&meetings, 2, &[2], 1).is_err());
    }

    #[test]
    fn different_exchanges_do_not_meet() {
        let meetings = Meetings::new(Duration::from_secs(20));
        meetings.come(&call("one", 1), 0, vec![0, 1], vec![vec![1]]).unwrap();
        let text = meetings.come(&call("other", 2), 1, vec![0, 1], vec![vec![1, 1]]).unwrap_err().to_string();
        assert!(text.starts_with("device 1 executes other, but other devices of its group execute one"), "{text}");
    }
}
