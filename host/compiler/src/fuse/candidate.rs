//! The part of a computation around an instruction, as emitters are offered it.

use std::collections::{HashSet, VecDeque};

use fusebox_core::emitter::{Candidate, Fusion};
use fusebox_core::hlo::{Computation, ComputationId, InstrId, Module, Op, canonical_text};

use super::decide::is_scalar_constant;
use super::executor::{Executor, executor};
use super::region::Region;
use crate::host_module::with_callees;

/// Instructions of a region: the nearest ones.
const MOST_INSTRUCTIONS: usize = 256;
/// Name of a region, as emitters see it.
const NAME: &str = "region";

/// A computation that thunks execute, in which fusions are sought.
pub struct Sequence<'m> {
    pub module: &'m Module,
    pub computation: &'m Computation,
    /// Per instruction, who reads it.
    pub users: Vec<Vec<InstrId>>,
}

impl<'m> Sequence<'m> {
    /// A computation of the module.
    pub fn of(module: &'m Module, id: ComputationId) -> Sequence<'m> {
        let computation = module.computation(id);
        Sequence { module, computation, users: computation.users() }
    }

    /// Instructions that can be computed, by their distance from the anchor along operands and users, in order; `None` if one of
    /// them, other than what every kernel computes for itself, does not come after `taken`.
    pub fn nearest(&self, anchor: InstrId, taken: Option<InstrId>) -> Option<Vec<InstrId>> {
        let mut found = HashSet::new();
        let mut pending = VecDeque::from([anchor]);
        while let Some(id) = pending.pop_front() {
            if found.len() == MOST_INSTRUCTIONS {
                break;
            }
            if !is_computable(self.computation, id) || !found.insert(id) {
                continue;
            }
            pending.extend(&self.computation.instruction(id).operands);
            // What uses the same constant may be anywhere, and have nothing to do with the anchor.
            if is_for_anybody(self.computation, id) {
                continue;
            }
            if Some(id) <= taken {
                return None;
            }
            pending.extend(&self.users[id.index()]);
        }
        let mut found: Vec<InstrId> = found.into_iter().collect();
        found.sort_unstable();
        Some(found)
    }
}

/// A candidate and what its instructions are in the computation.
pub struct Offer {
    /// What emitters see.
    pub candidate: Candidate,
    /// A text that is equal exactly where the same is offered, names aside.
    pub form: String,
    /// In the region, parameters stand before the members.
    parameters: usize,
    members: Vec<InstrId>,
}

impl Offer {
    /// The region around an anchor, of the instructions that are [nearest](Sequence::nearest); `None` if no kernel can compute the anchor, or a
    /// value it needs is no array.
    pub fn around(sequence: &Sequence, anchor: InstrId, members: Vec<InstrId>) -> Option<Offer> {
        let Sequence { module, computation, users } = sequence;
        let position = members.binary_search(&anchor).ok()?;
        let is_read = |&id: &InstrId| {
            id == computation.root || users[id.index()].iter().any(|user| members.binary_search(user).is_err())
        };
        let results: Vec<InstrId> = members.iter().copied().filter(is_read).collect();
        if results.is_empty() {
            return None;
        }
        let region = Region::of_members(computation, results, members);
        let parameters = region.operands().count();
        if region.operands().any(|operand| computation.instruction(operand).shape.as_array().is_none()) {
            return None;
        }
        let mut alone = region.computation(computation);
        alone.name = NAME.into();
        let fusion = Fusion::new(NAME, with_callees(module, alone, NAME))?;
        let anchor = InstrId((parameters + position) as u32);
        let form = format!("{}{anchor:?}", canonical_text(&fusion.module));
        Some(Offer { candidate: Candidate { region: fusion, anchor }, form, parameters, members: region.members })
    }

    /// The instruction of the computation that an instruction of the region is; `None` for parameters and the tuple of
    /// results.
    pub fn origin(&self, id: InstrId) -> Option<InstrId> {
        self.members.get(id.index().checked_sub(self.parameters)?).copied()
    }
}

/// Whether every kernel that reads it computes it for itself, of nothing else that it computes: constants, and copies of what is
/// there.
fn is_for_anybody(computation: &Computation, id: InstrId) -> bool {
    let instruction = computation.instruction(id);
    match &instruction.op {
        Op::Iota { .. } => true,
        Op::Broadcast { .. } => {
            let source = instruction.operands[0];
            is_for_anybody(computation, source) || !is_computable(computation, source)
        }
        op => is_scalar_constant(op),
    }
}

/// Whether a kernel can compute the instruction, or it only names a part of what a kernel computes.
fn is_computable(computation: &Computation, id: InstrId) -> bool {
    let instruction = computation.instruction(id);
    let is_ordered = instruction.extra.as_ref().is_some_and(|extra| !extra.control_predecessors.is_empty());
    let is_kernel = executor(instruction) == Executor::Kernel && !matches!(instruction.op, Op::Fusion { .. });
    let is_part = matches!(instruction.op, Op::GetTupleElement { .. })
        && instruction.operands.iter().all(|&operand| is_computable(computation, operand));
    !is_ordered && (is_kernel || is_part || is_scalar_constant(&instruction.op))
}
