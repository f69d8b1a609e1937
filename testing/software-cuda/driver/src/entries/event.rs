//! Events.

use std::sync::Arc;

use super::entry::entries;
use crate::abi::Out;
use crate::driver::Driver;
use crate::event::Event;
use crate::status::{Answer, Status};

/// Flags of an event: the event measures no time; several processes share the event.
const DISABLE_TIMING: u32 = 2;
const INTERPROCESS: u32 = 4;

/// Returns an event whose last recording was outside of captures, so that a call can wait for the
/// event. For any other event, invalidates the capture and returns an error.
fn outside_captures(driver: &Driver, event: usize) -> Answer<Arc<Event>> {
    driver.current()?;
    let event = driver.events.get(event)?;
    if let Some((session, _)) = event.captured() {
        session.invalidate();
        return Err(Status::CAPTURED_EVENT);
    }
    Ok(event)
}

/// Returns the milliseconds between two events.
fn elapsed(driver: &Driver, milliseconds: Out<f32>, [from, to]: [usize; 2]) -> Answer {
    let [from, to] = [outside_captures(driver, from)?, outside_captures(driver, to)?];
    milliseconds.set(from.elapsed(&to)?)
}

entries! {
    /// Makes an event.
    fn cuEventCreate(event: Out<usize>, flags: u32) |driver| {
        driver.current()?;
        if flags & INTERPROCESS != 0 {
            return Err(Status::NOT_SUPPORTED);
        }
        if flags > 3 {
            return Err(Status::INVALID_VALUE);
        }
        event.set(driver.events.add(Arc::new(Event::new(flags & DISABLE_TIMING == 0))))
    }

    /// Destroys an event.
    fn cuEventDestroy_v2(event: usize) |driver| { driver.events.remove(event).map(|_| ()) }

    /// Records an event after all work of a stream.
    fn cuEventRecord(event: usize, stream: usize) |driver| {
        let event = driver.events.get(event)?;
        driver.stream(stream)?.record(&event)
    }

    /// Records an event after all work of a stream.
    fn cuEventRecordWithFlags(event: usize, stream: usize, flags: u32) |driver| {
        if flags != 0 {
            return Err(Status::NOT_SUPPORTED);
        }
        let event = driver.events.get(event)?;
        driver.stream(stream)?.record(&event)
    }

    /// Says whether the work before an event is finished.
    fn cuEventQuery(event: usize) |driver| {
        let event = outside_captures(driver, event)?;
        let recorded = event.signal.recorded();
        let is_finished = recorded.is_none_or(|(clock, _)| driver.engine.poll(&clock));
        driver.current()?;
        if is_finished { Ok(()) } else { Err(Status::NOT_READY) }
    }

    /// Waits for the work before an event.
    fn cuEventSynchronize(event: usize) |driver| {
        let event = outside_captures(driver, event)?;
        event.signal.recorded().iter().for_each(|(clock, _)| driver.engine.finish(clock));
        driver.current().map(|_| ())
    }

    /// Returns the milliseconds between two events.
    fn cuEventElapsedTime(milliseconds: Out<f32>, from: usize, to: usize) |driver| {
        elapsed(driver, milliseconds, [from, to])
    }

    /// Returns the milliseconds between two events.
    fn cuEventElapsedTime_v2(milliseconds: Out<f32>, from: usize, to: usize) |driver| {
        elapsed(driver, milliseconds, [from, to])
    }
}
