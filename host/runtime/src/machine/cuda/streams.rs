//! The streams of a GPU on which one program is executed, and the events that order them.

use std::sync::Arc;

use cudarc::driver::sys::{CUevent, CUevent_wait_flags, CUstream};
use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DriverError, result};

use super::order::Place;

/// Streams and events for executions. Streams and events are created when an execution first needs
/// them.
#[derive(Debug)]
pub struct Streams {
    context: Arc<CudaContext>,
    /// The first stream executes all work that is not divided among streams.
    streams: Vec<Arc<CudaStream>>,
    events: Vec<CudaEvent>,
}

/// The streams and events of a sequence whose steps are divided among streams.
pub struct Division<'d> {
    places: &'d [Place],
    streams: &'d [Arc<CudaStream>],
    /// An event for each step, followed by an event for each stream.
    events: &'d [CudaEvent],
}

impl Streams {
    /// Returns the streams of a GPU. The stream `first` executes the work that is not divided among
    /// streams.
    pub fn new(first: &Arc<CudaStream>) -> Streams {
        Streams { context: first.context().clone(), streams: vec![first.clone()], events: Vec::new() }
    }

    /// Returns enough streams and events for steps that are divided as `places` states. Fails if
    /// the driver cannot create a stream or an event.
    pub fn divided<'d>(&'d mut self, places: &'d [Place]) -> Result<Division<'d>, DriverError> {
        let streams = places.iter().map(|place| place.stream + 1).max().unwrap_or(1);
        while self.streams.len() < streams {
            self.streams.push(self.context.new_stream()?);
        }
        while streams > 1 && self.events.len() < places.len() + streams {
            self.events.push(self.context.new_event(None)?);
        }
        Ok(Division { places, streams: &self.streams[..streams], events: &self.events })
    }
}

impl Division<'_> {
    /// Makes all other streams wait for the work of the first stream.
    pub fn begin(&self) -> Result<(), DriverError> {
        let Some((first, others)) = self.streams.split_first().filter(|(_, others)| !others.is_empty()) else {
            return Ok(());
        };
        let event = self.event_of_stream(0);
        record(event, first.cu_stream())?;
        others.iter().try_for_each(|other| wait(other.cu_stream(), event))
    }

    /// Makes the stream of a step wait for the earlier steps for which the step must wait. Returns
    /// the stream.
    pub fn before(&self, step: usize) -> Result<CUstream, DriverError> {
        let place = &self.places[step];
        let stream = self.streams[place.stream].cu_stream();
        let of_others = place.after.iter().filter(|earlier| self.places[**earlier].stream != place.stream);
        of_others.into_iter().try_for_each(|&earlier| wait(stream, self.events[earlier].cu_event()))?;
        Ok(stream)
    }

    /// Records that a step was started, if a step of another stream waits for this step.
    pub fn after(&self, step: usize) -> Result<(), DriverError> {
        let place = &self.places[step];
        if !place.is_awaited {
            return Ok(());
        }
        record(self.events[step].cu_event(), self.streams[place.stream].cu_stream())
    }

    /// Makes the first stream wait for the work of all other streams.
    pub fn end(&self) -> Result<(), DriverError> {
        (1..self.streams.len()).try_for_each(|number| {
            let event = self.event_of_stream(number);
            record(event, self.streams[number].cu_stream())?;
            wait(self.streams[0].cu_stream(), event)
        })
    }

    fn event_of_stream(&self, number: usize) -> CUevent {
        self.events[self.places.len() + number].cu_event()
    }
}

fn record(event: CUevent, stream: CUstream) -> Result<(), DriverError> {
    // SAFETY: both handles are of the context that the caller has bound, and live as long as it.
    unsafe { result::event::record(event, stream) }
}

fn wait(stream: CUstream, event: CUevent) -> Result<(), DriverError> {
    // SAFETY: as in `record`.
    unsafe { result::stream::wait_event(stream, event, CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT) }
}
