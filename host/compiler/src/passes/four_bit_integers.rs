//! Computes with four-bit integers as XLA:CPU does.
//!
//! XLA computes an arithmetic operation on `s4` or `u4` in 8 bits and truncates the result to 4
//! bits. If the next operation converts to the 8-bit type of the same sign, XLA omits the
//! truncation, and programs see the 8-bit result. The reference interpreter does the same.

use std::collections::HashSet;

use fusebox_core::hlo::{BinaryOp, ElementType, InstrId, Instruction, Module, Op, Shape, UnaryOp};

use crate::CompileError;
use crate::rebuild::Rebuild;

/// Rewrites four-bit arithmetic in every computation.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    for computation in &mut module.computations {
        let mut cuts = HashSet::new();
        *computation = Rebuild::each(computation, |rebuild, _, instruction| {
            Ok::<_, CompileError>(in_eight_bits(rebuild, instruction, &mut cuts))
        })?;
    }
    Ok(())
}

/// Computes an operation in 8 bits. `cuts` are the conversions to four bits that this pass has
/// added.
fn in_eight_bits(rebuild: &mut Rebuild, instruction: &Instruction, cuts: &mut HashSet<InstrId>) -> Option<InstrId> {
    let shape = instruction.shape.as_array()?;
    let operands = rebuild.operands(instruction);
    if let (Op::Convert, [operand]) = (&instruction.op, operands.as_slice())
        && cuts.contains(operand)
    {
        let uncut = *rebuild.instruction(*operand).operands.first()?;
        return (rebuild.instruction(uncut).shape == instruction.shape).then_some(uncut);
    }
    let element = |id: &InstrId| rebuild.instruction(*id).shape.as_array().map(|array| array.element_type);
    // A dot of floats is not widened; only its sum is converted to four bits.
    let integers = |ty: ElementType| ty.is_integer() || ty == ElementType::Pred;
    let of_integers = operands.iter().all(|id| element(id).is_some_and(integers));
    let wide = wide_type(shape.element_type).filter(|_| of_integers && is_widened(&instruction.op))?;
    let widened: Vec<InstrId> = operands.iter().map(|&o| convert(rebuild, instruction, o, wide)).collect();
    let result = rebuild.add(instruction, instruction.op.clone(), with_type(&instruction.shape, wide), widened);
    let cut = rebuild.add(instruction, Op::Convert, instruction.shape.clone(), vec![result]);
    cuts.insert(cut);
    Some(cut)
}

fn wide_type(element_type: ElementType) -> Option<ElementType> {
    match element_type {
        ElementType::S4 => Some(ElementType::S8),
        ElementType::U4 => Some(ElementType::U8),
        _ => None,
    }
}

/// Whether to compute an operation in 8 bits. False if the result depends on the width.
fn is_widened(op: &Op) -> bool {
    match op {
        Op::Unary(op) => *op != UnaryOp::CountLeadingZeros,
        Op::Binary(op) => !matches!(op, BinaryOp::ShiftRightLogical | BinaryOp::ShiftRightArithmetic | BinaryOp::Mulhi),
        Op::Dot(_) => true,
        _ => false,
    }
}

fn convert(rebuild: &mut Rebuild, origin: &Instruction, operand: InstrId, to: ElementType) -> InstrId {
    let shape = with_type(&rebuild.instruction(operand).shape, to);
    rebuild.add(origin, Op::Convert, shape, vec![operand])
}

fn with_type(shape: &Shape, element_type: ElementType) -> Shape {
    let dims = shape.as_array().map(|array| array.dims.clone()).unwrap_or_default();
    Shape::array(element_type, dims)
}
