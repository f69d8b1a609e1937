//! Replaces arrays without elements by constants.

use fusebox_core::hlo::{ArrayLiteral, InstrId, Instruction, Module, Op};
use fusebox_edit::{Rewrite, rewrite};

use crate::CompileError;

/// Replaces every instruction that yields an empty array, except parameters, by a constant.
/// Replaces a `reduce` of an empty array by the initial value of the reduction.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    for id in module.ids() {
        rewrite(module, id, |edit, _, instruction| Ok::<_, CompileError>(empty(edit, instruction)))?;
    }
    Ok(())
}

fn empty(edit: &mut Rewrite, instruction: &Instruction) -> Option<InstrId> {
    let shape = instruction.shape.as_array()?;
    if shape.element_count() == 0 && !matches!(instruction.op, Op::Parameter { .. } | Op::Constant(_)) {
        let (element_type, dims) = (shape.element_type, shape.dims.clone());
        return Some(edit.constant(ArrayLiteral { element_type, dims, data: [].as_slice().into() }));
    }
    reduce_of_nothing(edit, instruction, &shape.dims)
}

fn reduce_of_nothing(edit: &mut Rewrite, instruction: &Instruction, dims: &[i64]) -> Option<InstrId> {
    let Op::Reduce { .. } = &instruction.op else { return None };
    let operands = edit.operands(instruction);
    if edit.array(operands[0])?.element_count() > 0 {
        return None;
    }
    Some(edit.spread(operands[1], dims))
}
