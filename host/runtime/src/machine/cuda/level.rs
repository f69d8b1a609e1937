//! The nodes of a graph and of the graphs inside it.

use super::order::{Accesses, Place, places};
use crate::executable::DeviceStep;
use crate::{KernelImage, Slice, Thunk};

/// The work of a node.
#[derive(Clone, Debug)]
pub enum Act {
    /// A launch or a copy.
    Device(Thunk),
    /// Sets the condition with a number by a value in memory.
    Decide { condition: usize, decision: Decision },
    /// Executes a graph as long as a condition holds.
    Repeat { condition: usize, body: Level },
    /// Executes a graph if a condition holds.
    Choose { condition: usize, body: Level },
}

/// When a condition holds.
#[derive(Clone, Debug)]
pub struct Decision {
    pub rule: Rule,
    /// The value that decides.
    pub place: Slice,
    /// The number of a branch, and the number of the last branch. Without a branch, zeros.
    pub branch: [u64; 2],
}

/// How a value decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The `pred` is true.
    IsTrue,
    /// The `pred` selects the branch.
    PredSelects,
    /// The `s32` selects the branch.
    IndexSelects,
}

/// The nodes of a graph, each at its place.
#[derive(Clone, Debug)]
pub struct Level(pub Vec<(Act, Place)>);

/// Turns thunks into nodes.
struct Planner<'p> {
    kernels: &'p [&'p KernelImage],
    streams: usize,
    /// The number of conditions so far.
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
    /// Adds the acts of thunks.
    fn add(&mut self, thunks: &[Thunk], acts: &mut Vec<Act>) -> Option<()> {
        thunks.iter().try_for_each(|thunk| match thunk {
            Thunk::Kernel { .. } | Thunk::Copy { .. } => {
                acts.push(Act::Device(thunk.clone()));
                Some(())
            }
            Thunk::HostOp { .. } => None,
            Thunk::While { condition, predicate, body, .. } => {
                let decision = Decision { rule: Rule::IsTrue, place: *predicate, branch: [0; 2] };
                let decide = Act::Decide { condition: self.new_condition(), decision };
                let number = self.conditions - 1;
                self.add(condition, acts)?;
                acts.push(decide.clone());
                let mut inner = Vec::new();
                self.add(body, &mut inner)?;
                self.add(condition, &mut inner)?;
                inner.push(decide);
                acts.push(Act::Repeat { condition: number, body: self.level(inner) });
                Some(())
            }
            Thunk::Conditional { index, branches, .. } => self.add_branches(index, branches, acts),
        })
    }

    /// Adds the acts of a conditional. All conditions are set before the first branch, because a
    /// branch may overwrite the value that selects it.
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

/// Returns a place that stands for a condition, in an allocation that no program has. So conditions
/// order nodes as memory does.
fn place_of(condition: usize) -> Slice {
    Slice { allocation: u32::MAX - condition as u32, offset: 0, bytes: 4 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(from: u32, to: u32) -> Thunk {
        let slice = |allocation| Slice { allocation, offset: 0, bytes: 64 };
        Thunk::Copy { from: slice(from), to: slice(to) }
    }

    fn pred(allocation: u32) -> Slice {
        Slice { allocation, offset: 0, bytes: 1 }
    }

    /// Describes nodes: their kind, and the nodes for which they wait.
    fn describe(level: &Level) -> Vec<String> {
        let name = |act: &Act| match act {
            Act::Device(_) => "copy".to_string(),
            Act::Decide { condition, decision } => format!("decide {condition} {:?}", decision.branch),
            Act::Repeat { condition, body } => format!("repeat {condition} ({})", describe(body).join(", ")),
            Act::Choose { condition, body } => format!("choose {condition} ({})", describe(body).join(", ")),
        };
        level.0.iter().map(|(act, place)| format!("{} after {:?}", name(act), place.after)).collect()
    }

    #[test]
    fn a_loop_decides_before_and_at_the_end_of_its_body() {
        let condition = vec![Thunk::Copy { from: pred(1), to: pred(2) }];
        let body = vec![copy(3, 4), copy(4, 3)];
        let repeated = Thunk::While { name: "loop".into(), condition, predicate: pred(2), body };
        let level = Level::of(&[copy(5, 3), repeated, copy(3, 6), copy(7, 8)], &[], 8).unwrap();
        assert_eq!(
            describe(&level),
            [
                "copy after []",
                "copy after []",
                "decide 0 [0, 0] after [1]",
                "repeat 0 (copy after [], copy after [0], copy after [], decide 0 [0, 0] after [2]) after [2, 0]",
                "copy after [3]",
                "copy after []",
            ]
        );
    }

    #[test]
    fn branches_come_after_all_decisions_about_a_value_that_they_overwrite() {
        let slice = |allocation| Slice { allocation, offset: 0, bytes: 4 };
        let branches = vec![vec![Thunk::Copy { from: slice(2), to: slice(1) }], vec![copy(3, 4)]];
        let chosen = Thunk::Conditional { name: "chosen".into(), index: slice(1), branches };
        let level = Level::of(&[chosen], &[], 8).unwrap();
        assert_eq!(
            describe(&level),
            [
                "decide 0 [0, 1] after []",
                "decide 1 [1, 1] after []",
                "choose 0 (copy after []) after [1, 0]",
                "choose 1 (copy after []) after [1]",
            ]
        );
        let host = Thunk::HostOp { op: 0, arguments: vec![], results: vec![] };
        let branches = vec![vec![host]];
        assert!(Level::of(&[Thunk::Conditional { name: "c".into(), index: slice(1), branches }], &[], 8).is_none());
    }
}
