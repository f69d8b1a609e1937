//! A lane: a queue of work that is executed in order.

use std::collections::VecDeque;

use super::clock::Clock;

/// Decides with which other lanes a lane is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneKind {
    /// The default stream of a context: ordered with all blocking streams of the context.
    Default,
    /// A stream that is ordered with the default stream of its context.
    Blocking,
    /// A stream, or a branch of a graph, that is ordered with no other lane.
    Free,
}

/// Identity of a piece of work, and the work that is ordered before it.
#[derive(Clone, Debug)]
pub struct Ticket {
    pub lane: u32,
    pub position: u64,
    /// All work that is ordered before this work, excluding this work itself.
    pub before: Clock,
}

impl Ticket {
    /// Returns the clock that contains this work and all work before it.
    pub fn after(&self) -> Clock {
        let mut clock = self.before.clone();
        clock.raise(self.lane, self.position);
        clock
    }
}

/// Work that waits in a lane.
#[derive(Debug)]
pub struct Waiting<T> {
    /// The number of this piece of work in the order of issue to all lanes. The first number is 1.
    pub order: u64,
    pub ticket: Ticket,
    pub task: T,
}

/// A queue of work, in the order of execution.
#[derive(Debug)]
pub struct Lane<T> {
    /// The number of the lane's context. The default stream and the blocking streams of this
    /// context wait for each other.
    pub context: usize,
    pub kind: LaneKind,
    pub queue: VecDeque<Waiting<T>>,
    /// Work of other lanes for which the next work of this lane must wait.
    pub before_next: Clock,
    /// The position of the last work that was issued.
    pub issued: u64,
    /// The position of the last work that is finished.
    pub finished: u64,
    /// Whether a thread executes work of the lane now.
    pub is_running: bool,
    /// Whether the lane's stream is destroyed. A new stream can then reuse the lane as soon as the
    /// lane is empty.
    pub is_closed: bool,
}

impl<T> Lane<T> {
    pub fn new(context: usize, kind: LaneKind) -> Lane<T> {
        Lane {
            context,
            kind,
            queue: VecDeque::new(),
            before_next: Clock::default(),
            issued: 0,
            finished: 0,
            is_running: false,
            is_closed: false,
        }
    }

    /// Whether a new stream can reuse the lane. The new stream continues the positions of the old
    /// stream, so its work is ordered after the work of the old stream.
    pub fn is_vacant(&self) -> bool {
        self.is_closed && self.issued == self.finished
    }
}
