//! The nodes of a graph and of the graphs inside it.

use super::order::{Accesses, Place, places};
use crate::executable::DeviceStep;
use crate::{KernelImage, Slice, Thunk};

/// The work of a node.
#[derive(Clone, Debug)]
pub enum Act {
    /// A launch or a copy.
    Device(Thunk),
    /// Sets the condition with this number according to a value in memory.
    Decide { condition: usize, decision: Decision },
    /// Executes a graph as long as a condition holds.
    Repeat { condition: usize, body: Level },
    /// Executes a graph if a condition holds.
    Choose { condition: usize, body: Level },
}

/// Defines when a condition holds: a rule, and the value to which the rule applies.
#[derive(Clone, Debug)]
pub struct Decision {
    pub rule: Rule,
    /// The slice that holds the deciding value.
    pub place: Slice,
    /// The number of a branch, and the number of the last branch. For a loop, both numbers are 0.
    pub branch: [u64; 2],
}

/// How a value decides whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The condition holds if the `pred` is true.
    IsTrue,
    /// The condition holds if the `pred` selects the branch.
    PredSelects,
    /// The condition holds if the `s32` selects the branch.
    IndexSelects,
}

/// The nodes of a graph, each with the earlier nodes for which it waits.
#[derive(Clone, Debug)]
pub struct Level(pub Vec<(Act, Place)>);

/// If all iterations of a loop together have at most this number of nodes, the graph contains every
/// iteration. Building a graph of this size takes the driver about as long as a few executions of a
/// loop that decides in each iteration.
const MOST_OF_ITERATIONS: u64 = 256;

/// Maximum number of nodes between two decisions about a loop with a known number of iterations.
/// Compared with this number of nodes, the two kernels that decide are few.
const MOST_BETWEEN_DECISIONS: u64 = 64;

/// Returns the number of iterations between two decisions about a loop with a known number of
/// iterations. `nodes` is the number of nodes of the loop's body. Returns 0 if the loop never
/// decides.
fn bodies_between_decisions(iterations: u64, nodes: u64) -> u64 {
    let nodes = nodes.max(1);
    if iterations.saturating_mul(nodes) <= MOST_OF_ITERATIONS { 0 } else { (MOST_BETWEEN_DECISIONS / nodes).max(1) }
}

/// Returns the number of graph nodes for thunks, including the nodes of inner graphs.
fn node_count(thunks: &[Thunk]) -> u64 {
    let of_loop = |condition: &[Thunk], bodies: u64| 2 * (node_count(condition) + 1) + 1 + bodies;
    let count = |thunk: &Thunk| match thunk {
        Thunk::While { condition, body, iterations: Some(number), .. } => {
            let nodes = node_count(body);
            match bodies_between_decisions(*number, nodes) {
                0 => number * nodes.max(1),
                together => (number % together) * nodes + of_loop(condition, together * nodes),
            }
        }
        Thunk::While { condition, body, .. } => of_loop(condition, node_count(body)),
        Thunk::Conditional { branches, .. } => branches.iter().map(|branch| 2 + node_count(branch)).sum(),
        _ => 1,
    };
    thunks.iter().map(count).fold(0, u64::saturating_add)
}

/// Turns thunks into nodes.
struct Planner<'p> {
    kernels: &'p [&'p KernelImage],
    streams: usize,
    /// Number of conditions that the planner has created.
    conditions: usize,
}

impl Level {
    /// Returns the nodes of a sequence of thunks. Returns `None` if a thunk needs the host.
    pub fn of(thunks: &[Thunk], kernels: &[&KernelImage], streams: usize) -> Option<Level> {
        let mut planner = Planner { kernels, streams, conditions: 0 };
        let mut acts = Vec::new();
        planner.add(thunks, &mut acts)?;
        Some(planner.level(acts))
    }
}

impl Planner<'_> {
    /// Appends the acts of thunks to `acts`. An act is the work of one node.
    fn add(&mut self, thunks: &[Thunk], acts: &mut Vec<Act>) -> Option<()> {
        thunks.iter().try_for_each(|thunk| match thunk {
            Thunk::While { condition, predicate, body, iterations: Some(number), .. } => {
                self.add_counted(*number, (condition, predicate), body, acts)
            }
            Thunk::While { condition, predicate, body, .. } => {
                self.add_loop(condition, predicate, std::iter::once(body.as_slice()), acts)
            }
            Thunk::Conditional { index, branches, .. } => self.add_branches(index, branches, acts),
            other => {
                DeviceStep::of(other)?;
                acts.push(Act::Device(other.clone()));
                Some(())
            }
        })
    }

    /// Appends the acts of a loop with a known number of iterations. If the iterations are few, the
    /// graph contains all iterations and decides nothing. Otherwise the graph decides after several
    /// iterations whether the loop continues.
    fn add_counted(
        &mut self,
        number: u64,
        (condition, predicate): (&[Thunk], &Slice),
        body: &[Thunk],
        acts: &mut Vec<Act>,
    ) -> Option<()> {
        let together = bodies_between_decisions(number, node_count(body));
        (0..number.checked_rem(together).unwrap_or(number)).try_for_each(|_| self.add(body, acts))?;
        if together == 0 {
            return Some(());
        }
        let bodies = std::iter::repeat_n(body, usize::try_from(together).ok()?);
        self.add_loop(condition, predicate, bodies, acts)
    }

    /// Appends the acts of a loop that executes its body several times after each decision.
    fn add_loop<'t>(
        &mut self,
        condition: &[Thunk],
        predicate: &Slice,
        bodies: impl Iterator<Item = &'t [Thunk]>,
        acts: &mut Vec<Act>,
    ) -> Option<()> {
        let decision = Decision { rule: Rule::IsTrue, place: *predicate, branch: [0; 2] };
        let decide = Act::Decide { condition: self.new_condition(), decision };
        let number = self.conditions - 1;
        self.add(condition, acts)?;
        acts.push(decide.clone());
        let mut inner = Vec::new();
        for body in bodies {
            self.add(body, &mut inner)?;
        }
        self.add(condition, &mut inner)?;
        inner.push(decide);
        acts.push(Act::Repeat { condition: number, body: self.level(inner) });
        Some(())
    }

    /// Appends the acts of a conditional. The graph sets all conditions before the first branch,
    /// because a branch may overwrite the value that selects a branch.
    fn add_branches(&mut self, index: &Slice, branches: &[Vec<Thunk>], acts: &mut Vec<Act>) -> Option<()> {
        let first = self.conditions;
        let rule = if index.bytes == 1 { Rule::PredSelects } else { Rule::IndexSelects };
        let last = branches.len().checked_sub(1)? as u64;
        for number in 0..branches.len() {
            let decision = Decision { rule, place: *index, branch: [number as u64, last] };
            acts.push(Act::Decide { condition: self.new_condition(), decision });
        }
        for (number, branch) in branches.iter().enumerate() {
            let mut inner = Vec::new();
            self.add(branch, &mut inner)?;
            acts.push(Act::Choose { condition: first + number, body: self.level(inner) });
        }
        Some(())
    }

    fn new_condition(&mut self) -> usize {
        self.conditions += 1;
        self.conditions - 1
    }

    fn level(&self, acts: Vec<Act>) -> Level {
        let accesses: Vec<Accesses> = acts.iter().map(|act| self.accesses(act)).collect();
        Level(acts.into_iter().zip(places(&accesses, self.streams)).collect())
    }

    fn accesses(&self, act: &Act) -> Accesses {
        let mut accesses = Accesses::default();
        match act {
            Act::Device(thunk) => {
                accesses.extend(DeviceStep::of(thunk).map(|step| Accesses::of(&step, self.kernels)));
            }
            Act::Decide { condition, decision } => {
                accesses.reads.push(decision.place);
                accesses.writes.push(place_of(*condition));
            }
            Act::Repeat { condition, body } | Act::Choose { condition, body } => {
                accesses.reads.push(place_of(*condition));
                accesses.extend(body.0.iter().map(|(act, _)| self.accesses(act)));
            }
        }
        accesses
    }
}

/// Returns a slice that represents a condition, in an allocation that no program has. So nodes that
/// access the same condition are ordered like nodes that access the same memory.
fn place_of(condition: usize) -> Slice {
    Slice { allocation: u32::MAX - condition as u32, offset: 0, bytes: 4 }
}

#[cfg(test)]
mod tests;
