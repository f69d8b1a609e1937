//! Graphs that can be launched.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Graph, NodeKind};
use crate::engine::{Clock, Engine, LaneKind};
use crate::signal::Moment;
use crate::status::{Answer, Status};
use crate::work::{Job, Work};

/// A graph that can be launched. Branches of the graph that no edges order are concurrent.
#[derive(Debug)]
pub struct Executable {
    engine: Arc<Engine<Job>>,
    /// The lanes on which the steps are executed.
    lanes: Vec<u32>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    steps: Vec<Step>,
    /// The end of the last launch. The next launch waits for it.
    last: Clock,
}

/// A node that does work itself.
#[derive(Debug)]
struct Step {
    /// The number of the node, after the numbers of the nodes whose graphs contain it.
    path: Vec<usize>,
    /// No child.
    kind: NodeKind,
    /// The steps before this step.
    after: Vec<usize>,
    /// The position of the step's lane among the lanes of the executable.
    lane: usize,
}

/// A difference that prevents an update: its number in the C interface, and the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    pub number: u32,
    pub node: Option<usize>,
}

/// The number of the difference of graphs with different nodes or edges.
const TOPOLOGY: u32 = 2;
/// The number of the difference of nodes of different kinds.
const NODE_KIND: u32 = 3;

impl Executable {
    /// Makes a graph executable. Fails if its edges form a cycle.
    pub fn new(engine: &Arc<Engine<Job>>, graph: &Graph) -> Answer<Executable> {
        let mut steps = steps(graph)?;
        // The last step of each lane. A step goes on with the lane of a predecessor if it can, so
        // that a chain of steps has one lane.
        let (mut lanes, mut last) = (Vec::new(), Vec::new());
        for number in 0..steps.len() {
            let lane_of = |before: &usize| (last[steps[*before].lane] == *before).then_some(steps[*before].lane);
            let lane = steps[number].after.iter().find_map(lane_of).unwrap_or_else(|| {
                lanes.push(engine.open(context(&steps[number].kind), LaneKind::Free));
                lanes.len() - 1
            });
            last.resize(lanes.len(), number);
            last[lane] = number;
            steps[number].lane = lane;
        }
        Ok(Executable { engine: engine.clone(), lanes, state: Mutex::new(State { steps, last: Clock::default() }) })
    }

    /// Issues all work of the graph after the work in a clock. Returns the clock that contains this
    /// work.
    pub fn launch(&self, start: &Clock) -> Clock {
        let mut state = self.lock();
        let mut start = start.clone();
        start.join(&state.last);
        let mut ends: Vec<Clock> = Vec::new();
        for step in &state.steps {
            let mut before = start.clone();
            step.after.iter().for_each(|&number| before.join(&ends[number]));
            let issue = |before: &Clock, job: &Job| self.engine.issue(self.lanes[step.lane], before, job.clone());
            ends.push(match &step.kind {
                NodeKind::Job(job) => issue(&before, job),
                NodeKind::Record(job, signal) => {
                    let moment = Moment::default();
                    let end = issue(&before, &Job { work: Work::Record(moment.clone()), ..job.clone() });
                    signal.record(end.clone(), moment);
                    end
                }
                NodeKind::Wait(job, signal) => {
                    signal.recorded().iter().for_each(|(recorded, _)| before.join(recorded));
                    issue(&before, job)
                }
                NodeKind::Child(_) => before,
            });
        }
        let mut end = start;
        ends.iter().for_each(|other| end.join(other));
        state.last = end.clone();
        end
    }

    /// Replaces what the step of a node of the original graph does.
    pub fn replace(&self, node: usize, kind: NodeKind) -> Answer {
        let mut state = self.lock();
        let step = state.steps.iter_mut().find(|step| step.path == [node]).ok_or(Status::INVALID_VALUE)?;
        if step.kind.number() != kind.number() {
            return Err(Status::INVALID_VALUE);
        }
        step.kind = kind;
        Ok(())
    }

    /// Replaces what all steps do by what the nodes of another graph do, which must have the same
    /// edges and nodes of the same kinds.
    pub fn update(&self, graph: &Graph) -> Result<(), Difference> {
        let topology = |node: Option<usize>| Difference { number: TOPOLOGY, node };
        let other = steps(graph).map_err(|_| topology(None))?;
        let mut state = self.lock();
        if state.steps.len() != other.len() {
            return Err(topology(None));
        }
        for (mine, other) in state.steps.iter().zip(&other) {
            let node = other.path.first().copied();
            if mine.kind.number() != other.kind.number() {
                return Err(Difference { number: NODE_KIND, node });
            }
            if mine.after != other.after || mine.path.len() != other.path.len() {
                return Err(topology(node));
            }
        }
        for (mine, other) in state.steps.iter_mut().zip(other) {
            mine.kind = other.kind;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        self.lanes.iter().for_each(|&lane| self.engine.close(lane));
    }
}

/// Returns the number of the context that executes a step.
fn context(kind: &NodeKind) -> usize {
    match kind {
        NodeKind::Job(job) | NodeKind::Record(job, _) | NodeKind::Wait(job, _) => job.space.number,
        NodeKind::Child(_) => 0,
    }
}

/// Returns the steps of a graph and of the graphs inside, each after the steps before it. The lanes
/// are not assigned yet.
fn steps(graph: &Graph) -> Answer<Vec<Step>> {
    let mut steps = Vec::new();
    flatten(graph, &[], &[], &mut steps)?;
    Ok(steps)
}

/// Adds the steps of a graph. `path` leads to the node that contains the graph, and `before` are
/// the steps before this node. Returns the last steps.
fn flatten(graph: &Graph, path: &[usize], before: &[usize], steps: &mut Vec<Step>) -> Answer<Vec<usize>> {
    // For each node, the last steps of the node.
    let mut ends: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let ordered = graph.ordered()?;
    for (number, node) in &ordered {
        let mut after: Vec<usize> = node.after.iter().flat_map(|before| ends[before].clone()).collect();
        if node.after.is_empty() {
            after.extend(before);
        }
        after.sort_unstable();
        after.dedup();
        let path: Vec<usize> = path.iter().copied().chain([*number]).collect();
        let end = match &node.kind {
            NodeKind::Child(child) => flatten(child, &path, &after, steps)?,
            kind => {
                steps.push(Step { path, kind: kind.clone(), after, lane: 0 });
                vec![steps.len() - 1]
            }
        };
        ends.insert(*number, end);
    }
    let inner: Vec<usize> = ordered.iter().flat_map(|(_, node)| node.after.iter().copied()).collect();
    let last: Vec<usize> =
        ends.iter().filter(|(number, _)| !inner.contains(number)).flat_map(|(_, end)| end.clone()).collect();
    // A graph without steps ends when it begins.
    Ok(if last.is_empty() { before.to_vec() } else { last })
}
