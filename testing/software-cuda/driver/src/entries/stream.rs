//! Streams.

use std::sync::Arc;

use super::entry::entries;
use crate::abi::Out;
use crate::driver::Driver;
use crate::status::{Answer, Status};

/// Flag of a wait for an event: a capture contains the wait as a node, although the event was
/// recorded outside of the capture.
const EXTERNAL: u32 = 1;

/// Makes a stream.
fn create(driver: &Driver, stream: Out<usize>, flags: u32, priority: i32) -> Answer {
    let made = driver.current()?.new_stream(flags, priority)?;
    stream.set(driver.streams.add(Arc::new(made)))
}

entries! {
    /// Makes a stream.
    fn cuStreamCreate(stream: Out<usize>, flags: u32) |driver| { create(driver, stream, flags, 0) }

    /// Makes a stream with a priority. The priority has no effect in the software driver.
    fn cuStreamCreateWithPriority(stream: Out<usize>, flags: u32, priority: i32) |driver| {
        create(driver, stream, flags, priority.clamp(-5, 0))
    }

    /// Destroys a stream. The engine still executes the work of the destroyed stream.
    fn cuStreamDestroy_v2(stream: usize) |driver| {
        if let Some(session) = driver.streams.remove(stream)?.capture() {
            session.invalidate();
        }
        Ok(())
    }

    /// Waits for all work of a stream.
    fn cuStreamSynchronize(stream: usize) |driver| { driver.stream(stream)?.finish() }

    /// Says whether all work of a stream is finished.
    fn cuStreamQuery(stream: usize) |driver| {
        if driver.stream(stream)?.is_finished()? { Ok(()) } else { Err(Status::NOT_READY) }
    }

    /// Makes later work of a stream wait for an event.
    fn cuStreamWaitEvent(stream: usize, event: usize, flags: u32) |driver| {
        if flags & !EXTERNAL != 0 {
            return Err(Status::INVALID_VALUE);
        }
        if flags == EXTERNAL {
            return Err(Status::NOT_SUPPORTED);
        }
        driver.stream(stream)?.wait(&*driver.events.get(event)?)
    }

    /// Returns the priority of a stream.
    fn cuStreamGetPriority(stream: usize, priority: Out<i32>) |driver| {
        priority.set(driver.stream(stream)?.priority)
    }

    /// Returns the flags of a stream.
    fn cuStreamGetFlags(stream: usize, flags: Out<u32>) |driver| { flags.set(driver.stream(stream)?.flags) }

    /// Returns the context of a stream.
    fn cuStreamGetCtx(stream: usize, context: Out<usize>) |driver| {
        let stream = driver.stream(stream)?;
        let all = driver.contexts.all();
        let owner = all.iter().find(|(_, context)| Arc::ptr_eq(&context.space, &stream.space));
        context.set(owner.ok_or(Status::INVALID_CONTEXT)?.0)
    }
}
