//! Finds the instructions of a chain, if a kernel for the chain pays. A chain consists of
//! operations around a row reduction, for example a softmax or a layer norm.
//!
//! The kernel of a chain visits a row several times while the row is in a near cache. Without the
//! chain, several separate kernels would each visit all rows. An instruction is a *member* of the
//! chain if it depends on a reduction of the chain row by row: each row of the instruction needs
//! only the same row of the reduction ([`RowSpace::place`]). The kernel also rematerialises cheap
//! operands of members. If an instruction depends on a member but is not a member itself, no member
//! may depend on this instruction.

use std::collections::HashSet;

use fusebox_core::analysis::{RowPlace, RowSpace, keeps_positions, row_space};
use fusebox_core::cost::{first_array, is_heavy, per_element, steps};
use fusebox_core::emitter::{Bid, Candidate};
use fusebox_core::hlo::{Computation, InstrId, Instruction, Module, Op};

use super::limits::RowLimits;

/// Maximum number of members of one kernel.
const MOST_INSTRUCTIONS: usize = 200;
/// Largest number of elements that a reduction may read if the kernel of its consumer also computes
/// the reduction. Larger reductions have separate kernels.
const SMALL: f64 = 4096.0;
/// Largest cost of an instruction that the kernel rematerialises, in additions per element. The
/// limit applies only to an instruction that has fewer elements than all rows together.
const CHEAP: f64 = 2.0;

/// Returns the rows that a candidate's anchor reduces.
pub fn rows_of(candidate: &Candidate) -> Option<RowSpace> {
    row_space(&candidate.region.module, candidate.region.computation(), candidate.anchor)
}

/// Returns the bid for a chain around a reduction.
pub fn bid(candidate: &Candidate, limits: &RowLimits) -> Bid {
    let region = &candidate.region;
    let (module, computation) = (&region.module, region.computation());
    let Some(space) = rows_of(candidate) else {
        return Bid::decline("the reduction does not reduce contiguous rows");
    };
    if let Some(reason) = limits.refusal(space) {
        return Bid::decline(reason);
    }
    let count = computation.instructions.len();
    let mut search = ChainSearch {
        module,
        computation,
        read_elsewhere: &region.roots,
        users: computation.users(),
        space,
        places: vec![RowPlace::Free; count],
        behind: vec![false; count],
        along: vec![false; count],
    };
    search.grow(candidate.anchor);
    search.take_along();
    let Some(instructions) = search.chain() else {
        return Bid::decline("no operation on the rows reads the result of their reduction");
    };
    let others = search.other_reductions(&instructions);
    if others > search.phases(&instructions) {
        return Bid::decline(format!(
            "its rows also need {others} other small reductions, which one kernel can compute together with this one"
        ));
    }
    Bid::Take { instructions }
}

/// Classification of a region's instructions, relative to one reduction.
struct ChainSearch<'m> {
    module: &'m Module,
    computation: &'m Computation,
    read_elsewhere: &'m [InstrId],
    users: Vec<Vec<InstrId>>,
    space: RowSpace,
    /// Place of each instruction relative to the rows: `Free` if the instruction is not a member.
    places: Vec<RowPlace>,
    /// Whether an instruction depends on a member but is not a member.
    behind: Vec<bool>,
    /// Whether the kernel computes an instruction although it is not a member.
    along: Vec<bool>,
}

impl ChainSearch<'_> {
    fn is_member(&self, id: InstrId) -> bool {
        self.places[id.index()] != RowPlace::Free
    }

    /// Finds the members. Visits operands before users.
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
            let place = if is_computed(instruction) && members < MOST_INSTRUCTIONS {
                self.space.place(self.module, self.computation, id, &|operand| self.places[operand.index()])
            } else {
                RowPlace::Elsewhere
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

    /// Whether `reduce` reduces the rows of this chain, and reads an array that a member of the
    /// chain also reads.
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

    /// Finds the instructions that the kernel computes although they are not members. Visits users
    /// before operands.
    fn take_along(&mut self) {
        for id in self.computation.ids().rev() {
            let instruction = self.computation.instruction(id);
            if self.is_member(id) || !is_computed(instruction) {
                continue;
            }
            let is_inside = |user: &InstrId| self.is_member(*user) || self.along[user.index()];
            let mut users = self.users[id.index()].iter().filter(|user| !is_result(self.computation, **user));
            self.along[id.index()] = if instruction.op.is_generated() {
                users.any(is_inside)
            } else {
                !self.read_elsewhere.contains(&id)
                    && users.clone().next().is_some()
                    && users.all(is_inside)
                    && self.is_cheap(instruction)
            };
        }
    }

    fn is_cheap(&self, instruction: &Instruction) -> bool {
        let has_elements = elements(instruction) == self.space.element_count();
        // Code outside of the kernel extracts a tuple element, and passes it to the kernel as an
        // array.
        !matches!(instruction.op, Op::GetTupleElement { .. })
            && keeps_positions(self.computation, instruction)
            && !is_heavy(&instruction.op)
            && (has_elements || per_element(self.computation, instruction) <= CHEAP)
    }

    /// Returns the instructions of the chain. Returns `None` if no member with one element per
    /// element of the rows depends on the result of a reduction.
    fn chain(&self) -> Option<Vec<InstrId>> {
        let goes_back = |id: InstrId| {
            let instruction = self.computation.instruction(id);
            let from = instruction.operands.first().map(|operand| self.places[operand.index()]);
            self.places[id.index()] == RowPlace::Element && from == Some(RowPlace::Row)
        };
        if !self.computation.ids().any(goes_back) {
            return None;
        }
        let mut needed = HashSet::new();
        let mut pending = self.results();
        while let Some(id) = pending.pop() {
            if (self.is_member(id) || self.along[id.index()]) && needed.insert(id) {
                pending.extend(&self.computation.instruction(id).operands);
            }
        }
        let mut needed: Vec<InstrId> = needed.into_iter().collect();
        needed.sort_unstable();
        (!needed.is_empty()).then_some(needed)
    }

    /// Returns the length of the longest sequence of dependent reductions in a chain.
    fn phases(&self, chain: &[InstrId]) -> usize {
        let mut phases = vec![0; self.computation.instructions.len()];
        for &id in chain {
            let instruction = self.computation.instruction(id);
            let before = instruction.operands.iter().map(|operand| phases[operand.index()]).max().unwrap_or(0);
            let is_phase = matches!(instruction.op, Op::Reduce { .. }) && self.is_member(id);
            phases[id.index()] = before + usize::from(is_phase);
        }
        phases.into_iter().max().unwrap_or(0)
    }

    /// Counts the small reductions that are outside a chain, and whose results are combined with
    /// the chain's row values. Without the chain, one kernel computes the small reductions, the
    /// chain's first phase and the combination. With the chain, each of the small reductions needs
    /// a separate kernel.
    fn other_reductions(&self, chain: &[InstrId]) -> usize {
        let of_rows = chain.iter().filter(|id| self.places[id.index()] == RowPlace::Row);
        let mut pending: Vec<InstrId> =
            of_rows.flat_map(|id| self.computation.instruction(*id).operands.iter().copied()).collect();
        let mut seen = HashSet::new();
        let mut found = 0;
        while let Some(id) = pending.pop() {
            let instruction = self.computation.instruction(id);
            if self.is_member(id) || elements(instruction) != self.space.rows || !seen.insert(id) {
                continue;
            }
            match instruction.op {
                Op::Reduce { .. } if self.is_small(instruction) => found += 1,
                _ if keeps_positions(self.computation, instruction) => pending.extend(&instruction.operands),
                _ => {}
            }
        }
        found
    }

    fn is_small(&self, reduce: &Instruction) -> bool {
        elements(reduce) as f64 * steps(self.computation, reduce) <= SMALL
    }

    /// Returns the members that instructions outside the chain read. Instructions outside the chain
    /// recompute a broadcast, so this function returns the operand of the broadcast instead of the
    /// broadcast.
    fn results(&self) -> Vec<InstrId> {
        let mut copied = HashSet::new();
        let mut results = Vec::new();
        for id in self.computation.ids().rev().filter(|&id| self.is_member(id)) {
            let is_outside = |user: &InstrId| {
                !is_result(self.computation, *user) && !self.is_member(*user) && !self.along[user.index()]
                    || copied.contains(user)
            };
            let is_read = self.read_elsewhere.contains(&id) || self.users[id.index()].iter().any(is_outside);
            match self.computation.instruction(id).op {
                Op::Broadcast { .. } if is_read => {
                    copied.insert(id);
                }
                _ if is_read => results.push(id),
                _ => {}
            }
        }
        results
    }
}

/// Whether an instruction is the tuple of a region's results.
fn is_result(computation: &Computation, id: InstrId) -> bool {
    id == computation.root && matches!(computation.instruction(id).op, Op::Tuple)
}

fn is_computed(instruction: &Instruction) -> bool {
    !matches!(instruction.op, Op::Parameter { .. } | Op::Tuple)
}

fn elements(instruction: &Instruction) -> i64 {
    first_array(instruction).map_or(0, |array| array.element_count())
}
