//! The engine: executes the work of all streams, in any order that streams and events allow.
//!
//! ```text
//! clock.rs   vector clocks, which say what is ordered before what
//! inner.rs   work that other work has issued
//! lane.rs    the queue of one stream
//! random.rs  random numbers from a seed
//! ```
//!
//! Calls of the driver only issue work. A call that waits executes work on the calling thread until
//! the awaited work is finished. So work starts as late as possible, and the order of execution
//! depends on the seed alone. A program that forgets to wait behaves as on a slow GPU.

mod clock;
mod inner;
mod lane;
mod random;

pub use clock::Clock;
pub use lane::{LaneKind, Ticket};

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use inner::Inner;
use lane::{Lane, Waiting};
use random::Random;

/// Largest number of pieces of work that wait in one lane. A call that would exceed this number
/// first executes some of the waiting work.
const LONGEST_QUEUE: usize = 1024;

/// Work that the engine executes.
pub trait Task {
    /// Executes the work. The ticket states which work is ordered before this work.
    fn perform(self, ticket: &Ticket);
}

/// Executes the work of all streams.
#[derive(Debug)]
pub struct Engine<T> {
    state: Mutex<State<T>>,
    /// Wakes waiting threads when a piece of work is finished.
    progress: Condvar,
}

#[derive(Debug)]
struct State<T> {
    lanes: Vec<Lane<T>>,
    /// The work for whose end the host has waited. Later calls of the host are ordered after this
    /// work.
    host: Clock,
    /// The number of pieces of work issued so far.
    issued: u64,
    inner: Inner,
    /// Draws the lane whose next piece of work starts. With `None`, the engine executes work in the
    /// order of issue.
    random: Option<Random>,
}

impl<T: Task> Engine<T> {
    /// Returns an engine without work. Without a seed, the engine executes work in the order of
    /// issue.
    pub fn new(seed: Option<u64>) -> Engine<T> {
        let (lanes, host, inner) = (Vec::new(), Clock::default(), Inner::default());
        let state = State { lanes, host, issued: 0, inner, random: seed.map(Random::new) };
        Engine { state: Mutex::new(state), progress: Condvar::new() }
    }

    /// Returns a lane for a new stream of a context.
    pub fn open(&self, context: usize, kind: LaneKind) -> u32 {
        let mut state = self.lock();
        let lane = match state.lanes.iter().position(Lane::is_vacant) {
            Some(vacant) => {
                let positions = state.lanes[vacant].issued;
                state.lanes[vacant] = Lane { issued: positions, finished: positions, ..Lane::new(context, kind) };
                vacant
            }
            None => {
                state.lanes.push(Lane::new(context, kind));
                state.lanes.len() - 1
            }
        };
        lane as u32
    }

    /// Closes a lane. The engine still executes the work that waits in the lane.
    pub fn close(&self, lane: u32) {
        self.lock().lanes[lane as usize].is_closed = true;
    }

    /// Issues work to a lane, and returns the clock that contains this work. The issued work begins
    /// after all work that the clock `after` contains, and after the earlier work of the lane.
    pub fn issue(&self, lane: u32, after: &Clock, task: T) -> Clock {
        let mut state = self.lock();
        while state.lanes[lane as usize].queue.len() >= LONGEST_QUEUE {
            state = self.step(state);
        }
        let before = {
            let mut before = state.marked(lane);
            before.join(&state.host);
            before.join(after);
            state.inner.complete(&mut before);
            before
        };
        state.issued += 1;
        let order = state.issued;
        let queue = &mut state.lanes[lane as usize];
        queue.issued += 1;
        let ticket = Ticket { lane, position: queue.issued, before };
        let after = ticket.after();
        queue.queue.push_back(Waiting { order, ticket, task });
        after
    }

    /// Returns a clock of all work that was issued to a lane, and of all other work for which the
    /// lane's next work must wait.
    pub fn mark(&self, lane: u32) -> Clock {
        self.lock().marked(lane)
    }

    /// Makes the next work of a lane wait for all work in a clock.
    pub fn wait(&self, lane: u32, clock: &Clock) {
        self.lock().lanes[lane as usize].before_next.join(clock);
    }

    /// Returns the clock that contains all work that was issued to the lanes of a context.
    pub fn mark_context(&self, context: usize) -> Clock {
        let state = self.lock();
        let mut clock = Clock::default();
        for (number, lane) in state.lanes.iter().enumerate().filter(|(_, lane)| lane.context == context) {
            clock.raise(number as u32, lane.issued);
        }
        clock
    }

    /// Executes work until all work in a clock is finished. Orders later calls of the host after
    /// the work in the clock.
    pub fn finish(&self, clock: &Clock) {
        self.run_until(clock).finish(clock);
    }

    /// Records that running work has issued the work in `inner`. The issued work is already
    /// finished. Work that is ordered after the running work is then ordered after the issued work,
    /// too.
    pub fn finish_inner(&self, running: &Ticket, inner: &Clock) {
        let mut state = self.lock();
        let mut inner = inner.clone();
        state.inner.complete(&mut inner);
        let (lane, position) = (running.lane, running.position);
        for waiting in state.lanes.iter_mut().flat_map(|lane| &mut lane.queue) {
            if waiting.ticket.before.position(lane) >= position {
                waiting.ticket.before.join(&inner);
            }
        }
        state.inner.add(lane, position, inner);
    }

    /// Executes work until all work in a clock is finished. Does not order later calls of the host
    /// after this work.
    pub fn finish_in_background(&self, clock: &Clock) {
        drop(self.run_until(clock));
    }

    fn run_until(&self, clock: &Clock) -> MutexGuard<'_, State<T>> {
        let mut state = self.lock();
        while !state.has_finished(clock) {
            state = self.step(state);
        }
        state
    }

    /// Returns a clock of finished work, extended by all work that the finished work has issued.
    pub fn completed(&self, clock: &Clock) -> Clock {
        let mut clock = clock.clone();
        self.lock().inner.complete(&mut clock);
        clock
    }

    /// Whether all work in a clock is finished. If some of it is unfinished, executes one piece of
    /// work, so that a program that polls repeatedly sees progress. Does not wait for work that
    /// other threads execute.
    pub fn poll(&self, clock: &Clock) -> bool {
        let mut state = self.lock();
        if state.has_finished(clock) {
            state.finish(clock);
            return true;
        }
        if let Some(work) = state.start() {
            drop(self.perform(state, work));
        }
        false
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Executes one piece of work, or waits until another thread has executed a piece of work. The
    /// caller must ensure that some work is unfinished. A piece of work waits only for work that
    /// was issued earlier, so some unfinished work can start.
    fn step<'s>(&'s self, mut state: MutexGuard<'s, State<T>>) -> MutexGuard<'s, State<T>> {
        match state.start() {
            Some(work) => self.perform(state, work),
            None => self.progress.wait(state).unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// Executes a piece of work that [`State::start`] has returned. The engine is unlocked during
    /// the execution.
    fn perform<'s>(&'s self, state: MutexGuard<'s, State<T>>, work: Waiting<T>) -> MutexGuard<'s, State<T>> {
        drop(state);
        let Waiting { ticket, task, .. } = work;
        task.perform(&ticket);
        let mut state = self.lock();
        let lane = &mut state.lanes[ticket.lane as usize];
        lane.is_running = false;
        lane.finished = ticket.position;
        self.progress.notify_all();
        state
    }
}

impl<T> State<T> {
    /// Returns the clock of all work that is ordered before the next work of a lane.
    fn marked(&self, lane: u32) -> Clock {
        let this = &self.lanes[lane as usize];
        let mut clock = this.before_next.clone();
        clock.raise(lane, this.issued);
        let ordered_with = match this.kind {
            LaneKind::Default => LaneKind::Blocking,
            LaneKind::Blocking => LaneKind::Default,
            LaneKind::Free => return clock,
        };
        for (number, other) in self.lanes.iter().enumerate() {
            if other.context == this.context && other.kind == ordered_with {
                clock.join(&other.before_next);
                clock.raise(number as u32, other.issued);
            }
        }
        clock
    }

    /// Orders later calls of the host after the finished work in a clock.
    fn finish(&mut self, clock: &Clock) {
        let mut clock = clock.clone();
        self.inner.complete(&mut clock);
        self.host.join(&clock);
    }

    fn has_finished(&self, clock: &Clock) -> bool {
        self.lanes.iter().enumerate().all(|(number, lane)| clock.position(number as u32) <= lane.finished)
    }

    /// Chooses a piece of work whose predecessors are finished, removes this piece from its lane,
    /// and returns it. Returns `None` if no piece of work can start.
    fn start(&mut self) -> Option<Waiting<T>> {
        let ready = |(number, lane): (usize, &Lane<T>)| {
            let first = lane.queue.front().filter(|first| !lane.is_running && self.has_finished(&first.ticket.before));
            first.map(|first| (number, first.order))
        };
        let ready: Vec<(usize, u64)> = self.lanes.iter().enumerate().filter_map(ready).collect();
        let lane = match &mut self.random {
            Some(random) if !ready.is_empty() => ready[random.below(ready.len())].0,
            _ => ready.iter().min_by_key(|(_, order)| *order)?.0,
        };
        let lane = &mut self.lanes[lane];
        let work = lane.queue.pop_front()?;
        lane.is_running = true;
        Some(work)
    }
}

#[cfg(test)]
mod tests;
