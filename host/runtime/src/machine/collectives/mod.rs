//! The connection of a device to the other devices of an execution. All devices are threads of this
//! process.
//!
//! ```text
//! meetings   exchanges among threads
//! ```

mod meetings;

use std::sync::Arc;
use std::time::Duration;

use fusebox_routines::{CollectiveCall, Collectives, RoutineError, StartedCollective};

use crate::RunError;
use meetings::{MeetingKey, Meetings};

/// The longest time that a device waits for others, unless an option states another time.
pub const USUAL_LIMIT: Duration = Duration::from_secs(60);

/// The connection of a device to the other devices of an execution.
#[derive(Clone, Debug)]
pub struct Connection {
    meetings: Arc<Meetings>,
    /// Number of this device.
    device: i64,
    /// The numbers of the devices that execute the code, in ascending order.
    devices: Arc<[i64]>,
    /// Whether the code is part of other code, which the device continues to execute afterwards.
    is_inner: bool,
}

impl Connection {
    /// Connects devices that start to execute code together. `numbers` are the numbers of the
    /// devices. If device `outer` starts the code, the number of `outer` is added to each of these
    /// numbers.
    pub fn all(outer: Option<&Connection>, numbers: &[u32], limit: Duration) -> Vec<Connection> {
        let bases: &[i64] = outer.map_or(&[0], |outer| &outer.devices);
        let mut devices: Vec<i64> =
            bases.iter().flat_map(|base| numbers.iter().map(move |&it| base + i64::from(it))).collect();
        devices.sort_unstable();
        devices.dedup();
        let devices: Arc<[i64]> = devices.into();
        let meetings = outer.map_or_else(|| Arc::new(Meetings::new(limit)), |outer| Arc::clone(&outer.meetings));
        let base = outer.map_or(0, |outer| outer.device);
        let connection = |&number: &u32| Connection {
            meetings: Arc::clone(&meetings),
            device: base + i64::from(number),
            devices: Arc::clone(&devices),
            is_inner: outer.is_some(),
        };
        numbers.iter().map(connection).collect()
    }

    /// Tells the other devices that this device has executed the code or has failed.
    pub fn end(&self, outcome: &Result<(), RunError>) {
        match outcome {
            Err(error) => self.meetings.fail(self.device, error.clone()),
            Ok(()) if self.is_inner => {}
            Ok(()) => self.meetings.end(self.device),
        }
    }

    /// Returns the error of the device that failed first.
    pub fn failure(&self) -> Option<RunError> {
        self.meetings.failure()
    }
}

impl Collectives for Connection {
    fn device(&self) -> i64 {
        self.device
    }

    fn start<'c>(
        &'c self,
        call: &'c CollectiveCall,
        sent: &[&[u8]],
    ) -> Result<Box<dyn StartedCollective + 'c>, RoutineError> {
        let Connection { meetings, device, devices, .. } = self;
        let located = |error: RoutineError| match error {
            RoutineError::Value(text) => RoutineError::Value(format!("{}: {text}", call.opcode)),
            other => other,
        };
        let group = call.collective.group_of(*device, devices);
        let group = group.ok_or_else(|| located(RoutineError::Value(format!("device {device} is in no group"))))?;
        call.check_group(group.len()).map_err(located)?;
        let rank = group.iter().position(|it| it == device).unwrap_or_default();
        let key = meetings.come(call, *device, group, call.copied(sent)?).map_err(located)?;
        Ok(Box::new(Started { connection: self, call, key, rank }))
    }
}

/// An exchange in which a device has deposited its arrays.
struct Started<'c> {
    connection: &'c Connection,
    call: &'c CollectiveCall,
    key: MeetingKey,
    rank: usize,
}

impl StartedCollective for Started<'_> {
    fn done(self: Box<Self>, received: &mut [&mut [u8]]) -> Result<(), RoutineError> {
        let Started { connection, call, key, rank } = *self;
        let together = connection.meetings.wait(&key, connection.device).map_err(|error| match error {
            RoutineError::Value(text) => RoutineError::Value(format!("{}: {text}", call.opcode)),
            other => other,
        })?;
        call.receive((&key.0, rank), &together, received)
    }
}
