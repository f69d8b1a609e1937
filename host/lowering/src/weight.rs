//! Estimates how long LLVM takes to compile kernels that have passed the stages of kernel IR.

use fusebox_core::ir::{Function, Operation, Type, Value};

use crate::targets::TargetInfo;

/// Weight of a loop or a branch in addition to the operations in its regions. LLVM analyses each
/// loop several times.
const OF_REGIONS: usize = 8;

/// Returns the weight of a function, about the number of machine instructions.
pub(crate) fn of_function(function: &Function, target: &TargetInfo) -> usize {
    function.body.operations.iter().map(|op| of_operation(op, &function.types, target)).sum()
}

/// Returns the weight of an operation, including the operations in its regions.
fn of_operation(op: &Operation, types: &[Type], target: &TargetInfo) -> usize {
    // An operation without operands is a constant, or does not become an instruction either.
    let own = if !op.regions.is_empty() {
        OF_REGIONS
    } else if op.operands.is_empty() {
        0
    } else {
        op.results.iter().chain(&op.operands).map(|&value| registers(value, types, target)).max().unwrap_or(1)
    };
    let inner = op.regions.iter().flat_map(|region| &region.operations);
    own + inner.map(|op| of_operation(op, types, target)).sum::<usize>()
}

/// Returns the number of registers that a value takes. An operation on a vector that is longer than
/// a register becomes several instructions.
fn registers(value: Value, types: &[Type], target: &TargetInfo) -> usize {
    match &types[value.number()] {
        Type::Vector(dims, element) => {
            let lanes = dims.iter().product::<i64>() as usize;
            (lanes * element.byte_size()).div_ceil(target.device.register_bytes as usize)
        }
        _ => 1,
    }
}
