//! The part of a computation around an instruction, as emitters are offered it.

use std::collections::VecDeque;

use fusebox_core::emitter::{Candidate, Fusion};
use fusebox_core::hlo::{Computation, ComputationId, InstrId, Module, Op, canonical_text};

use super::decide::is_scalar_constant;
use super::executor::{Executor, executor};
use super::order::Graph;
use super::region::Region;
use crate::host_module::with_callees;

/// Instructions of a region: the nearest ones.
const MOST_INSTRUCTIONS: usize = 256;
/// Name of a region, as emitters see it.
const NAME: &str = "region";

/// A computation that thunks execute, in which fusions are sought. What is taken for one is a single step from then on.
pub struct Sequence<'m> {
    pub module: &'m Module,
    pub computation: &'m Computation,
    pub graph: Graph,
    /// Per instruction, whether a kernel can compute it that is not decided on yet.
    pub computable: Vec<bool>,
}

/// Which instructions were seen in a search. Searches are many and short, so that none clears them all.
#[derive(Default)]
pub struct Seen {
    /// Per instruction, the last search that saw it.
    last: Vec<u32>,
    search: u32,
}

impl Seen {
    fn begin(&mut self, instructions: usize) {
        self.search += 1;
        self.last.resize(instructions.max(self.last.len()), 0);
    }

    /// Whether this search sees it for the first time.
    fn insert(&mut self, id: InstrId) -> bool {
        std::mem::replace(&mut self.last[id.index()], self.search) != self.search
    }
}

impl<'m> Sequence<'m> {
    /// A computation of the module.
    pub fn of(module: &'m Module, id: ComputationId) -> Sequence<'m> {
        let computation = module.computation(id);
        let computable = computation.ids().map(|id| is_computable(computation, id)).collect();
        Sequence { module, computation, graph: Graph::of_instructions(computation), computable }
    }

    /// Whether somebody reads an instruction other than those for which `is_inside` holds.
    pub fn is_read_outside(&self, id: InstrId, is_inside: impl Fn(InstrId) -> bool) -> bool {
        let readers = self.graph.readers(id);
        id == self.computation.root || readers.iter().any(|&reader| !is_inside(InstrId(reader as u32)))
    }

    /// Instructions that can be computed, by their distance from the anchor along operands and users, in order.
    pub fn nearest(&self, anchor: InstrId, seen: &mut Seen) -> Vec<InstrId> {
        seen.begin(self.computation.instructions.len());
        let mut found = Vec::new();
        let mut pending = VecDeque::from([anchor]);
        while let Some(id) = pending.pop_front() {
            if found.len() == MOST_INSTRUCTIONS {
                break;
            }
            if !self.computable[id.index()] || !seen.insert(id) {
                continue;
            }
            found.push(id);
            pending.extend(&self.computation.instruction(id).operands);
            // What uses the same constant may be anywhere, and have nothing to do with the anchor.
            if is_for_anybody(self.computation, id) {
                continue;
            }
            pending.extend(self.graph.readers(id).iter().map(|&reader| InstrId(reader as u32)));
        }
        found.sort_unstable();
        found
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
        let Sequence { module, computation, .. } = sequence;
        let position = members.binary_search(&anchor).ok()?;
        let is_read = |&id: &InstrId| sequence.is_read_outside(id, |user| members.binary_search(&user).is_ok());
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
