//! Checks the calls of a computation before the interpreter runs the computation, and finds the
//! instructions that must run.

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Module, Op, Opcode};

use crate::error::{Fault, InstructionError};

/// Returns for each instruction whether it must run. The root, all instructions with side effects,
/// and their transitive operands must run.
pub(crate) fn live(computation: &Computation) -> Vec<bool> {
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

/// Largest number of instructions that a computation and its callees may evaluate, counted as if
/// every loop ran once. Nested calls can double the number at each level. Evaluating more
/// instructions would take too long.
const MOST_INSTRUCTIONS: u64 = 10_000_000;

/// Refuses a computation whose calls would evaluate too many instructions. The error names the
/// innermost instruction at which the number exceeds the limit.
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

/// Counts the instructions that are evaluated for one operation. `sizes` already contains the
/// counts of the operation's callees, because callees precede callers.
fn size_of(op: &Op, sizes: &[u64]) -> u64 {
    op.called().into_iter().filter_map(|id| sizes.get(id.index())).fold(1, |sum, &size| sum.saturating_add(size))
}

/// Returns the depth of nested calls in the module. Relies on the order of computations: callees
/// precede callers.
pub(crate) fn nesting_depth(module: &Module) -> usize {
    let mut depths: Vec<usize> = Vec::with_capacity(module.computations.len());
    for computation in &module.computations {
        let called = computation.instructions.iter().flat_map(|i| i.op.called());
        let deepest = called.filter_map(|id| depths.get(id.index())).max();
        depths.push(deepest.map_or(1, |d| d + 1));
    }
    depths.into_iter().max().unwrap_or(0)
}
