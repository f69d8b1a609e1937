//! Captures: streams that add their work to a graph instead of executing it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use crate::graph::{Graph, NodeKind};
use crate::status::{Answer, Status};

/// Which calls are forbidden while a capture is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Calls that might wait are forbidden to all threads.
    Global,
    /// Calls that might wait are forbidden to the thread that began the capture.
    Thread,
    /// No calls are forbidden.
    Relaxed,
}

/// A capture, in which several streams can take part.
#[derive(Debug)]
pub struct Session {
    pub number: u64,
    pub graph: Arc<Graph>,
    pub mode: Mode,
    /// The thread that began the capture.
    pub thread: ThreadId,
    /// The lane of the stream in which the capture began.
    origin: u32,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// For the lane of each stream that takes part in the capture, the nodes for which the next
    /// work of the stream waits.
    frontiers: BTreeMap<u32, Vec<usize>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Active,
    /// An error has occurred. The end of the capture will return an error.
    Invalid,
    Ended,
}

/// The number of captures so far.
static CAPTURES: AtomicU64 = AtomicU64::new(0);

impl Session {
    /// Begins a capture in the stream of a lane. The capture adds the stream's work to `graph`,
    /// after the nodes `after`.
    pub fn new(origin: u32, mode: Mode, graph: Arc<Graph>, after: Vec<usize>) -> Session {
        Session {
            number: CAPTURES.fetch_add(1, Ordering::Relaxed) + 1,
            graph,
            mode,
            thread: std::thread::current().id(),
            origin,
            state: Mutex::new(State { phase: Phase::Active, frontiers: BTreeMap::from([(origin, after)]) }),
        }
    }

    /// Whether the capture has not ended.
    pub fn is_open(&self) -> bool {
        self.lock().phase != Phase::Ended
    }

    /// Whether the capture has neither ended nor failed.
    pub fn is_active(&self) -> bool {
        self.lock().phase == Phase::Active
    }

    /// Makes the end of the capture return an error.
    pub fn invalidate(&self) {
        let mut state = self.lock();
        if state.phase == Phase::Active {
            state.phase = Phase::Invalid;
        }
    }

    /// Adds work of a stream to the graph.
    pub fn add(&self, lane: u32, kind: NodeKind) -> Answer {
        let mut state = self.active()?;
        let frontier = state.frontiers.entry(lane).or_default();
        *frontier = vec![self.graph.add(kind, frontier.iter().copied())?];
        Ok(())
    }

    /// Returns the nodes that the next work of a stream waits for.
    pub fn frontier(&self, lane: u32) -> Answer<Vec<usize>> {
        Ok(self.active()?.frontiers.get(&lane).cloned().unwrap_or_default())
    }

    /// Makes the next work of a stream wait for nodes. The stream takes part in the capture from
    /// now on.
    pub fn join(&self, lane: u32, nodes: &[usize]) -> Answer {
        let mut state = self.active()?;
        let frontier = state.frontiers.entry(lane).or_default();
        let new: Vec<usize> = nodes.iter().copied().filter(|node| !frontier.contains(node)).collect();
        frontier.extend(new);
        Ok(())
    }

    /// Replaces the nodes that the next work of a stream waits for.
    pub fn set_frontier(&self, lane: u32, nodes: Vec<usize>) -> Answer {
        self.active()?.frontiers.insert(lane, nodes);
        Ok(())
    }

    /// Ends the capture in the stream of a lane, and returns the graph.
    pub fn end(&self, lane: u32) -> Answer<Arc<Graph>> {
        let mut state = self.lock();
        if lane != self.origin {
            return Err(Status::STREAM_CAPTURE_UNMATCHED);
        }
        if self.mode != Mode::Relaxed && self.thread != std::thread::current().id() {
            return Err(Status::STREAM_CAPTURE_WRONG_THREAD);
        }
        let phase = std::mem::replace(&mut state.phase, Phase::Ended);
        if phase != Phase::Active {
            return Err(Status::STREAM_CAPTURE_INVALIDATED);
        }
        let joined = self.graph.up_to(state.frontiers.get(&lane).into_iter().flatten().copied());
        let all = state.frontiers.values().flatten();
        if all.into_iter().any(|node| !joined.contains(node)) {
            return Err(Status::STREAM_CAPTURE_UNJOINED);
        }
        Ok(self.graph.clone())
    }

    fn active(&self) -> Answer<MutexGuard<'_, State>> {
        let state = self.lock();
        if state.phase == Phase::Active { Ok(state) } else { Err(Status::STREAM_CAPTURE_INVALIDATED) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
