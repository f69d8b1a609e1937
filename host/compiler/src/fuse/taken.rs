//! What a bid takes of a computation, and the fusion that it becomes.

use std::collections::HashSet;

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Module, Op};

use super::candidate::Sequence;
use super::decide::is_scalar_constant;
use super::outline::{insert, results};
use super::region::Region;
use crate::rebuild::Rebuild;

/// What a bid takes, where nothing leads out of it and back in.
pub struct Taken {
    pub region: Region,
    /// Members that are computed again outside for those who read them there.
    repeated: HashSet<InstrId>,
}

/// Puts fusions in the place of what they take, each of which stands before all of the next. The fused computations are put in
/// front of the one they are taken from.
pub fn put_in_place(module: &mut Module, id: ComputationId, taken: &[Taken]) {
    let old = module.computation(id).clone();
    let new = with_fusions(&old, taken, module.computations.len() as u32);
    insert(module, id, new, taken.iter().map(|taken| taken.region.computation(&old)).collect());
}

/// The fusion that a bid becomes, if nothing leads out of it and back in. Takes time by how far its members lie apart, not by
/// the size of the computation, as there are many bids.
pub fn taken(Sequence { computation, users, .. }: &Sequence, mut members: Vec<InstrId>) -> Result<Taken, String> {
    members.sort_unstable();
    check_convex(computation, &members)?;
    let inside: HashSet<InstrId> = members.iter().copied().collect();
    let (mut roots, mut repeated) = (Vec::new(), HashSet::new());
    for id in members.into_iter().rev() {
        let is_outside = |user: &InstrId| !inside.contains(user) || repeated.contains(user);
        let is_read = id == computation.root || users[id.index()].iter().any(is_outside);
        match is_read {
            true if is_copied(computation, id) && id != computation.root => drop(repeated.insert(id)),
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

/// Nothing leads out of a kernel and back in. The members are in order.
fn check_convex(computation: &Computation, members: &[InstrId]) -> Result<(), String> {
    // What every kernel can compute for itself may stand far in front of all else.
    let start = members.iter().position(|&id| !is_copied(computation, id)).unwrap_or(0);
    let (free, [first, .., last] | [first @ last]) = members.split_at(start) else { return Ok(()) };
    let inside: HashSet<InstrId> = members.iter().copied().collect();
    // Outside, what needs the kernel's results; inside, what can be had elsewhere without them.
    let mut behind: HashSet<InstrId> = HashSet::new();
    let mut is_free: HashSet<InstrId> = free.iter().copied().collect();
    for id in (first.0..=last.0).map(InstrId) {
        let instruction = computation.instruction(id);
        let is_inside = inside.contains(&id);
        let leads_back = instruction.operands.iter().any(|operand| behind.contains(operand));
        if is_inside && leads_back {
            return Err(format!("what it takes depends on itself: {} needs what is left out", instruction.name));
        }
        let is_bound = |operand: &InstrId| inside.contains(operand) && !is_free.contains(operand);
        let needs = instruction.operands.iter().any(is_bound);
        if is_inside && is_copied(computation, id) && !needs {
            is_free.insert(id);
        } else if !is_inside && (leads_back || needs) {
            behind.insert(id);
        }
    }
    Ok(())
}

/// Whether an instruction of a kernel is computed again outside instead of being a result.
fn is_copied(computation: &Computation, id: InstrId) -> bool {
    let op = &computation.instruction(id).op;
    matches!(op, Op::Broadcast { .. } | Op::Iota { .. }) || is_scalar_constant(op)
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

/// The computation with each fusion where the last of its members stood. What one takes stands before all of what the next
/// takes. The computations that they call are numbered from `first_new` on.
fn with_fusions(old: &Computation, taken: &[Taken], first_new: u32) -> Computation {
    let copied = copied(old, taken);
    let mut rebuild = Rebuild::new(old);
    let mut made = vec![false; old.instructions.len()];
    let mut waiting: Vec<InstrId> = Vec::new();
    let mut regions = taken.iter().map(|taken| &taken.region).zip(first_new..).peekable();
    for id in old.ids() {
        if copied[id.index()] {
            let ready = old.instruction(id).operands.iter().all(|operand| made[operand.index()]);
            match ready {
                true => copy(&mut rebuild, old, id, &mut made),
                false => waiting.push(id),
            }
        }
        if let Some((region, calls)) = regions.next_if(|(region, _)| region.members.last() == Some(&id)) {
            let call = region.call(&mut rebuild, old, ComputationId(calls));
            results(&mut rebuild, old, region, call);
            region.roots.iter().for_each(|root| made[root.index()] = true);
            for id in std::mem::take(&mut waiting) {
                copy(&mut rebuild, old, id, &mut made);
            }
        }
    }
    rebuild.finish()
}

/// What remains beside the fusions: what is outside, and what is inside but read outside without being a root.
fn copied(old: &Computation, taken: &[Taken]) -> Vec<bool> {
    let users = old.users();
    let members: HashSet<&InstrId> = taken.iter().flat_map(|taken| &taken.region.members).collect();
    let roots: HashSet<&InstrId> = taken.iter().flat_map(|taken| &taken.region.roots).collect();
    let repeated: HashSet<&InstrId> = taken.iter().flat_map(|taken| &taken.repeated).collect();
    let mut copied = vec![false; old.instructions.len()];
    for id in old.ids().rev() {
        let is_read = users[id.index()].iter().any(|user| copied[user.index()]);
        let remains = is_read || repeated.contains(&id);
        copied[id.index()] = !members.contains(&id) || remains && !roots.contains(&id);
    }
    copied
}

fn copy(rebuild: &mut Rebuild, old: &Computation, id: InstrId, made: &mut [bool]) {
    let new = rebuild.copy(old.instruction(id));
    rebuild.set(id, new);
    made[id.index()] = true;
}
