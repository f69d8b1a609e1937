//! Simplifies reductions over dimensions of one element: they combine that element with the initial
//! value.

use fusebox_core::hlo::{InstrId, Instruction, Module, Op};

use crate::passes::identity::combining;
use crate::rebuild::Rebuild;

pub fn simpler(rebuild: &mut Rebuild, module: &Module, instruction: &Instruction) -> Option<InstrId> {
    let Op::Reduce { dimensions, to_apply } = &instruction.op else { return None };
    let &[array, initial] = rebuild.operands(instruction).as_slice() else { return None };
    let op = combining(module.computation(*to_apply))?;
    let dims = &rebuild.instruction(array).shape.as_array()?.dims;
    if dimensions.is_empty() || dimensions.iter().any(|&d| dims[d as usize] != 1) {
        return None;
    }
    let shape = &instruction.shape;
    let element = rebuild.add(instruction, Op::Reshape, shape.clone(), vec![array]);
    let start = rebuild.add(instruction, Op::Broadcast { dimensions: Vec::new() }, shape.clone(), vec![initial]);
    Some(rebuild.add(instruction, Op::Binary(op), shape.clone(), vec![start, element]))
}
