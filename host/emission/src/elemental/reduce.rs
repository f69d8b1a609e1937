//! Reductions, element by element: a loop over what is reduced.

use fusebox_core::builder::{FastMath, Type, Value};
use fusebox_core::hlo::{ComputationId, ElementType, InstrId};

use super::binary::binary;
use super::combiner;
use super::float_types::{computed_in, is_narrow, narrow, widen};
use crate::EmissionError;
use crate::access::Recipe;
use crate::partition::Partition;
use crate::subgraph::Writer;

/// Types of the values that the loop of a reduction carries. Plain sums, products and extrema of narrow
/// floats are kept in `f32`: the reduction rounds once.
pub fn state_types(partition: &Partition<'_>, id: InstrId, to_apply: ComputationId) -> Vec<Type> {
    match widened_element(partition, id, to_apply) {
        Some(element) => vec![Type::of_element(computed_in(element))],
        None => partition.leaf_types(id),
    }
}

/// The element type, if the reduction is one of those kept in `f32`.
fn widened_element(partition: &Partition<'_>, id: InstrId, to_apply: ComputationId) -> Option<ElementType> {
    let element = partition.instruction(id).shape.as_array()?.element_type;
    (is_narrow(element) && combiner::single_operation(partition.module, to_apply).is_some()).then_some(element)
}

/// A `reduce` or `reduce-window`. Operands: the elements, unless nothing is reduced, then the initial values; elements of a
/// window that may lie outside stand behind the recipe's branch.
pub fn reduce(
    writer: &mut Writer<'_, '_>,
    id: InstrId,
    to_apply: ComputationId,
    recipe: &Recipe,
    operands: &[Vec<Value>],
) -> Result<Vec<Value>, EmissionError> {
    let (initial, elements) = split(writer, id, operands);
    if elements.is_empty() {
        return Ok(initial);
    }
    let initial = enter(writer, id, to_apply, &initial);
    let may_be_outside = recipe.branches.first().filter(|branch| !branch.conditions.is_empty());
    let results = writer.loop_over(recipe.loops[0], &initial, |writer, state| {
        let Some(branch) = may_be_outside else { return combine(writer, id, to_apply, state, &elements) };
        let types = writer.b.types_of(state);
        let condition = writer.holds(&branch.conditions);
        let skipped = writer.yielding(state);
        let combined = |writer: &mut Writer<'_, '_>| combine(writer, id, to_apply, state, &elements);
        writer.branch_to(condition, branch.scope, &types, combined, |_| Ok(skipped))
    })?;
    Ok(leave(writer, id, to_apply, results))
}

fn split(writer: &Writer<'_, '_>, id: InstrId, operands: &[Vec<Value>]) -> (Vec<Value>, Vec<Value>) {
    let (elements, initial) = operands.split_at(operands.len() - writer.partition.instruction(id).operands.len() / 2);
    let flat = |values: &[Vec<Value>]| values.iter().flatten().copied().collect();
    (flat(initial), flat(elements))
}

fn enter(writer: &mut Writer<'_, '_>, id: InstrId, to_apply: ComputationId, initial: &[Value]) -> Vec<Value> {
    match widened_element(writer.partition, id, to_apply) {
        Some(element) => initial.iter().map(|&value| widen(&mut writer.b, element, value)).collect(),
        None => initial.to_vec(),
    }
}

fn leave(writer: &mut Writer<'_, '_>, id: InstrId, to_apply: ComputationId, results: Vec<Value>) -> Vec<Value> {
    match widened_element(writer.partition, id, to_apply) {
        Some(element) => results.iter().map(|&value| narrow(&mut writer.b, element, value)).collect(),
        None => results,
    }
}

fn combine(
    writer: &mut Writer<'_, '_>,
    id: InstrId,
    to_apply: ComputationId,
    state: &[Value],
    elements: &[Value],
) -> Result<Vec<Value>, EmissionError> {
    let module = writer.partition.module;
    let wide = widened_element(writer.partition, id, to_apply);
    match (wide, combiner::single_operation(module, to_apply)) {
        (Some(element), Some(op)) => {
            let value = widen(&mut writer.b, element, elements[0]);
            writer.b.set_fastmath(FastMath::REASSOC);
            let value = binary(&mut writer.b, op, computed_in(element), state[0], value);
            writer.b.set_fastmath(FastMath::NONE);
            value.map(|v| vec![v]).map_err(|message| writer.error(id, message))
        }
        _ => combiner::inline(&mut writer.b, module, to_apply, &[state, elements].concat()),
    }
}
