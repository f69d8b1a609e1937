//! The region around an anchor that is offered to emitters.

use std::collections::VecDeque;

use fusebox_core::emitter::{Candidate, Fusion};
use fusebox_core::hlo::{Computation, ComputationId, InstrId, Module, Op, canonical_text};
use fusebox_edit::with_callees;

use super::decide::is_scalar_constant;
use super::executor::{Executor, executor};
use super::region::Region;
use super::step_graph::StepGraph;

/// Largest number of instructions of a region. A region contains the instructions nearest to the
/// anchor.
const MOST_INSTRUCTIONS: usize = 256;
/// Name of the region's computation.
const NAME: &str = "region";

/// A computation that thunks execute, in its state during the decisions about bids. Each fused
/// region becomes a single step.
pub struct Sequence<'m> {
    pub module: &'m Module,
    pub computation: &'m Computation,
    pub graph: StepGraph,
    /// For each instruction, whether a kernel can compute it and no fused region contains it.
    pub computable: Vec<bool>,
}

/// The instructions that a search has visited. Each of the many short searches marks instructions
/// with its own number, so that no search has to clear earlier marks.
#[derive(Default)]
pub struct VisitedInstructions {
    /// Number of the last search that visited each instruction.
    last: Vec<u32>,
    search: u32,
}

impl VisitedInstructions {
    fn begin(&mut self, instructions: usize) {
        self.search += 1;
        self.last.resize(instructions.max(self.last.len()), 0);
    }

    /// Marks an instruction as visited, and returns whether this is its first visit in this search.
    fn insert(&mut self, id: InstrId) -> bool {
        std::mem::replace(&mut self.last[id.index()], self.search) != self.search
    }
}

impl<'m> Sequence<'m> {
    /// Creates the sequence of a computation of the module.
    pub fn of(module: &'m Module, id: ComputationId) -> Sequence<'m> {
        let computation = module.computation(id);
        let computable = computation.ids().map(|id| is_computable(computation, id)).collect();
        Sequence { module, computation, graph: StepGraph::of_instructions(computation), computable }
    }

    /// Whether an instruction is the root, or has a reader for which `is_inside` is false.
    pub fn is_read_outside(&self, id: InstrId, is_inside: impl Fn(InstrId) -> bool) -> bool {
        let readers = self.graph.readers(id);
        id == self.computation.root || readers.iter().any(|&reader| !is_inside(InstrId(reader as u32)))
    }

    /// Returns the computable instructions nearest to the anchor, in program order. The search
    /// follows operands and users.
    pub fn nearest(&self, anchor: InstrId, visited: &mut VisitedInstructions) -> Vec<InstrId> {
        visited.begin(self.computation.instructions.len());
        let mut found = Vec::new();
        let mut pending = VecDeque::from([anchor]);
        while let Some(id) = pending.pop_front() {
            if found.len() == MOST_INSTRUCTIONS {
                break;
            }
            if !self.computable[id.index()] || !visited.insert(id) {
                continue;
            }
            found.push(id);
            pending.extend(&self.computation.instruction(id).operands);
            // Does not search the users of a constant, because these users need not be related to
            // the anchor.
            if is_for_anybody(self.computation, id) {
                continue;
            }
            pending.extend(self.graph.readers(id).iter().map(|&reader| InstrId(reader as u32)));
        }
        found.sort_unstable();
        found
    }
}

/// A candidate, with a mapping from the candidate's instructions to the computation's instructions.
pub struct Offer {
    /// The candidate, as emitters receive it.
    pub candidate: Candidate,
    /// A text that is equal for equal offers, regardless of names.
    pub form: String,
    /// Number of the region's parameters. In the region, the parameters precede all other
    /// instructions.
    parameters: usize,
    members: Vec<InstrId>,
}

impl Offer {
    /// Builds an offer from the [nearest](Sequence::nearest) instructions around an anchor. `None`
    /// if no kernel can compute the anchor, or if an input of the region is not an array.
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

    /// Returns the computation's instruction for an instruction of the region. `None` for
    /// parameters and the tuple of results.
    pub fn origin(&self, id: InstrId) -> Option<InstrId> {
        self.members.get(id.index().checked_sub(self.parameters)?).copied()
    }
}

/// Whether any kernel can duplicate the instruction without computing operands for it. Every kernel
/// can duplicate constants, iotas, and broadcasts of constants, of iotas or of values in buffers.
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

/// Whether a kernel can compute the instruction, or it is a tuple element of an instruction that a
/// kernel can compute.
fn is_computable(computation: &Computation, id: InstrId) -> bool {
    let instruction = computation.instruction(id);
    let is_ordered = instruction.extra.as_ref().is_some_and(|extra| !extra.control_predecessors.is_empty());
    let is_kernel = executor(instruction) == Executor::Kernel && !matches!(instruction.op, Op::Fusion { .. });
    let is_part = matches!(instruction.op, Op::GetTupleElement { .. })
        && instruction.operands.iter().all(|&operand| is_computable(computation, operand));
    !is_ordered && (is_kernel || is_part || is_scalar_constant(&instruction.op))
}
