//! Operands of a concatenate.

use fusebox_core::hlo::{Computation, InstrId, Op, Shape};

/// An operand of a concatenate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConcatenateOperand {
    /// The operand.
    pub instruction: InstrId,
    /// Index in the result, along the concatenated dimension, at which the operand starts.
    pub offset: i64,
}

/// Whether the instruction is a concatenate.
pub fn is_concatenate(computation: &Computation, id: InstrId) -> bool {
    matches!(computation.instruction(id).op, Op::Concatenate { .. })
}

/// Returns the operands that have elements. Replaces an operand that is itself a concatenate along
/// the same dimension by the operands of that concatenate.
pub fn operands(computation: &Computation, concatenate: InstrId) -> Vec<ConcatenateOperand> {
    let Op::Concatenate { dimension } = computation.instruction(concatenate).op else { return Vec::new() };
    let mut leaves = Vec::new();
    let mut offset = 0;
    // Stack of the operands that remain to be visited.
    let mut pending: Vec<InstrId> = computation.instruction(concatenate).operands.iter().rev().copied().collect();
    while let Some(id) = pending.pop() {
        let instruction = computation.instruction(id);
        match (&instruction.op, &instruction.shape) {
            (Op::Concatenate { dimension: inner }, _) if *inner == dimension => {
                pending.extend(instruction.operands.iter().rev());
            }
            (_, Shape::Array(array)) => {
                if array.element_count() > 0 {
                    leaves.push(ConcatenateOperand { instruction: id, offset });
                }
                offset += array.dims.get(dimension as usize).copied().unwrap_or(0);
            }
            _ => {}
        }
    }
    leaves
}
