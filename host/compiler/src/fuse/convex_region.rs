//! Turns the instructions of a bid into a fusion.

use std::collections::HashSet;

use fusebox_core::hlo::{Computation, InstrId};

use super::candidate::Sequence;
use super::order::Step;
use super::region::Region;
use super::repeated::{is_copied, repeatable};

/// The instructions of a bid. No path leads out of them and back in.
pub struct Taken {
    pub region: Region,
    /// Members that readers outside recompute.
    repeated: HashSet<InstrId>,
}

impl Taken {
    /// Returns the members that only the fusion computes, in order. The other members are
    /// recomputed outside, or recomputed members need them.
    pub fn gone(&self, computation: &Computation) -> Vec<InstrId> {
        let Region { roots, members, .. } = &self.region;
        let mut remain = self.repeated.clone();
        for &id in members.iter().rev() {
            if remain.contains(&id) {
                let operands = &computation.instruction(id).operands;
                remain.extend(operands.iter().filter(|id| members.binary_search(id).is_ok() && !roots.contains(id)));
            }
        }
        members.iter().copied().filter(|id| !remain.contains(id)).collect()
    }
}

/// Builds the fusion of a bid, if no path leads out of it and back in. There are many bids, so the
/// time depends on the distance between members, not on the size of the computation.
pub fn taken(sequence: &Sequence, mut members: Vec<InstrId>) -> Result<Taken, String> {
    let computation = sequence.computation;
    members.sort_unstable();
    sequence.check_convex(&members)?;
    let inside: HashSet<InstrId> = members.iter().copied().collect();
    let may_repeat = repeatable(sequence, &members, &inside);
    let (mut roots, mut repeated) = (Vec::new(), HashSet::new());
    for id in members.into_iter().rev() {
        let is_read = sequence.is_read_outside(id, |user| inside.contains(&user) && !repeated.contains(&user));
        match is_read {
            true if may_repeat.contains(&id) => drop(repeated.insert(id)),
            true => roots.push(id),
            false => {}
        }
    }
    roots.reverse();
    if roots.is_empty() {
        return Err("nothing of what it takes is a result".into());
    }
    let members = needed_by(computation, &roots, &inside);
    Ok(Taken { region: Region::of_members(computation, roots, members), repeated })
}

impl Sequence<'_> {
    /// Replaces the instructions of a bid by one step.
    pub fn take(&mut self, taken: Taken) {
        let gone = taken.gone(self.computation);
        gone.iter().for_each(|id| self.computable[id.index()] = false);
        let from = self.first_position(&taken.region.members);
        self.graph.replace(self.computation, &gone, from, taken.region);
    }

    /// Returns the position of the first member that is not duplicated into every kernel.
    /// Duplicated instructions may be far before all others.
    pub(super) fn first_position(&self, members: &[InstrId]) -> usize {
        let position = |id: &InstrId| self.graph.position(id.index());
        let bound = members.iter().filter(|&&id| !is_copied(self.computation, id));
        bound.map(position).min().or_else(|| members.iter().map(position).min()).unwrap_or(0)
    }

    /// Checks that no path leads out of a kernel and back in.
    fn check_convex(&self, members: &[InstrId]) -> Result<(), String> {
        let computation = self.computation;
        let first = self.first_position(members);
        let last = members.iter().map(|id| self.graph.position(id.index())).max().unwrap_or(first);
        let inside: HashSet<InstrId> = members.iter().copied().collect();
        // `behind`: values outside that depend on the kernel's results. `is_free`: members that
        // other kernels can compute without these results.
        let mut behind: HashSet<InstrId> = HashSet::new();
        let mut is_free: HashSet<InstrId> =
            members.iter().copied().filter(|id| self.graph.position(id.index()) < first).collect();
        for step in self.graph.between(first, last) {
            let operands = step.operands(computation);
            let leads_back = operands.iter().any(|operand| behind.contains(operand));
            let needs = operands.iter().any(|operand| inside.contains(operand) && !is_free.contains(operand));
            match step {
                Step::Single(id) if inside.contains(id) => {
                    if leads_back {
                        let name = &computation.instruction(*id).name;
                        return Err(format!("what it takes depends on itself: {name} needs what is left out"));
                    }
                    if is_copied(computation, *id) && !needs {
                        is_free.insert(*id);
                    }
                }
                _ if leads_back || needs => behind.extend(step.makes()),
                _ => {}
            }
        }
        Ok(())
    }
}

fn needed_by(computation: &Computation, roots: &[InstrId], inside: &HashSet<InstrId>) -> Vec<InstrId> {
    let mut needed = HashSet::new();
    let mut pending = roots.to_vec();
    while let Some(id) = pending.pop() {
        if inside.contains(&id) && needed.insert(id) {
            pending.extend(&computation.instruction(id).operands);
        }
    }
    let mut needed: Vec<InstrId> = needed.into_iter().collect();
    needed.sort_unstable();
    needed
}
