//! Streams.

use std::sync::{Arc, Mutex, PoisonError};

use crate::capture::Session;
use crate::engine::{Clock, Engine, LaneKind};
use crate::event::Event;
use crate::graph::{Executable, Graph, NodeKind};
use crate::signal::Moment;
use crate::space::Space;
use crate::status::{Answer, Status};
use crate::work::{Copy, HostCall, Job, Place, Work};

/// A stream.
#[derive(Debug)]
pub struct Stream {
    pub space: Arc<Space>,
    pub flags: u32,
    pub priority: i32,
    kind: LaneKind,
    lane: u32,
    engine: Arc<Engine<Job>>,
    capture: Mutex<Option<Arc<Session>>>,
}

impl Stream {
    pub fn new(engine: &Arc<Engine<Job>>, space: &Arc<Space>, kind: LaneKind, flags: u32, priority: i32) -> Stream {
        let lane = engine.open(space.number, kind);
        let (space, engine) = (space.clone(), engine.clone());
        Stream { space, flags, priority, kind, lane, engine, capture: Mutex::default() }
    }

    /// Whether the stream and the default stream wait for each other.
    pub fn is_blocking(&self) -> bool {
        self.kind == LaneKind::Blocking
    }

    /// Whether this is the default stream.
    pub fn is_default(&self) -> bool {
        self.kind == LaneKind::Default
    }

    /// Returns the capture in which the stream takes part.
    pub fn capture(&self) -> Option<Arc<Session>> {
        let mut capture = self.capture.lock().unwrap_or_else(PoisonError::into_inner);
        if capture.as_ref().is_some_and(|session| !session.is_open()) {
            *capture = None;
        }
        capture.clone()
    }

    /// Begins a capture.
    pub fn begin_capture(&self, session: impl FnOnce(u32) -> Session) -> Answer<Arc<Session>> {
        if self.is_default() {
            return Err(Status::STREAM_CAPTURE_UNSUPPORTED);
        }
        if self.capture().is_some() {
            return Err(Status::ILLEGAL_STATE);
        }
        let session = Arc::new(session(self.lane));
        *self.capture.lock().unwrap_or_else(PoisonError::into_inner) = Some(session.clone());
        Ok(session)
    }

    /// Ends a capture and returns its graph.
    pub fn end_capture(&self) -> Answer<Arc<Graph>> {
        self.capture().ok_or(Status::ILLEGAL_STATE)?.end(self.lane)
    }

    /// Returns the nodes that the stream's next work waits for in a capture.
    pub fn frontier(&self) -> Answer<Vec<usize>> {
        self.capture().ok_or(Status::ILLEGAL_STATE)?.frontier(self.lane)
    }

    /// Changes the nodes that the stream's next work waits for in a capture.
    pub fn set_frontier(&self, nodes: Vec<usize>, keeps_others: bool) -> Answer {
        let session = self.capture().ok_or(Status::ILLEGAL_STATE)?;
        if keeps_others { session.join(self.lane, &nodes) } else { session.set_frontier(self.lane, nodes) }
    }

    /// Issues work. If the stream takes part in a capture, adds the work to the capture's graph
    /// instead of issuing it.
    pub fn submit(&self, work: Work) -> Answer {
        self.space.check()?;
        let job = |work| Job { space: self.space.clone(), work };
        match self.capture() {
            Some(session) => session.add(self.lane, NodeKind::Job(job(work))),
            None => {
                self.engine.issue(self.lane, &Clock::default(), job(work));
                Ok(())
            }
        }
    }

    /// Issues a call of a function of the host. A program may wait for this function without a call
    /// of the driver, so a new thread executes all work up to the call.
    pub fn call(&self, call: HostCall) -> Answer {
        self.submit(Work::Call(call))?;
        if self.capture().is_none() {
            let (engine, until) = (self.engine.clone(), self.engine.mark(self.lane));
            std::thread::spawn(move || engine.finish_in_background(&until));
        }
        Ok(())
    }

    /// Issues a copy. `pageable` has an effect only outside of captures: if it is true and the host
    /// is the source, the function reads the bytes at once; if it is true and the host is the
    /// target, the function waits for the end of the copy.
    pub fn copy(&self, copy: Copy, pageable: bool) -> Answer {
        if copy.is_empty() {
            return self.space.check();
        }
        if !pageable || self.capture().is_some() {
            return self.submit(Work::Copy(copy));
        }
        let is_read = matches!(copy.to.place, Place::Host(_));
        self.submit(Work::Copy(copy.staged()))?;
        if is_read { self.finish() } else { Ok(()) }
    }

    /// Records an event after all work of the stream.
    pub fn record(&self, event: &Event) -> Answer {
        self.space.check()?;
        if let Some(session) = self.capture() {
            event.set_captured(Some((session.clone(), session.frontier(self.lane)?)));
            return Ok(());
        }
        let moment = Moment::default();
        let job = Job { space: self.space.clone(), work: Work::Record(moment.clone()) };
        event.signal.record(self.engine.issue(self.lane, &Clock::default(), job), moment);
        event.set_captured(None);
        Ok(())
    }

    /// Makes later work of the stream wait for an event.
    pub fn wait(&self, event: &Event) -> Answer {
        self.space.check()?;
        match (self.capture(), event.captured()) {
            (Some(session), Some((other, nodes))) if Arc::ptr_eq(&session, &other) => session.join(self.lane, &nodes),
            (Some(session), Some(_)) => {
                session.invalidate();
                Err(Status::STREAM_CAPTURE_MERGE)
            }
            (Some(session), None) => {
                session.invalidate();
                Err(Status::STREAM_CAPTURE_ISOLATION)
            }
            (None, Some((session, _))) if !session.is_active() => Err(Status::STREAM_CAPTURE_INVALIDATED),
            (None, Some(_)) if self.is_default() => Err(Status::STREAM_CAPTURE_IMPLICIT),
            (None, Some((session, nodes))) => {
                session.join(self.lane, &nodes)?;
                *self.capture.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
                Ok(())
            }
            (None, None) => {
                event.signal.recorded().iter().for_each(|(clock, _)| self.engine.wait(self.lane, clock));
                Ok(())
            }
        }
    }

    /// Launches a graph. If the stream takes part in a capture, invalidates the capture and returns
    /// an error.
    pub fn launch(&self, executable: &Executable) -> Answer {
        self.refuse_capture()?;
        let end = executable.launch(&self.engine.mark(self.lane));
        self.engine.wait(self.lane, &end);
        Ok(())
    }

    /// Waits until all work of the stream is finished.
    pub fn finish(&self) -> Answer {
        self.refuse_capture()?;
        self.engine.finish(&self.engine.mark(self.lane));
        self.space.check()
    }

    /// Whether all work of the stream is finished.
    pub fn is_finished(&self) -> Answer<bool> {
        self.refuse_capture()?;
        let is_finished = self.engine.poll(&self.engine.mark(self.lane));
        self.space.check()?;
        Ok(is_finished)
    }

    /// If the stream takes part in a capture, invalidates the capture and returns an error.
    fn refuse_capture(&self) -> Answer {
        self.space.check()?;
        match self.capture() {
            Some(session) => {
                session.invalidate();
                Err(Status::STREAM_CAPTURE_UNSUPPORTED)
            }
            None => Ok(()),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.engine.close(self.lane);
    }
}
