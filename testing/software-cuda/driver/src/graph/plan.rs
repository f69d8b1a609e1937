//! The steps of a graph that is launched, and their lanes.

use std::collections::BTreeMap;
use std::sync::Arc;

use fusebox_ptx::Fault;

use super::condition::{Condition, Repetition};
use super::{Conditional, Graph, NodeKind};
use crate::engine::{Clock, Engine, LaneKind, Ticket};
use crate::signal::Moment;
use crate::status::Answer;
use crate::work::{Fill, IssuingWork, Job, Work};

/// The steps of a graph. In this list, each step follows the steps for which it waits. Branches of
/// the graph are concurrent if no edges order them.
#[derive(Clone, Debug)]
pub struct Plan {
    steps: Vec<Step>,
    lanes: Arc<Lanes>,
}

/// Lanes of the engine. When no plan uses the lanes any more, the engine closes them.
#[derive(Debug)]
struct Lanes {
    engine: Arc<Engine<Job>>,
    numbers: Vec<u32>,
}

/// A conditional node of a graph that was launched.
#[derive(Clone, Debug)]
struct Control {
    condition: Arc<Condition>,
    repetition: Repetition,
    bodies: Vec<Arc<Plan>>,
    engine: Arc<Engine<Job>>,
}

/// A node that does work itself, in contrast to a node that contains a child graph.
#[derive(Clone, Debug)]
pub struct Step {
    /// The address of the outermost graph that contains the node, directly or in its child graphs.
    graph: usize,
    /// The number of the node, preceded by the numbers of the nodes whose child graphs contain the
    /// node.
    pub path: Vec<usize>,
    /// No child.
    pub kind: NodeKind,
    /// The graphs of a conditional node.
    pub bodies: Vec<Arc<Plan>>,
    /// The steps for which this step waits.
    pub after: Vec<usize>,
    /// The position of the step's lane among the lanes of the plan.
    lane: usize,
}

impl Plan {
    /// Plans the steps of a graph and of the graphs of its conditional nodes. Fails if the edges
    /// form a cycle.
    pub fn new(engine: &Arc<Engine<Job>>, graph: &Graph) -> Answer<Plan> {
        let mut steps = steps(graph)?;
        for step in &mut steps {
            if let NodeKind::Conditional(_, conditional) = &step.kind {
                let bodies = conditional.bodies.iter().map(|body| Plan::new(engine, body).map(Arc::new));
                step.bodies = bodies.collect::<Answer<_>>()?;
            }
        }
        // The last step of each lane. A step goes on with the lane of a predecessor if it can, so
        // that a chain of steps has one lane.
        let (mut numbers, mut last) = (Vec::new(), Vec::new());
        for number in 0..steps.len() {
            let lane_of = |before: &usize| (last[steps[*before].lane] == *before).then_some(steps[*before].lane);
            let lane = steps[number].after.iter().find_map(lane_of).unwrap_or_else(|| {
                numbers.push(engine.open(context(&steps[number].kind), LaneKind::Free));
                numbers.len() - 1
            });
            last.resize(numbers.len(), number);
            last[lane] = number;
            steps[number].lane = lane;
        }
        Ok(Plan { steps, lanes: Arc::new(Lanes { engine: engine.clone(), numbers }) })
    }

    /// Returns the steps.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns the steps, so that the caller can change their work.
    pub fn steps_mut(&mut self) -> &mut [Step] {
        &mut self.steps
    }

    /// Finds the step that belongs to a node of a graph. Also searches the graphs of conditional
    /// nodes.
    pub fn find_mut(&mut self, graph: &Graph, node: usize) -> Option<&mut Step> {
        if let Some(found) = self.steps.iter().position(|step| step.graph == graph.address() && step.path == [node]) {
            return self.steps.get_mut(found);
        }
        let bodies = self.steps.iter_mut().flat_map(|step| &mut step.bodies);
        bodies.into_iter().find_map(|body| Arc::make_mut(body).find_mut(graph, node))
    }

    /// Issues all work of the plan after the work in a clock. Returns a clock that contains the
    /// issued work.
    pub fn launch(&self, engine: &Arc<Engine<Job>>, start: &Clock) -> Clock {
        let mut ends: Vec<Clock> = Vec::new();
        for step in &self.steps {
            let mut before = start.clone();
            step.after.iter().for_each(|&number| before.join(&ends[number]));
            let issue = |before: &Clock, job: &Job| engine.issue(self.lanes.numbers[step.lane], before, job.clone());
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
                NodeKind::Conditional(space, conditional) => {
                    issue(&before, &Job { space: space.clone(), work: step.control(engine, conditional) })
                }
                NodeKind::Child(_) => before,
            });
        }
        let mut end = start.clone();
        ends.iter().for_each(|other| end.join(other));
        end
    }

    /// Returns the work that sets all conditions with default values to these values, including the
    /// conditions of inner graphs.
    pub fn defaults(&self) -> Vec<Job> {
        let mut jobs = Vec::new();
        for step in &self.steps {
            if let NodeKind::Conditional(space, conditional) = &step.kind
                && let Some(value) = conditional.condition.default
            {
                let address = conditional.condition.address();
                let fill = Fill { address, value, width: 4, extent: [1, 1], pitch: 4 };
                jobs.push(Job { space: space.clone(), work: Work::Fill(fill) });
            }
            jobs.extend(step.bodies.iter().flat_map(|body| body.defaults()));
        }
        jobs
    }
}

impl Step {
    /// Returns the work of a conditional node.
    fn control(&self, engine: &Arc<Engine<Job>>, conditional: &Conditional) -> Work {
        let (condition, repetition) = (conditional.condition.clone(), conditional.repetition);
        Work::Issuing(Arc::new(Control { condition, repetition, bodies: self.bodies.clone(), engine: engine.clone() }))
    }
}

impl IssuingWork for Control {
    /// Executes the graphs that the condition selects. The work of these graphs is ordered before
    /// all work that waits for the conditional node.
    fn perform(&self, ticket: &Ticket) -> Result<(), Fault> {
        let mut now = ticket.clone();
        let mut has_body = false;
        while let Some(body) = self.body(self.condition.value(&now)?) {
            has_body = true;
            let end = body.launch(&self.engine, &now.before);
            self.engine.finish_in_background(&end);
            // The next reading of the condition is ordered after the body.
            now.before = self.engine.completed(&end);
            if self.repetition != Repetition::While || self.condition.check().is_err() {
                break;
            }
        }
        if has_body {
            self.engine.finish_inner(ticket, &now.before);
        }
        Ok(())
    }
}

impl Control {
    fn body(&self, value: u32) -> Option<&Arc<Plan>> {
        match self.repetition {
            Repetition::If => self.bodies.get(usize::from(value == 0)),
            Repetition::While => self.bodies.first().filter(|_| value != 0),
            Repetition::Switch => self.bodies.get(value as usize),
        }
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        self.numbers.iter().for_each(|&lane| self.engine.close(lane));
    }
}

/// Returns the number of the context that executes a step.
fn context(kind: &NodeKind) -> usize {
    match kind {
        NodeKind::Job(job) | NodeKind::Record(job, _) | NodeKind::Wait(job, _) => job.space.number,
        NodeKind::Conditional(space, _) => space.number,
        NodeKind::Child(_) => 0,
    }
}

/// Returns the steps of a graph and of its child graphs. In the result, each step follows the steps
/// for which it waits. The steps have no lanes yet.
fn steps(graph: &Graph) -> Answer<Vec<Step>> {
    let mut steps = Vec::new();
    flatten(graph, (graph.address(), &[]), &[], &mut steps)?;
    Ok(steps)
}

/// Adds the steps of a graph. `path` leads from the outermost graph to the node that contains the
/// graph. `before` are the steps for which this node waits. Returns the last steps of the graph.
fn flatten(
    graph: &Graph,
    (outermost, path): (usize, &[usize]),
    before: &[usize],
    steps: &mut Vec<Step>,
) -> Answer<Vec<usize>> {
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
            NodeKind::Child(child) => flatten(child, (outermost, &path), &after, steps)?,
            kind => {
                steps.push(Step { graph: outermost, path, kind: kind.clone(), bodies: Vec::new(), after, lane: 0 });
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
