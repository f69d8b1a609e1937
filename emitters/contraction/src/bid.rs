//! Which instructions around a dot one kernel computes.
//!
//! In front of it, what is cheap and read by nobody else: it is computed again for every tile that reads it. Behind it, what
//! works element by element, as long as all that it reads is there before the kernel starts.

use fusebox_core::analysis::keeps_positions;
use fusebox_core::cost::{is_heavy, per_element};
use fusebox_core::emitter::{Candidate, Decline};
use fusebox_core::hlo::{Computation, InstrId, Op};

/// Additions per element up to which an operand is computed again for every tile that reads it.
const CHEAP: f64 = 4.0;

/// The instructions, in order.
pub fn around(candidate: &Candidate) -> Result<Vec<InstrId>, Decline> {
    let computation = candidate.region.computation();
    let mut search = Search {
        computation,
        roots: &candidate.region.roots,
        users: computation.users(),
        taken: vec![false; computation.instructions.len()],
        behind: vec![false; computation.instructions.len()],
    };
    search.taken[candidate.anchor.index()] = true;
    search.epilogue(candidate.anchor);
    search.prologue();
    Ok(computation.ids().filter(|id| search.taken[id.index()]).collect())
}

struct Search<'a> {
    computation: &'a Computation,
    /// What is read outside of the region too.
    roots: &'a [InstrId],
    users: Vec<Vec<InstrId>>,
    taken: Vec<bool>,
    /// Depends on the anchor.
    behind: Vec<bool>,
}

impl Search<'_> {
    /// Takes what works element by element on the dot's result and on nothing else that depends on it.
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
                    .all(|operand| !self.behind[operand.index()] || self.taken[operand.index()]);
            self.taken[id.index()] = is_along;
        }
    }

    /// Whether this is a transpose of the dot, which nobody else reads.
    fn turns_all(&self, anchor: InstrId, id: InstrId) -> bool {
        let instruction = self.computation.instruction(id);
        matches!(instruction.op, Op::Transpose { .. })
            && instruction.operands == [anchor]
            && self.users[anchor.index()] == [id]
            && !self.roots.contains(&anchor)
    }

    /// Takes what only the kernel reads.
    fn prologue(&mut self) {
        for id in self.computation.ids().rev().filter(|id| !self.behind[id.index()]) {
            let instruction = self.computation.instruction(id);
            let users = &self.users[id.index()];
            let is_read = users.iter().any(|user| self.taken[user.index()]);
            let is_shared = self.roots.contains(&id) || users.iter().any(|user| !self.taken[user.index()]);
            let is_along = match instruction.op {
                Op::Parameter { .. } | Op::Tuple => false,
                // The host computes these again for others who read them.
                Op::Constant(_) | Op::Iota { .. } | Op::Broadcast { .. } => true,
                _ => !is_shared && self.is_cheap(id),
            };
            self.taken[id.index()] = is_read && is_along;
        }
    }

    fn is_cheap(&self, id: InstrId) -> bool {
        let instruction = self.computation.instruction(id);
        let is_known = instruction.op.is_movement() || instruction.op.is_elementwise() && !is_heavy(&instruction.op);
        // What is packed is turned anyway.
        let is_turned = matches!(instruction.op, Op::Transpose { .. });
        is_turned || is_known && per_element(self.computation, instruction) <= CHEAP
    }
}
