//! Types of loop-carried values, for operations that need loops.

use fusebox_core::builder::Type;
use fusebox_core::hlo::{ComputationId, ElementType, InstrId, Op, accumulation_type};

use super::combiner;
use super::float_types::{computed_in, is_narrow};
use crate::error::Result;
use crate::partition::Partition;

/// Returns, for each loop of an instruction, the types of the values that the loop carries. The
/// outermost loop comes first.
pub fn loop_states(partition: &Partition<'_>, id: InstrId, loops: usize) -> Result<Vec<Vec<Type>>> {
    let states = match &partition.instruction(id).op {
        Op::Reduce { to_apply, .. } | Op::ReduceWindow { to_apply, .. } => vec![of_reduction(partition, id, *to_apply)],
        Op::SelectAndScatter { .. } => of_windows(partition, id),
        Op::Dot(_) | Op::Convolution(_) => vec![vec![Type::of_element(accumulator(partition, id)?)]],
        _ => Vec::new(),
    };
    if states.len() >= loops {
        Ok(states)
    } else {
        Err(partition.error(id, "has no elementwise form; keep it out of fusions"))
    }
}

/// Returns the type in which the products of an instruction are summed.
pub fn accumulator(partition: &Partition<'_>, id: InstrId) -> Result<ElementType> {
    let (left, right) = (partition.operand_array(id, 0)?, partition.operand_array(id, 1)?);
    Ok(accumulation_type(left.element_type, right.element_type, partition.array(id)?.element_type))
}

/// Returns the types of the values that the loop of a reduction carries. For plain sums, products
/// and extrema of narrow floats, the loop carries an `f32` value, so that the reduction rounds
/// once.
fn of_reduction(partition: &Partition<'_>, id: InstrId, to_apply: ComputationId) -> Vec<Type> {
    match widened_element(partition, id, to_apply) {
        Some(element) => vec![Type::of_element(computed_in(element))],
        None => partition.leaf_types(id),
    }
}

/// If a reduction of narrow floats computes in `f32`, returns the reduction's element type.
pub fn widened_element(partition: &Partition<'_>, id: InstrId, to_apply: ComputationId) -> Option<ElementType> {
    let element = partition.instruction(id).shape.as_array()?.element_type;
    (is_narrow(element) && combiner::single_operation(partition.module, to_apply).is_some()).then_some(element)
}

/// Returns the types of the values that the two loops of a `select-and-scatter` carry. The loop
/// over windows carries the result. The loop over a window's elements carries the value selected so
/// far, the position of this value, and whether a value is selected yet.
fn of_windows(partition: &Partition<'_>, id: InstrId) -> Vec<Vec<Type>> {
    let element = partition.leaf_types(id);
    vec![element.clone(), [element, vec![Type::INDEX, Type::I1]].concat()]
}
