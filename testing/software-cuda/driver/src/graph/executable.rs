//! Graphs that can be launched.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Graph, NodeKind, Plan};
use crate::engine::{Clock, Engine, LaneKind};
use crate::status::{Answer, Status};
use crate::work::Job;

/// A graph that can be launched.
#[derive(Debug)]
pub struct Executable {
    engine: Arc<Engine<Job>>,
    /// The lane of the work before the first step.
    lane: u32,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    plan: Plan,
    /// All work up to the end of the last launch. The next launch waits for this work.
    last: Clock,
}

/// A difference between two graphs that prevents an update: the difference's number in the C
/// interface, and the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    pub number: u32,
    pub node: Option<usize>,
}

/// The number in the C interface for graphs that differ in their nodes or edges.
const TOPOLOGY: u32 = 2;
/// The number in the C interface for nodes that differ in their kinds.
const NODE_KIND: u32 = 3;

impl Executable {
    /// Makes a graph executable. Fails if the edges of the graph form a cycle.
    pub fn new(engine: &Arc<Engine<Job>>, graph: &Graph) -> Answer<Executable> {
        let plan = Plan::new(engine, graph)?;
        let lane = engine.open(0, LaneKind::Free);
        Ok(Executable { engine: engine.clone(), lane, state: Mutex::new(State { plan, last: Clock::default() }) })
    }

    /// Issues all work of the graph after the work in a clock. Returns a clock that contains the
    /// issued work.
    pub fn launch(&self, start: &Clock) -> Clock {
        let mut state = self.lock();
        let mut start = start.clone();
        start.join(&state.last);
        for job in state.plan.defaults() {
            start.join(&self.engine.issue(self.lane, &start, job));
        }
        let end = state.plan.launch(&self.engine, &start);
        state.last = end.clone();
        end
    }

    /// Replaces the work of the step that belongs to a node. The node is in the original graph, or
    /// in a graph of one of its conditional nodes.
    pub fn replace(&self, graph: &Graph, node: usize, kind: NodeKind) -> Answer {
        let mut state = self.lock();
        let step = state.plan.find_mut(graph, node).ok_or(Status::INVALID_VALUE)?;
        if step.kind.number() != kind.number() || matches!(kind, NodeKind::Conditional(..)) {
            return Err(Status::INVALID_VALUE);
        }
        step.kind = kind;
        Ok(())
    }

    /// Replaces the work of all steps by the work of the nodes of another graph. The other graph
    /// must have the same edges, and nodes of the same kinds. An update fails if a graph contains a
    /// conditional node.
    pub fn update(&self, graph: &Graph) -> Result<(), Difference> {
        let topology = |node: Option<usize>| Difference { number: TOPOLOGY, node };
        let other = Plan::new(&self.engine, graph).map_err(|_| topology(None))?;
        let mut state = self.lock();
        if state.plan.steps().len() != other.steps().len() {
            return Err(topology(None));
        }
        for (mine, other) in state.plan.steps().iter().zip(other.steps()) {
            let node = other.path.first().copied();
            if mine.kind.number() != other.kind.number() || matches!(mine.kind, NodeKind::Conditional(..)) {
                return Err(Difference { number: NODE_KIND, node });
            }
            if mine.after != other.after || mine.path.len() != other.path.len() {
                return Err(topology(node));
            }
        }
        for (mine, other) in state.plan.steps_mut().iter_mut().zip(other.steps()) {
            mine.kind = other.kind.clone();
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        self.engine.close(self.lane);
    }
}
