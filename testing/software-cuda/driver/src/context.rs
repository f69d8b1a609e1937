//! Contexts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;

use crate::engine::{Engine, LaneKind};
use crate::space::Space;
use crate::status::{Answer, Status};
use crate::stream::Stream;
use crate::work::Job;

/// A context on a device.
#[derive(Debug)]
pub struct Context {
    pub space: Arc<Space>,
    /// The number of the device.
    pub device: u32,
    pub flags: u32,
    /// Whether `cuDevicePrimaryCtxRetain` made the context.
    pub is_primary: bool,
    pub default_stream: Arc<Stream>,
    engine: Arc<Engine<Job>>,
    /// The per-thread default stream of each thread that has used it.
    thread_streams: Mutex<HashMap<ThreadId, Arc<Stream>>>,
}

impl Context {
    pub fn new(engine: &Arc<Engine<Job>>, space: Space, device: u32, flags: u32, is_primary: bool) -> Context {
        let space = Arc::new(space);
        let default_stream = Arc::new(Stream::new(engine, &space, LaneKind::Default, 0, 0));
        let engine = engine.clone();
        Context { space, device, flags, is_primary, default_stream, engine, thread_streams: Mutex::default() }
    }

    /// Returns the per-thread default stream of the calling thread.
    pub fn thread_stream(&self) -> Arc<Stream> {
        let mut streams = self.thread_streams.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || Arc::new(Stream::new(&self.engine, &self.space, LaneKind::Blocking, 0, 0));
        streams.entry(std::thread::current().id()).or_insert_with(make).clone()
    }

    /// Returns a new stream.
    pub fn new_stream(&self, flags: u32, priority: i32) -> Answer<Stream> {
        let kind = match flags {
            0 => LaneKind::Blocking,
            1 => LaneKind::Free,
            _ => return Err(Status::INVALID_VALUE),
        };
        Ok(Stream::new(&self.engine, &self.space, kind, flags, priority))
    }

    /// Waits until all work of the context is finished.
    pub fn finish(&self) -> Answer {
        self.space.check()?;
        self.engine.finish(&self.engine.mark_context(self.space.number));
        self.space.check()
    }
}
