//! Finds the instruction whose result passes through a chain of reshapes.

use fusebox_core::hlo::{Computation, InstrId};

/// Returns the instruction that `from` reshapes, or `from` if it is not a reshape.
pub fn reshaped(computation: &Computation, from: InstrId) -> InstrId {
    let element_type = |id: InstrId| computation.instruction(id).shape.as_array().map(|array| array.element_type);
    let mut id = from;
    loop {
        let instruction = computation.instruction(id);
        match (&instruction.op, instruction.operands.as_slice()) {
            (op, &[operand]) if op.is_reshape() && element_type(operand) == element_type(id) => id = operand,
            _ => return id,
        }
    }
}
