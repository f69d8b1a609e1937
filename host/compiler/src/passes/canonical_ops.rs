//! Removes operations that have no effect on a single device, and rewrites others into canonical
//! form.

use fusebox_core::hlo::{ArrayLiteral, ElementType, InstrId, Instruction, Literal, Module, Op, Opcode, Shape};

use crate::CompileError;
use crate::rebuild::Rebuild;

/// Rewrites each instruction that [`canonical`] matches.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    for computation in &mut module.computations {
        *computation = Rebuild::each(computation, |rebuild, _, instruction| {
            Ok::<_, CompileError>(canonical(rebuild, instruction))
        })?;
    }
    Ok(())
}

fn canonical(rebuild: &mut Rebuild, instruction: &Instruction) -> Option<InstrId> {
    match &instruction.op {
        Op::Copy | Op::OptBarrier => operand(rebuild, instruction),
        Op::AddDependency | Op::Other { opcode: Opcode::Domain, .. } => operand(rebuild, instruction),
        Op::PartitionId | Op::ReplicaId => Some(scalar_u32(rebuild, instruction, 0)),
        Op::GetDimensionSize { dimension } => dimension_size(rebuild, instruction, *dimension),
        Op::Reshape | Op::Convert | Op::BitcastConvert => without_effect(rebuild, instruction),
        Op::Transpose { permutation } if is_identity(permutation) => operand(rebuild, instruction),
        Op::Broadcast { dimensions } if is_identity(dimensions) => without_effect(rebuild, instruction),
        Op::Reverse { dimensions } if dimensions.is_empty() => operand(rebuild, instruction),
        Op::Slice { .. } | Op::Pad { .. } if instruction.operands.len() == 1 => whole_slice(rebuild, instruction),
        Op::Concatenate { .. } if instruction.operands.len() == 1 => operand(rebuild, instruction),
        _ => None,
    }
}

fn operand(rebuild: &Rebuild, instruction: &Instruction) -> Option<InstrId> {
    Some(rebuild.mapped(instruction.operands[0]))
}

/// Returns the operand if it has the shape of the result.
fn without_effect(rebuild: &Rebuild, instruction: &Instruction) -> Option<InstrId> {
    let operand = rebuild.mapped(instruction.operands[0]);
    (rebuild.instruction(operand).shape == instruction.shape).then_some(operand)
}

fn whole_slice(rebuild: &Rebuild, instruction: &Instruction) -> Option<InstrId> {
    match &instruction.op {
        Op::Slice { dims } if dims.iter().all(|d| d.start == 0 && d.stride == 1) => {
            without_effect(rebuild, instruction)
        }
        _ => None,
    }
}

fn dimension_size(rebuild: &mut Rebuild, instruction: &Instruction, dimension: i64) -> Option<InstrId> {
    let operand = rebuild.mapped(instruction.operands[0]);
    let size = *rebuild.instruction(operand).shape.as_array()?.dims.get(usize::try_from(dimension).ok()?)?;
    Some(scalar(rebuild, instruction, ElementType::S32, (size as i32).to_le_bytes()))
}

fn scalar_u32(rebuild: &mut Rebuild, instruction: &Instruction, value: u32) -> InstrId {
    scalar(rebuild, instruction, ElementType::U32, value.to_le_bytes())
}

fn scalar(rebuild: &mut Rebuild, origin: &Instruction, element_type: ElementType, bytes: [u8; 4]) -> InstrId {
    let literal = Literal::Array(ArrayLiteral { element_type, dims: Vec::new(), data: bytes.as_slice().into() });
    rebuild.add(origin, Op::Constant(literal), Shape::array(element_type, []), Vec::new())
}

fn is_identity(dimensions: &[i64]) -> bool {
    dimensions.iter().enumerate().all(|(i, &d)| i as i64 == d)
}
