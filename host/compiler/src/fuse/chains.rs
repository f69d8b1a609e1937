//! Chains of row reductions (softmax, layer norm, …) as one kernel, on devices whose blocks are one thread.
//!
//! Such a kernel walks over a row several times while the row is in a near cache, instead of over all rows several times.
//! What depends on a reduction row by row is a *member* ([`RowSpace::place`]); what can be computed again for each walk
//! comes along. Nothing that depends on a member otherwise may lead back into the chain.
//!
//! Decided before everything else: a chain is a fusion like those the text brings along.

use std::collections::HashSet;

use fusebox_core::analysis::{RowPlace, RowSpace, keeps_positions, row_space};
use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{Computation, ComputationId, InstrId, Instruction, Module, Op};

use super::cost::{is_heavy, per_element};
use super::decide::is_scalar_constant;
use super::executor::{Executor, executor};
use super::outline::insert;
use super::reads::first_array;
use super::region::Region;
use crate::rebuild::Rebuild;

/// Elements of a row below which walks over rows are too short to pay.
const SHORTEST_ROW: i64 = 8;
/// Elements of a row above which it no longer stays in a near cache.
const LONGEST_ROW: i64 = 64 << 10;
/// Rows per core that keep all cores busy.
const ROWS_PER_CORE: i64 = 4;
/// Elements in all below which one core is enough.
const SMALL: i64 = 64 << 10;
/// Most instructions of one kernel.
const MOST_INSTRUCTIONS: usize = 200;
/// Additions that may be repeated for an element whose array is smaller than the rows.
const CHEAP: f64 = 2.0;

/// Puts a fusion in the place of every chain of a computation.
pub fn fuse(module: &mut Module, id: ComputationId, device: &DeviceDescription) {
    if !device.is_single_threaded_block() {
        return;
    }
    let mut tried: HashSet<String> = HashSet::new();
    let mut id = id;
    while let Some(chain) = next_chain(module, id, device, &mut tried) {
        let old = module.computation(id).clone();
        let calls = ComputationId(module.computations.len() as u32);
        let new = with_fusion(&old, &chain, calls);
        insert(module, id, new, vec![chain.region.computation(&old)]);
        // The fused computation was put in front of this one.
        id = ComputationId(id.0 + 1);
    }
}

/// A chain that is worth a kernel.
struct Chain {
    region: Region,
    /// Members that are computed again outside for those who read them there.
    repeated: HashSet<InstrId>,
}

fn next_chain(
    module: &Module,
    id: ComputationId,
    device: &DeviceDescription,
    tried: &mut HashSet<String>,
) -> Option<Chain> {
    let computation = module.computation(id);
    computation.ids().find_map(|seed| {
        let instruction = computation.instruction(seed);
        let is_new = matches!(instruction.op, Op::Reduce { .. }) && tried.insert(instruction.name.clone());
        is_new.then(|| Search::from(module, computation, seed, device)?.chain()).flatten()
    })
}

/// What is known about a computation, seen from one reduction.
struct Search<'m> {
    module: &'m Module,
    computation: &'m Computation,
    users: Vec<Vec<InstrId>>,
    space: RowSpace,
    /// `Free` for what is no member.
    places: Vec<RowPlace>,
    /// Depends on a member and is none.
    behind: Vec<bool>,
    /// Free, and computed in the kernel.
    along: Vec<bool>,
}

impl<'m> Search<'m> {
    fn from(
        module: &'m Module,
        computation: &'m Computation,
        seed: InstrId,
        device: &DeviceDescription,
    ) -> Option<Search<'m>> {
        let space = row_space(module, computation, seed)?;
        let busy = i64::from(device.core_count) * ROWS_PER_CORE;
        let is_shared_out = space.rows >= busy || space.element_count() <= SMALL;
        if !(SHORTEST_ROW..=LONGEST_ROW).contains(&space.length) || !is_shared_out {
            return None;
        }
        let count = computation.instructions.len();
        let mut search = Search {
            module,
            computation,
            users: computation.users(),
            space,
            places: vec![RowPlace::Free; count],
            behind: vec![false; count],
            along: vec![false; count],
        };
        search.grow(seed);
        search.take_along();
        Some(search)
    }

    fn is_member(&self, id: InstrId) -> bool {
        self.places[id.index()] != RowPlace::Free
    }

    /// Finds the members, operands before users.
    fn grow(&mut self, seed: InstrId) {
        let mut members = 0;
        for id in self.computation.ids().skip(seed.index()) {
            let instruction = self.computation.instruction(id);
            let depends = instruction.operands.iter().any(|&operand| self.is_member(operand));
            if instruction.operands.iter().any(|operand| self.behind[operand.index()]) {
                self.behind[id.index()] = true;
                continue;
            }
            let is_reduce = matches!(instruction.op, Op::Reduce { .. });
            if !depends && id != seed && !(is_reduce && self.reads_with_members(id)) {
                continue;
            }
            let place = match is_computed(instruction) && members < MOST_INSTRUCTIONS {
                true => self.space.place(self.module, self.computation, id, &|operand| self.places[operand.index()]),
                false => RowPlace::Elsewhere,
            };
            match place {
                RowPlace::Row | RowPlace::Element => {
                    self.places[id.index()] = place;
                    members += 1;
                }
                _ => self.behind[id.index()] = depends,
            }
        }
    }

    /// Whether a reduction of the same rows reads an array that a member reads.
    fn reads_with_members(&self, reduce: InstrId) -> bool {
        if row_space(self.module, self.computation, reduce) != Some(self.space) {
            return false;
        }
        let mut pending = self.computation.instruction(reduce).operands.clone();
        let mut seen = HashSet::new();
        while let Some(id) = pending.pop() {
            let instruction = self.computation.instruction(id);
            if elements(instruction) != self.space.element_count() || !seen.insert(id) {
                continue;
            }
            if self.users[id.index()].iter().any(|&user| self.is_member(user)) {
                return true;
            }
            if keeps_positions(self.computation, instruction) {
                pending.extend(&instruction.operands);
            }
        }
        false
    }

    /// Finds what is computed in the kernel besides members, users before operands.
    fn take_along(&mut self) {
        for id in self.computation.ids().rev() {
            let instruction = self.computation.instruction(id);
            if self.is_member(id) || !is_computed(instruction) {
                continue;
            }
            let is_inside = |user: &InstrId| self.is_member(*user) || self.along[user.index()];
            let mut users = self.users[id.index()].iter();
            let is_constant = is_scalar_constant(&instruction.op);
            let is_free = is_constant || matches!(instruction.op, Op::Broadcast { .. } | Op::Iota { .. });
            self.along[id.index()] = match is_free {
                true => users.any(is_inside),
                false => !users.as_slice().is_empty() && users.all(is_inside) && self.is_cheap(instruction),
            };
        }
    }

    fn is_cheap(&self, instruction: &Instruction) -> bool {
        let has_elements = elements(instruction) == self.space.element_count();
        // A part of a tuple that something else made comes into the kernel as an array.
        !matches!(instruction.op, Op::GetTupleElement { .. })
            && keeps_positions(self.computation, instruction)
            && !is_heavy(&instruction.op)
            && (has_elements || per_element(self.computation, instruction) <= CHEAP)
    }

    /// The chain, if a result of a reduction goes back into its row.
    fn chain(&self) -> Option<Chain> {
        let ids = || self.computation.ids();
        let goes_back = |id: InstrId| {
            let instruction = self.computation.instruction(id);
            let from = instruction.operands.first().map(|operand| self.places[operand.index()]);
            self.places[id.index()] == RowPlace::Element && from == Some(RowPlace::Row)
        };
        if !ids().any(goes_back) {
            return None;
        }
        let mut wanted = vec![false; self.computation.instructions.len()];
        let mut repeated = HashSet::new();
        for id in ids().rev().filter(|&id| self.is_member(id)) {
            let is_read =
                |user: &InstrId| !self.is_member(*user) && !self.along[user.index()] || repeated.contains(user);
            wanted[id.index()] = id == self.computation.root || self.users[id.index()].iter().any(is_read);
            let is_copy = matches!(self.computation.instruction(id).op, Op::Broadcast { .. });
            if wanted[id.index()] && is_copy && id != self.computation.root {
                wanted[id.index()] = false;
                repeated.insert(id);
            }
        }
        let roots: Vec<InstrId> = ids().filter(|id| wanted[id.index()]).collect();
        if roots.is_empty() {
            return None;
        }
        let members = self.needed_by(&roots);
        let region = Region::of_members(self.computation, roots, members);
        Some(Chain { region, repeated })
    }

    /// What is computed for the roots.
    fn needed_by(&self, roots: &[InstrId]) -> Vec<InstrId> {
        let mut needed = HashSet::new();
        let mut pending = roots.to_vec();
        while let Some(id) = pending.pop() {
            if (self.is_member(id) || self.along[id.index()]) && needed.insert(id) {
                pending.extend(&self.computation.instruction(id).operands);
            }
        }
        let mut needed: Vec<InstrId> = needed.into_iter().collect();
        needed.sort_unstable();
        needed
    }
}

/// The computation with the fusion where the last of its members stood.
fn with_fusion(old: &Computation, chain: &Chain, calls: ComputationId) -> Computation {
    let region = &chain.region;
    let inside: HashSet<InstrId> = region.members.iter().copied().collect();
    let copied = copied(old, chain, &inside);
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
            super::outline::results(&mut rebuild, old, region, call);
            region.roots.iter().for_each(|root| made[root.index()] = true);
            for id in std::mem::take(&mut waiting) {
                copy(&mut rebuild, old, id, &mut made);
            }
        }
    }
    rebuild.finish()
}

/// What remains beside the fusion: what is outside, and what is inside but read outside without being a root.
fn copied(old: &Computation, chain: &Chain, inside: &HashSet<InstrId>) -> Vec<bool> {
    let users = old.users();
    let mut copied = vec![false; old.instructions.len()];
    for id in old.ids().rev() {
        let is_read = users[id.index()].iter().any(|user| copied[user.index()]);
        copied[id.index()] = match inside.contains(&id) {
            true => (is_read || chain.repeated.contains(&id)) && !chain.region.roots.contains(&id),
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

/// Whether a kernel can compute the instruction, or it only names a part of a kernel's result.
fn is_computed(instruction: &Instruction) -> bool {
    let is_ordered = instruction.extra.as_ref().is_some_and(|extra| !extra.control_predecessors.is_empty());
    let is_kernel = executor(instruction) == Executor::Kernel && !matches!(instruction.op, Op::Fusion { .. });
    let is_part = matches!(instruction.op, Op::GetTupleElement { .. }) || is_scalar_constant(&instruction.op);
    !is_ordered && (is_kernel || is_part)
}

fn elements(instruction: &Instruction) -> i64 {
    first_array(instruction).map_or(0, |array| array.element_count())
}
