//! Expands operations that no kernel and no routine computes directly.
//!
//! ```text
//! ragged_dot   a product in which each group of rows has a separate matrix
//! scaled_dot   the product of scaled operands
//! scan         a loop over the elements of a dimension
//! ```
//!
//! Each expansion is the text of an equivalent module, whose instructions replace the operation.

mod ragged_dot;
mod scaled_dot;
mod scan;

use fusebox_core::hlo::{
    ArrayShape, Computation, ComputationId, Diagnostic, ElementType, Extra, InstrId, Instruction, Module, Op, Shape,
    Specials, parse_module,
};

use super::{renumber, splice};
use crate::CompileError;
use crate::rebuild::Rebuild;
use crate::roles::{Role, roles};

/// Largest number of operations that are expanded. An expansion may itself contain operations to
/// expand.
const MOST: usize = 10_000;

/// Expands the operations named above in all computations that thunks or kernels execute.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    let mut done = 0;
    while let Some((caller, id)) = next(module) {
        let computation = module.computation(caller);
        let instruction = computation.instruction(id);
        done += 1;
        if done > MOST {
            let message = format!("the module has more than {MOST} operations to expand");
            return Err(CompileError::at(module, instruction, message));
        }
        let operands: Vec<Shape> =
            instruction.operands.iter().map(|&o| computation.instruction(o).shape.clone()).collect();
        let text = text(module, instruction, &operands).map_err(|why| CompileError::at(module, instruction, why))?;
        let expansion = parse_module(&text, "expansion").map_err(|faults| internal(&faults, &text))?;
        graft(module, caller, id, expansion)?;
    }
    Ok(())
}

fn next(module: &Module) -> Option<(ComputationId, InstrId)> {
    let is_executed = |role: Role| matches!(role, Role::Sequence | Role::Fused);
    let executed = roles(module).into_iter().enumerate().filter(|(_, role)| is_executed(*role));
    let mut computations = executed.map(|(index, _)| ComputationId(index as u32));
    computations.find_map(|caller| {
        let computation = module.computation(caller);
        let is_meant = |id: &InstrId| {
            matches!(computation.instruction(*id).op, Op::RaggedDot { .. } | Op::ScaledDot(_) | Op::Scan { .. })
        };
        Some((caller, computation.ids().find(is_meant)?))
    })
}

fn text(module: &Module, instruction: &Instruction, operands: &[Shape]) -> Result<String, String> {
    let arrays: Option<Vec<&ArrayShape>> = operands.iter().map(Shape::as_array).collect();
    match (&instruction.op, arrays.as_deref(), &instruction.shape) {
        (Op::RaggedDot { dims, lhs_ragged_dims, .. }, Some(&[lhs, rhs, sizes]), Shape::Array(result)) => {
            let group = match &instruction.op {
                Op::RaggedDot { rhs_group_dims, .. } => rhs_group_dims.first().copied(),
                _ => None,
            };
            ragged_dot::text(dims, lhs_ragged_dims, group, [lhs, rhs, sizes], result)
        }
        (Op::ScaledDot(dims), Some(&[lhs, rhs, left, right]), Shape::Array(result)) => {
            Ok(scaled_dot::text(dims, [lhs, rhs], [left, right], result))
        }
        (Op::Scan { .. }, _, Shape::Tuple(results)) => scan::text(module, instruction, operands, results),
        (op, ..) => Err(format!("{} of these operands", op.opcode())),
    }
}

fn internal(faults: &[Diagnostic], text: &str) -> CompileError {
    let faults: Vec<String> = faults.iter().map(Diagnostic::to_string).collect();
    CompileError::Internal { phase: "passes", message: format!("{}\n{text}", faults.join("\n")) }
}

/// Replaces an instruction by the instructions of the expansion's entry. Inserts the entry's
/// callees before the caller.
fn graft(module: &mut Module, caller: ComputationId, id: InstrId, expansion: Module) -> Result<(), CompileError> {
    let origin = module.computation(caller).instruction(id).clone();
    let Some(entry) = expansion.entry else { return Err(internal(&[], "an expansion without entry")) };
    let mut computations = expansion.computations;
    let metadata = origin.extra.as_ref().and_then(|extra| extra.metadata.clone());
    let extra = metadata.map(|metadata| Box::new(Extra { metadata: Some(metadata), ..Extra::default() }));
    for instruction in computations.iter_mut().flat_map(|computation| &mut computation.instructions) {
        instruction.span = origin.span;
        instruction.extra = extra.clone();
        renumber(&mut instruction.op, &|id| ComputationId(id.0 + caller.0));
    }
    let mut body = computations.remove(entry.index());
    body.instructions
        .iter_mut()
        .for_each(|instruction| instruction.name = format!("{}.{}", origin.name, instruction.name));
    let (count, first) = (computations.len() as u32, caller.index());
    let moved = |id: ComputationId| if id < caller { id } else { ComputationId(id.0 + count) };
    for instruction in module.computations.iter_mut().flat_map(|computation| &mut computation.instructions) {
        renumber(&mut instruction.op, &moved);
    }
    module.entry = module.entry.map(moved);
    for mut computation in computations.into_iter().rev() {
        computation.name = unused_name(module, &format!("{}.{}", origin.name, computation.name));
        module.computations.insert(first, computation);
    }
    let at = moved(caller).index();
    let old: &Computation = &module.computations[at];
    let new = Rebuild::each(old, |rebuild, other, instruction| {
        Ok::<_, CompileError>((other == id).then(|| splice(rebuild, &body, instruction)))
    })?;
    module.computations[at] = new;
    Ok(())
}

fn unused_name(module: &Module, name: &str) -> String {
    let mut unused = name.to_owned();
    while module.find_computation(&unused).is_some() {
        unused.push('_');
    }
    unused
}

/// Returns the text of an array shape without layout.
fn array(ty: ElementType, dims: &[i64]) -> String {
    format!("{ty}[{}]", list(dims))
}

/// Returns the text of the shape without its layout.
fn plain(shape: &ArrayShape) -> String {
    array(shape.element_type, &shape.dims)
}

fn list(numbers: &[i64]) -> String {
    numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
}

/// Returns the text of the constant zero.
fn zero(ty: ElementType) -> &'static str {
    match ty {
        ElementType::Pred => "false",
        ty if ty.is_complex() => "(0, 0)",
        _ => "0",
    }
}

/// Returns the text of the identity of addition. Adding it keeps even the sign of a zero.
fn nothing(ty: ElementType) -> &'static str {
    let has_negative_zero = |ty: ElementType| {
        ty.float_format().is_some_and(|format| format.signed && format.specials != Specials::NanNegativeZero)
    };
    match ty {
        ty if ty.is_complex() => "(-0, -0)",
        ty if has_negative_zero(ty) => "-0",
        ty => zero(ty),
    }
}
