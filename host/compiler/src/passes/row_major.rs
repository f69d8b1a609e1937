//! Makes every array row-major. After this pass, layouts have no meaning.
//!
//! Only `bitcast` and foreign functions depend on layouts. This pass expands a `bitcast` to
//! transpose, reshape and transpose, and then drops every layout. Inputs and results are logical
//! arrays, regardless of the layout that the entry states.

use fusebox_core::hlo::{ArrayShape, InstrId, Instruction, Layout, Module, Op, Shape};
use fusebox_edit::{Builder, Rewrite, rewrite};
use fusebox_routines::RESULT_LAYOUTS;

use crate::CompileError;

/// API version of custom calls whose backend configuration is a dictionary of attributes.
const TYPED: &str = "API_VERSION_TYPED_FFI";

/// Expands bitcasts and drops layouts.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    for id in module.ids() {
        if module.computation(id).instructions.iter().any(|i| matches!(i.op, Op::Bitcast)) {
            rewrite(module, id, |edit, _, instruction| match instruction.op {
                Op::Bitcast => bitcast(edit, instruction).map(Some),
                _ => Ok(None),
            })?;
        }
    }
    let instructions = module.computations.iter_mut().flat_map(|it| &mut it.instructions);
    instructions.for_each(keep_result_layouts);
    let instructions = module.computations.iter_mut().flat_map(|it| &mut it.instructions);
    instructions.flat_map(|it| it.shape.arrays_mut()).for_each(|array| array.layout = None);
    module.entry_layout = None;
    Ok(())
}

/// Adds an attribute with the layouts of a custom call's results, if one of the results is not
/// row-major. A foreign function writes its results in the stated layouts, and the routine that
/// calls the function converts the results.
fn keep_result_layouts(instruction: &mut Instruction) {
    let Op::CustomCall(call) = &instruction.op else { return };
    let arrays: Vec<&ArrayShape> = instruction.shape.leaves().into_iter().filter_map(Shape::as_array).collect();
    let layout = |shape: &ArrayShape| shape.layout.clone().unwrap_or_else(|| Layout::row_major(shape.rank()));
    let is_usual = |shape: &&ArrayShape| layout(shape).minor_to_major == Layout::row_major(shape.rank()).minor_to_major;
    if call.api_version != TYPED || arrays.iter().all(is_usual) {
        return;
    }
    let lists = arrays.iter().map(|shape| format!("{:?}", layout(shape).minor_to_major)).collect::<Vec<_>>();
    let extra = instruction.extra.get_or_insert_default();
    let config = extra.backend_config.take().unwrap_or_default();
    let entry = format!("{RESULT_LAYOUTS} = [{}]", lists.join(", "));
    let others = config.trim().strip_prefix('{').and_then(|it| it.strip_suffix('}')).map(str::trim).unwrap_or_default();
    let separator = if others.is_empty() { "" } else { ", " };
    extra.backend_config = Some(format!("{{{others}{separator}{entry}}}"));
}

fn bitcast(edit: &mut Rewrite, instruction: &Instruction) -> Result<InstrId, CompileError> {
    let operand = edit.old().instruction(instruction.operands[0]);
    let value = edit.mapped(instruction.operands[0]);
    let (Some(from), Some(to)) = (operand.shape.as_array(), instruction.shape.as_array()) else {
        return Ok(value);
    };
    let (one, other) = (from.element_type, to.element_type);
    let is_same_kind = one.bits() == other.bits() && one.is_complex() == other.is_complex();
    if from.element_count() != to.element_count() || !is_same_kind {
        return Err(CompileError::at(
            edit.module(),
            instruction,
            "bitcast between shapes of different element counts or widths, or between real and complex numbers",
        ));
    }
    let value = to_memory_order(edit, value, from);
    let value = retype(edit, value, to);
    Ok(from_memory_order(edit, value, to))
}

/// Transposes a value so that its dimensions have the order that `shape`'s layout gives them in
/// memory.
fn to_memory_order(edit: &mut Builder, value: InstrId, shape: &ArrayShape) -> InstrId {
    edit.transpose(value, &major_to_minor(shape))
}

/// Reshapes a value to the target's dimensions, in the order of the target's layout.
fn retype(edit: &mut Builder, value: InstrId, to: &ArrayShape) -> InstrId {
    let dims: Vec<i64> = major_to_minor(to).iter().map(|&d| to.dims[d as usize]).collect();
    let value = edit.reshape(value, &dims);
    edit.bitcast_convert(value, to.element_type)
}

/// Transposes a value from the order of the target's layout to the target's logical order.
fn from_memory_order(edit: &mut Builder, value: InstrId, to: &ArrayShape) -> InstrId {
    let order = major_to_minor(to);
    let mut inverse = vec![0; order.len()];
    for (position, &dim) in order.iter().enumerate() {
        inverse[dim as usize] = position as i64;
    }
    edit.transpose(value, &inverse)
}

fn major_to_minor(shape: &ArrayShape) -> Vec<i64> {
    let layout = shape.layout.clone().unwrap_or_else(|| Layout::row_major(shape.rank()));
    layout.minor_to_major.iter().rev().map(|&d| d as i64).collect()
}
