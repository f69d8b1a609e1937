//! Replaces arrays without elements by constants.

use fusebox_core::hlo::{ArrayLiteral, InstrId, Instruction, Literal, Module, Op};

use crate::CompileError;
use crate::rebuild::Rebuild;

/// Replaces every instruction that yields an empty array by a constant, except parameters. Replaces
/// a `reduce` of an empty array by its initial value.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    for computation in &mut module.computations {
        *computation =
            Rebuild::each(computation, |rebuild, _, instruction| Ok::<_, CompileError>(empty(rebuild, instruction)))?;
    }
    Ok(())
}

fn empty(rebuild: &mut Rebuild, instruction: &Instruction) -> Option<InstrId> {
    let shape = instruction.shape.as_array()?;
    if shape.element_count() == 0 && !matches!(instruction.op, Op::Parameter { .. } | Op::Constant(_)) {
        let literal =
            ArrayLiteral { element_type: shape.element_type, dims: shape.dims.clone(), data: [].as_slice().into() };
        let op = Op::Constant(Literal::Array(literal));
        return Some(rebuild.add(instruction, op, instruction.shape.clone(), Vec::new()));
    }
    reduce_of_nothing(rebuild, instruction)
}

fn reduce_of_nothing(rebuild: &mut Rebuild, instruction: &Instruction) -> Option<InstrId> {
    let Op::Reduce { .. } = &instruction.op else { return None };
    let operands = rebuild.operands(instruction);
    let array = rebuild.instruction(operands[0]).shape.as_array()?;
    if array.element_count() > 0 {
        return None;
    }
    let op = Op::Broadcast { dimensions: Vec::new() };
    Some(rebuild.add(instruction, op, instruction.shape.clone(), vec![operands[1]]))
}
