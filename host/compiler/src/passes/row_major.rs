//! Makes every array row-major. After this pass, layouts have no meaning.
//!
//! Only `bitcast` depends on layouts. This pass expands a `bitcast` to transpose, reshape and
//! transpose, and then drops every layout. Inputs and results are logical arrays, regardless of the
//! layout that the entry states.

use fusebox_core::hlo::{ArrayShape, InstrId, Instruction, Layout, Module, Op, Shape};

use crate::CompileError;
use crate::rebuild::Rebuild;

/// Expands bitcasts and drops layouts.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    for index in 0..module.computations.len() {
        let old = &module.computations[index];
        if old.instructions.iter().any(|i| matches!(i.op, Op::Bitcast)) {
            let new = Rebuild::each(old, |rebuild, _, instruction| match instruction.op {
                Op::Bitcast => {
                    bitcast(rebuild, module, old.instruction(instruction.operands[0]), instruction).map(Some)
                }
                _ => Ok(None),
            })?;
            module.computations[index] = new;
        }
        for instruction in &mut module.computations[index].instructions {
            drop_layouts(&mut instruction.shape);
        }
    }
    module.entry_layout = None;
    Ok(())
}

fn bitcast(
    rebuild: &mut Rebuild,
    module: &Module,
    operand: &Instruction,
    instruction: &Instruction,
) -> Result<InstrId, CompileError> {
    let value = rebuild.mapped(instruction.operands[0]);
    let (Some(from), Some(to)) = (operand.shape.as_array(), instruction.shape.as_array()) else {
        return Ok(value);
    };
    if from.element_count() != to.element_count() || from.element_type.bits() != to.element_type.bits() {
        return Err(CompileError::at(
            module,
            instruction,
            "bitcast between shapes of different element counts or widths",
        ));
    }
    let value = to_memory_order(rebuild, instruction, value, from);
    let value = retype(rebuild, instruction, value, to);
    Ok(from_memory_order(rebuild, instruction, value, to))
}

/// Transposes a value so that its dimensions have the order that `shape`'s layout gives them in
/// memory.
fn to_memory_order(rebuild: &mut Rebuild, origin: &Instruction, value: InstrId, shape: &ArrayShape) -> InstrId {
    let permutation = major_to_minor(shape);
    transpose(rebuild, origin, value, &permutation)
}

/// Reshapes a value to the target's dimensions, in the order of the target's layout.
fn retype(rebuild: &mut Rebuild, origin: &Instruction, value: InstrId, to: &ArrayShape) -> InstrId {
    let dims: Vec<i64> = major_to_minor(to).iter().map(|&d| to.dims[d as usize]).collect();
    let Some(current) = rebuild.instruction(value).shape.as_array().cloned() else { return value };
    let value = if current.dims == dims {
        value
    } else {
        rebuild.add(origin, Op::Reshape, Shape::array(current.element_type, dims.clone()), vec![value])
    };
    if current.element_type == to.element_type {
        value
    } else {
        rebuild.add(origin, Op::BitcastConvert, Shape::array(to.element_type, dims), vec![value])
    }
}

/// Transposes a value from the order of the target's layout to the target's logical order.
fn from_memory_order(rebuild: &mut Rebuild, origin: &Instruction, value: InstrId, to: &ArrayShape) -> InstrId {
    let order = major_to_minor(to);
    let mut inverse = vec![0; order.len()];
    for (position, &dim) in order.iter().enumerate() {
        inverse[dim as usize] = position as i64;
    }
    transpose(rebuild, origin, value, &inverse)
}

fn transpose(rebuild: &mut Rebuild, origin: &Instruction, value: InstrId, permutation: &[i64]) -> InstrId {
    if permutation.iter().enumerate().all(|(i, &p)| i as i64 == p) {
        return value;
    }
    let Some(shape) = rebuild.instruction(value).shape.as_array() else { return value };
    let dims: Vec<i64> = permutation.iter().map(|&p| shape.dims[p as usize]).collect();
    let shape = Shape::array(shape.element_type, dims);
    rebuild.add(origin, Op::Transpose { permutation: permutation.to_vec() }, shape, vec![value])
}

fn major_to_minor(shape: &ArrayShape) -> Vec<i64> {
    let layout = shape.layout.clone().unwrap_or_else(|| Layout::row_major(shape.rank()));
    layout.minor_to_major.iter().rev().map(|&d| d as i64).collect()
}

fn drop_layouts(shape: &mut Shape) {
    match shape {
        Shape::Array(array) => array.layout = None,
        Shape::Tuple(elements) => elements.iter_mut().for_each(drop_layouts),
        Shape::Token | Shape::Opaque => {}
    }
}
