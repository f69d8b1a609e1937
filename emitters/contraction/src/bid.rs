//! Chooses the instructions that one kernel computes together with a dot or convolution.
//!
//! The prologue consists of cheap instructions that do not depend on the dot and whose results only
//! this kernel reads. The kernel recomputes the prologue for every tile that reads it. The epilogue
//! consists of elementwise instructions on the dot's result. All other operands of the epilogue
//! must be available before the kernel starts.

use fusebox_core::analysis::keeps_positions;
use fusebox_core::cost::{is_heavy, per_element};
use fusebox_core::emitter::{Candidate, Decline};
use fusebox_core::hlo::{Computation, InstrId, Op};

/// Largest cost of an operand that the kernel recomputes for every tile, in additions per element.
const CHEAP: f64 = 4.0;

/// Returns the instructions of the bid, in program order.
pub fn around(candidate: &Candidate) -> Result<Vec<InstrId>, Decline> {
    let computation = candidate.region.computation();
    let mut search = ProductSearch {
        computation,
        roots: &candidate.region.roots,
        users: computation.users(),
        is_member: vec![false; computation.instructions.len()],
        behind: vec![false; computation.instructions.len()],
    };
    search.is_member[candidate.anchor.index()] = true;
    search.epilogue(candidate.anchor);
    search.prologue();
    Ok(computation.ids().filter(|id| search.is_member[id.index()]).collect())
}

struct ProductSearch<'a> {
    computation: &'a Computation,
    /// Instructions that are also read outside the region.
    roots: &'a [InstrId],
    users: Vec<Vec<InstrId>>,
    is_member: Vec<bool>,
    /// Whether each instruction depends on the anchor.
    behind: Vec<bool>,
}

impl ProductSearch<'_> {
    /// Adds elementwise instructions on the dot's result to the bid. Adds an instruction only if
    /// all of the instruction's operands that depend on the dot are already in the bid.
    fn epilogue(&mut self, anchor: InstrId) {
        self.behind[anchor.index()] = true;
        for id in self.computation.ids().filter(|&id| id > anchor) {
            let instruction = self.computation.instruction(id);
            self.behind[id.index()] = instruction.operands.iter().any(|operand| self.behind[operand.index()]);
            let is_along = self.behind[id.index()]
                && !matches!(instruction.op, Op::Tuple)
                && (keeps_positions(self.computation, instruction) || self.turns_all(anchor, id))
                && instruction
                    .operands
                    .iter()
                    .all(|operand| !self.behind[operand.index()] || self.is_member[operand.index()]);
            self.is_member[id.index()] = is_along;
        }
    }

    /// Whether instruction `id` is a transpose of the dot and the dot's only user.
    fn turns_all(&self, anchor: InstrId, id: InstrId) -> bool {
        let instruction = self.computation.instruction(id);
        matches!(instruction.op, Op::Transpose { .. })
            && instruction.operands == [anchor]
            && self.users[anchor.index()] == [id]
            && !self.roots.contains(&anchor)
    }

    /// Adds cheap instructions to the bid if only the kernel reads them.
    fn prologue(&mut self) {
        for id in self.computation.ids().rev().filter(|id| !self.behind[id.index()]) {
            let instruction = self.computation.instruction(id);
            let users = &self.users[id.index()];
            let is_read = users.iter().any(|user| self.is_member[user.index()]);
            let is_shared = self.roots.contains(&id) || users.iter().any(|user| !self.is_member[user.index()]);
            let is_along = match &instruction.op {
                Op::Parameter { .. } | Op::Tuple => false,
                // The host computes these instructions again for their other users.
                op if op.is_generated() => true,
                _ => !is_shared && self.is_cheap(id),
            };
            self.is_member[id.index()] = is_read && is_along;
        }
    }

    fn is_cheap(&self, id: InstrId) -> bool {
        let instruction = self.computation.instruction(id);
        let is_known = instruction.op.is_movement() || instruction.op.is_elementwise() && !is_heavy(&instruction.op);
        // A transpose costs nothing, because packing reorders elements anyway.
        let is_transposed = matches!(instruction.op, Op::Transpose { .. });
        is_transposed || is_known && per_element(self.computation, instruction) <= CHEAP
    }
}
