//! What can be known about computations before they run: what is needed, and until when.

use std::collections::HashSet;

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Module, Op, Opcode};

use crate::error::{Fault, InstructionError};

/// Which instructions of a computation to evaluate, and when their values may be given away. Giving
/// away lets a loop update its arrays in place.
pub(crate) struct Plan {
    /// Whether the value is used, or the instruction must not be dropped.
    pub live: Vec<bool>,
    /// The last user; `None` for the result.
    pub last_use: Vec<Option<InstrId>>,
    /// For a get-tuple-element: nobody reads that element of the tuple afterwards.
    pub takes_element: Vec<bool>,
}

impl Plan {
    pub fn new(computation: &Computation) -> Self {
        let live = live(computation);
        let mut last_use = vec![None; live.len()];
        for id in computation.ids().filter(|id| live[id.index()]) {
            for operand in &computation.instruction(id).operands {
                last_use[operand.index()] = Some(id);
            }
        }
        last_use[computation.root.index()] = None;
        let takes_element = takes_element(computation, &live);
        Plan { live, last_use, takes_element }
    }
}

fn live(computation: &Computation) -> Vec<bool> {
    let mut live: Vec<bool> = computation.instructions.iter().map(|i| has_side_effect(&i.op)).collect();
    live[computation.root.index()] = true;
    for id in computation.ids().rev() {
        if live[id.index()] {
            computation.instruction(id).operands.iter().for_each(|o| live[o.index()] = true);
        }
    }
    live
}

fn has_side_effect(op: &Op) -> bool {
    match op {
        Op::CustomCall(attrs) => attrs.has_side_effect,
        Op::Rng { .. } | Op::RngGetAndUpdateState { .. } => true,
        _ => matches!(
            op.opcode(),
            Opcode::Infeed | Opcode::Outfeed | Opcode::Send | Opcode::SendDone | Opcode::Recv | Opcode::RecvDone
        ),
    }
}

fn takes_element(computation: &Computation, live: &[bool]) -> Vec<bool> {
    let mut takes = vec![false; live.len()];
    // Tuples read by something other than get-tuple-element stay whole.
    let mut whole = vec![false; live.len()];
    whole[computation.root.index()] = true;
    let live_ids: Vec<InstrId> = computation.ids().filter(|id| live[id.index()]).collect();
    for &id in &live_ids {
        let instruction = computation.instruction(id);
        if !matches!(instruction.op, Op::GetTupleElement { .. }) {
            instruction.operands.iter().for_each(|o| whole[o.index()] = true);
        }
    }
    let mut read_later = HashSet::new();
    for &id in live_ids.iter().rev() {
        let instruction = computation.instruction(id);
        if let (Op::GetTupleElement { index }, Some(&tuple)) = (&instruction.op, instruction.operands.first()) {
            takes[id.index()] = read_later.insert((tuple, *index)) && !whole[tuple.index()];
        }
    }
    takes
}

/// Most instructions evaluated if every call is followed and every loop runs once. Calls of calls can double at each
/// level; nobody waits for what is beyond.
const MOST_INSTRUCTIONS: u64 = 10_000_000;

/// Refuses a computation whose calls multiply beyond what can be evaluated. Fails at the innermost instruction with
/// which it is too much.
pub(crate) fn check_calls(module: &Module, id: ComputationId) -> Result<(), InstructionError> {
    let mut sizes: Vec<u64> = Vec::with_capacity(module.computations.len());
    for computation in &module.computations {
        let size = computation.instructions.iter().map(|i| size_of(&i.op, &sizes)).fold(0, u64::saturating_add);
        sizes.push(size);
    }
    let is_too_large = |id: ComputationId| sizes.get(id.index()).is_some_and(|&size| size > MOST_INSTRUCTIONS);
    if !is_too_large(id) {
        return Ok(());
    }
    let mut computation = module.computation(id);
    loop {
        let mut size = 0u64;
        let breaks = |i: &InstrId| {
            size = size.saturating_add(size_of(&computation.instruction(*i).op, &sizes));
            size > MOST_INSTRUCTIONS
        };
        let instruction = computation.ids().find(breaks).unwrap_or(computation.root);
        match computation.instruction(instruction).op.called().into_iter().find(|&called| is_too_large(called)) {
            Some(called) => computation = module.computation(called),
            None => {
                let fault = Fault::TooManyCalls { limit: MOST_INSTRUCTIONS };
                return Err(InstructionError::locate(module, computation, instruction, fault));
            }
        }
    }
}

/// Instructions evaluated for one. Callees stand before callers.
fn size_of(op: &Op, sizes: &[u64]) -> u64 {
    op.called().into_iter().filter_map(|id| sizes.get(id.index())).fold(1, |sum, &size| sum.saturating_add(size))
}

/// How deep calls nest in the module. Callees stand before callers.
pub(crate) fn nesting_depth(module: &Module) -> usize {
    let mut depths: Vec<usize> = Vec::with_capacity(module.computations.len());
    for computation in &module.computations {
        let called = computation.instructions.iter().flat_map(|i| i.op.called());
        let deepest = called.filter_map(|id| depths.get(id.index())).max();
        depths.push(deepest.map_or(1, |d| d + 1));
    }
    depths.into_iter().max().unwrap_or(0)
}
