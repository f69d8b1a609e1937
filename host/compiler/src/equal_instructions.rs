//! Instructions that compute the same value.

use std::collections::HashMap;

use fusebox_core::hlo::{Computation, InstrId, Instruction, Op, Shape};
use fusebox_edit::retain_instructions;

use crate::side_effects::SideEffects;

/// Everything that determines the value of an instruction.
#[derive(PartialEq, Eq, Hash)]
enum ValueKey {
    Constant(fusebox_core::hlo::Literal),
    Operation { op: String, shape: Shape, operands: Vec<InstrId> },
}

/// Merges the equal instructions of a computation, except instructions with side effects. Returns
/// the new computation.
pub fn merge_equal(computation: &Computation, effects: &SideEffects) -> Computation {
    let mut merged = computation.clone();
    let mut seen: HashMap<ValueKey, InstrId> = HashMap::new();
    // For each instruction, the first one that is equal to it.
    let mut first: Vec<InstrId> = Vec::with_capacity(merged.instructions.len());
    for (id, instruction) in computation.ids().zip(&mut merged.instructions) {
        instruction.operands.iter_mut().for_each(|operand| *operand = first[operand.index()]);
        let key = if effects.has(instruction) { None } else { key(instruction) };
        first.push(key.map_or(id, |key| *seen.entry(key).or_insert(id)));
    }
    merged.root = first[merged.root.index()];
    retain_instructions(&mut merged, |id| first[id.index()] == id);
    merged
}

/// Whether equal operands always yield an equal value. False for parameters, random numbers and
/// operations with effects.
pub fn depends_on_operands_alone(op: &Op) -> bool {
    !matches!(
        op,
        Op::Parameter { .. }
            | Op::CustomCall(_)
            | Op::Other { .. }
            | Op::AfterAll
            | Op::Rng { .. }
            | Op::RngGetAndUpdateState { .. }
            | Op::StochasticConvert
    )
}

/// Returns the key of an instruction. `None` if the instruction must not be merged.
fn key(instruction: &Instruction) -> Option<ValueKey> {
    match &instruction.op {
        op if !depends_on_operands_alone(op) => None,
        Op::Constant(literal) => Some(ValueKey::Constant(literal.clone())),
        op => Some(ValueKey::Operation {
            op: format!("{op:?}"),
            shape: instruction.shape.clone(),
            operands: instruction.operands.clone(),
        }),
    }
}
