//! Values of a loop's body that are the same in every iteration.

use fusebox_core::hlo::{Computation, InstrId, Instruction, Op};

use crate::equal_instructions::depends_on_operands_alone;

/// Returns, for each instruction of a loop's body, whether its value is the same in every
/// iteration.
pub fn invariant(body: &Computation) -> Vec<bool> {
    let root = body.instruction(body.root);
    let is_passed_on = |index: i64| {
        let next = usize::try_from(index).ok().and_then(|index| root.operands.get(index));
        next.is_some_and(|&next| element_of_state(body, next) == Some(index))
    };
    let mut invariant = vec![false; body.instructions.len()];
    for id in body.ids() {
        let instruction = body.instruction(id);
        invariant[id.index()] = match element_of_state(body, id) {
            Some(index) => matches!(root.op, Op::Tuple) && is_passed_on(index),
            None => {
                let is_known = match &instruction.op {
                    // If this loop executes no iteration, the program skips the inner loop. A
                    // hoisted inner loop would run, and might never end.
                    Op::While { .. } | Op::Conditional { .. } => false,
                    // A computation that the call executes may contain a loop, too.
                    Op::CustomCall(call) => !call.has_side_effect && call.called.is_empty(),
                    op => depends_on_operands_alone(op),
                };
                is_known && instruction.operands.iter().all(|operand| invariant[operand.index()])
            }
        };
    }
    invariant
}

/// Returns the index of the state element that an instruction reads.
pub fn element_of_state(body: &Computation, id: InstrId) -> Option<i64> {
    let Instruction { op: Op::GetTupleElement { index }, operands, .. } = body.instruction(id) else { return None };
    matches!(body.instruction(operands[0]).op, Op::Parameter { .. }).then_some(*index)
}
