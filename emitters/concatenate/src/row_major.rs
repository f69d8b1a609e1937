//! Whether instructions keep the row-major order of elements.

use std::collections::HashSet;

use fusebox_core::hlo::{Computation, InstrId, Op};

/// Whether a set of instructions keeps the row-major order of elements within dimension `first` and
/// all later dimensions. The set contains the instructions `from` and all their direct and indirect
/// operands. A concatenate along a dimension after `first` does not keep the row-major order,
/// because the selected operand depends on the position in a row.
pub fn is_row_major(computation: &Computation, from: &[InstrId], first: usize) -> bool {
    let mut seen: HashSet<InstrId> = from.iter().copied().collect();
    let mut pending: Vec<InstrId> = from.to_vec();
    while let Some(id) = pending.pop() {
        let instruction = computation.instruction(id);
        let dims = |id: InstrId| computation.instruction(id).shape.as_array().map(|array| &array.dims);
        let keeps = match &instruction.op {
            Op::Parameter { .. } | Op::Constant(_) => true,
            Op::Concatenate { dimension } => usize::try_from(*dimension).is_ok_and(|dimension| dimension <= first),
            Op::Broadcast { dimensions } => dimensions.is_empty(),
            op if op.is_reshape() => true,
            op if op.is_elementwise() => {
                let fits = |&operand: &InstrId| dims(operand).is_some_and(|d| d.is_empty() || Some(d) == dims(id));
                instruction.operands.iter().all(fits)
            }
            _ => false,
        };
        if !keeps {
            return false;
        }
        pending.extend(instruction.operands.iter().filter(|operand| seen.insert(**operand)));
    }
    true
}
