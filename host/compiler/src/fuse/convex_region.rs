//! Turns the instructions of a bid into a fusion.

use std::collections::HashSet;

use fusebox_core::hlo::{Computation, InstrId};

use super::candidate::Sequence;
use super::recomputation::{is_copied, recomputable};
use super::region::Region;
use super::step_graph::SequenceStep;

/// The instructions of a bid. No path of values leads out of the bid's instructions and back in.
pub struct ConvexRegion {
    pub region: Region,
    /// Members that instructions outside the region recompute instead of reading them.
    recomputed: HashSet<InstrId>,
}

impl ConvexRegion {
    /// Returns, in program order, the members that only the fusion computes. Each other member is
    /// also computed outside the fusion, because an instruction outside recomputes this member or a
    /// value that depends on the member.
    pub fn exclusive_members(&self, computation: &Computation) -> Vec<InstrId> {
        let Region { roots, members, .. } = &self.region;
        let mut remain = self.recomputed.clone();
        for &id in members.iter().rev() {
            if remain.contains(&id) {
                let operands = &computation.instruction(id).operands;
                remain.extend(operands.iter().filter(|id| members.binary_search(id).is_ok() && !roots.contains(id)));
            }
        }
        members.iter().copied().filter(|id| !remain.contains(id)).collect()
    }
}

/// Builds the fusion of a bid. Fails if a path leads out of the bid and back in. There are many
/// bids, so the time of this function must not depend on the size of the computation. The time
/// depends only on the distance between members.
pub fn convex_region(sequence: &Sequence, mut members: Vec<InstrId>) -> Result<ConvexRegion, String> {
    let computation = sequence.computation;
    members.sort_unstable();
    sequence.check_convex(&members)?;
    let inside: HashSet<InstrId> = members.iter().copied().collect();
    let may_recompute = recomputable(sequence, &members, &inside);
    let (mut roots, mut recomputed) = (Vec::new(), HashSet::new());
    for id in members.into_iter().rev() {
        let is_read = sequence.is_read_outside(id, |user| inside.contains(&user) && !recomputed.contains(&user));
        if !is_read {
            continue;
        }
        if may_recompute.contains(&id) {
            recomputed.insert(id);
        } else {
            roots.push(id);
        }
    }
    roots.reverse();
    if roots.is_empty() {
        return Err("no instruction outside its bid reads a result of it".into());
    }
    let members = needed_by(computation, &roots, &inside);
    Ok(ConvexRegion { region: Region::of_members(computation, roots, members), recomputed })
}

impl Sequence<'_> {
    /// Replaces the instructions of a bid by one step.
    pub fn fuse(&mut self, convex: ConvexRegion) {
        let exclusive_members = convex.exclusive_members(self.computation);
        exclusive_members.iter().for_each(|id| self.computable[id.index()] = false);
        let from = self.first_position(&convex.region.members);
        self.graph.replace(self.computation, &exclusive_members, from, convex.region);
    }

    /// Returns the position of the first member that is not duplicated into every kernel.
    /// Duplicated members may be far before all other members.
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
                SequenceStep::Single(id) if inside.contains(id) => {
                    if leads_back {
                        let name = &computation.instruction(*id).name;
                        return Err(format!(
                            "its bid depends on itself: {name} needs an instruction that the bid leaves out"
                        ));
                    }
                    if is_copied(computation, *id) && !needs {
                        is_free.insert(*id);
                    }
                }
                _ if leads_back || needs => behind.extend(step.results()),
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
