//! Removes operations that have no effect on a single device, and rewrites other operations into
//! canonical form.

use fusebox_core::hlo::{ElementType, InstrId, Instruction, Module, Op, Opcode};
use fusebox_edit::{Rewrite, rewrite};

use crate::CompileError;
use crate::roles::on_devices;

/// Rewrites each instruction that [`canonical`] matches.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    for (id, on_devices) in module.ids().zip(on_devices(module)) {
        rewrite(module, id, |edit, _, instruction| {
            // Each device has another number.
            let is_number = on_devices && instruction.op == Op::PartitionId;
            Ok::<_, CompileError>(if is_number { None } else { canonical(edit, instruction) })
        })?;
    }
    Ok(())
}

fn canonical(edit: &mut Rewrite, instruction: &Instruction) -> Option<InstrId> {
    match &instruction.op {
        Op::Copy | Op::OptBarrier => operand(edit, instruction),
        Op::AddDependency | Op::Other { opcode: Opcode::Domain, .. } => operand(edit, instruction),
        Op::PartitionId | Op::ReplicaId => Some(edit.integer(ElementType::U32, 0)),
        Op::GetDimensionSize { dimension } => dimension_size(edit, instruction, *dimension),
        Op::Reshape | Op::Convert | Op::BitcastConvert => without_effect(edit, instruction),
        Op::Transpose { permutation } if is_identity(permutation) => operand(edit, instruction),
        Op::Broadcast { dimensions } if is_identity(dimensions) => without_effect(edit, instruction),
        Op::Reverse { dimensions } if dimensions.is_empty() => operand(edit, instruction),
        Op::Slice { .. } | Op::Pad { .. } if instruction.operands.len() == 1 => whole_slice(edit, instruction),
        Op::Concatenate { .. } if instruction.operands.len() == 1 => operand(edit, instruction),
        _ => None,
    }
}

fn operand(edit: &Rewrite, instruction: &Instruction) -> Option<InstrId> {
    Some(edit.mapped(instruction.operands[0]))
}

/// Returns the operand if it has the shape of the result.
fn without_effect(edit: &Rewrite, instruction: &Instruction) -> Option<InstrId> {
    let operand = edit.mapped(instruction.operands[0]);
    (*edit.shape(operand) == instruction.shape).then_some(operand)
}

fn whole_slice(edit: &Rewrite, instruction: &Instruction) -> Option<InstrId> {
    match &instruction.op {
        Op::Slice { dims } if dims.iter().all(|d| d.start == 0 && d.stride == 1) => without_effect(edit, instruction),
        _ => None,
    }
}

fn dimension_size(edit: &mut Rewrite, instruction: &Instruction, dimension: i64) -> Option<InstrId> {
    let operand = edit.mapped(instruction.operands[0]);
    let size = *edit.array(operand)?.dims.get(usize::try_from(dimension).ok()?)?;
    Some(edit.integer(ElementType::S32, size))
}

fn is_identity(dimensions: &[i64]) -> bool {
    dimensions.iter().enumerate().all(|(i, &d)| i as i64 == d)
}
