//! What a bid takes of a computation, and the fusion that it becomes.

use std::collections::HashSet;

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Module, Op};

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

impl Taken {
    /// Puts the fusion in its place. The fused computation is put in front of the one it was taken from.
    pub fn fuse(&self, module: &mut Module, id: ComputationId) {
        let old = module.computation(id).clone();
        let calls = ComputationId(module.computations.len() as u32);
        insert(module, id, with_fusion(&old, self, calls), vec![self.region.computation(&old)]);
    }
}

/// The fusion that a bid becomes, if nothing leads out of it and back in.
pub fn taken(computation: &Computation, members: Vec<InstrId>) -> Result<Taken, String> {
    let inside: HashSet<InstrId> = members.iter().copied().collect();
    check_convex(computation, &inside)?;
    let users = computation.users();
    let (mut roots, mut repeated) = (Vec::new(), HashSet::new());
    for id in computation.ids().rev().filter(|id| inside.contains(id)) {
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

/// Nothing leads out of a kernel and back in.
fn check_convex(computation: &Computation, inside: &HashSet<InstrId>) -> Result<(), String> {
    let count = computation.instructions.len();
    // Outside, what needs the kernel's results; inside, what can be had elsewhere without them.
    let (mut behind, mut is_free) = (vec![false; count], vec![false; count]);
    for id in computation.ids() {
        let instruction = computation.instruction(id);
        let is_inside = inside.contains(&id);
        let leads_back = instruction.operands.iter().any(|operand| behind[operand.index()]);
        if is_inside && leads_back {
            return Err(format!("what it takes depends on itself: {} needs what is left out", instruction.name));
        }
        let is_bound = |operand: &InstrId| inside.contains(operand) && !is_free[operand.index()];
        let needs = instruction.operands.iter().any(is_bound);
        is_free[id.index()] = is_inside && is_copied(computation, id) && !needs;
        behind[id.index()] = !is_inside && (leads_back || needs);
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

/// The computation with the fusion where the last of its members stood.
fn with_fusion(old: &Computation, taken: &Taken, calls: ComputationId) -> Computation {
    let region = &taken.region;
    let inside: HashSet<InstrId> = region.members.iter().copied().collect();
    let copied = copied(old, taken, &inside);
    let mut rebuild = Rebuild::new(old);
    let mut made = vec![false; old.instructions.len()];
    let mut waiting: Vec<InstrId> = Vec::new();
    let last = region.members.last().copied();
    for id in old.ids() {
        if copied[id.index()] {
            let ready = old.instruction(id).operands.iter().all(|operand| made[operand.index()]);
            match ready {
                true => copy(&mut rebuild, old, id, &mut made),
                false => waiting.push(id),
            }
        }
        if Some(id) == last {
            let call = region.call(&mut rebuild, old, calls);
            results(&mut rebuild, old, region, call);
            region.roots.iter().for_each(|root| made[root.index()] = true);
            for id in std::mem::take(&mut waiting) {
                copy(&mut rebuild, old, id, &mut made);
            }
        }
    }
    rebuild.finish()
}

/// What remains beside the fusion: what is outside, and what is inside but read outside without being a root.
fn copied(old: &Computation, taken: &Taken, inside: &HashSet<InstrId>) -> Vec<bool> {
    let users = old.users();
    let mut copied = vec![false; old.instructions.len()];
    for id in old.ids().rev() {
        let is_read = users[id.index()].iter().any(|user| copied[user.index()]);
        copied[id.index()] = match inside.contains(&id) {
            true => (is_read || taken.repeated.contains(&id)) && !taken.region.roots.contains(&id),
            false => true,
        };
    }
    copied
}

fn copy(rebuild: &mut Rebuild, old: &Computation, id: InstrId, made: &mut [bool]) {
    let new = rebuild.copy(old.instruction(id));
    rebuild.set(id, new);
    made[id.index()] = true;
}
