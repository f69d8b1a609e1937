//! Reductions, element by element, as a loop over the reduced elements.

use fusebox_core::builder::{FastMath, Scalar, Value};
use fusebox_core::hlo::{ComputationId, InstrId, Op};

use super::binary::binary;
use super::combiner::{self, Regrouping};
use super::float_types::computed_in;
use super::state::widened_element;
use crate::error::Result;
use crate::writer::{FunctionWriter, LoopForm, SiteOperands};

/// Writes a `reduce` or `reduce-window`. `reads` contains the elements to reduce, followed by the
/// initial values. The elements are missing if there is nothing to reduce. The recipe's branch
/// guards the reads of window elements that may be out of bounds.
pub fn reduce(
    writer: &mut FunctionWriter<'_, '_>,
    reads: &SiteOperands<'_>,
    to_apply: ComputationId,
) -> Result<Vec<Value>> {
    let count = writer.partition.instruction(reads.id).operands.len() / 2;
    let (elements, initial) = reads.operands.split_at(reads.operands.len() - count);
    let [elements, mut values] = [elements, initial].map(<[Vec<Value>]>::concat);
    if elements.is_empty() {
        return Ok(values);
    }
    let narrow = widened_element(writer.partition, reads.id, to_apply);
    if narrow.is_some() {
        values.iter_mut().for_each(|value| *value = writer.b.extf(*value, Scalar::F32));
    }
    let turns = match writer.partition.instruction(reads.id).op {
        Op::ReduceWindow { .. } => LoopForm::UnrolledIfSmall,
        _ => LoopForm::Looped,
    };
    let mut results = writer.loop_over(reads.recipe.loops[0], turns, &values, |writer, state| {
        writer.behind(reads.recipe.branches.first(), state, |writer| {
            combine(writer, reads.id, to_apply, state, &elements)
        })
    })?;
    if let Some(element) = narrow {
        results.iter_mut().for_each(|value| *value = writer.b.truncf(*value, Scalar::of_element(element)));
    }
    Ok(results)
}

fn combine(
    writer: &mut FunctionWriter<'_, '_>,
    id: InstrId,
    to_apply: ComputationId,
    state: &[Value],
    elements: &[Value],
) -> Result<Vec<Value>> {
    let module = writer.partition.module;
    let wide = widened_element(writer.partition, id, to_apply);
    match (wide, combiner::single_operation(module, to_apply)) {
        (Some(element), Some(op)) => {
            let value = writer.b.extf(elements[0], Scalar::F32);
            writer.b.set_fastmath(FastMath::REASSOC);
            let value =
                writer.b.formula(&[state[0], value], |terms| binary(op, computed_in(element), terms[0], terms[1]));
            writer.b.set_fastmath(FastMath::NONE);
            value.map(|v| vec![v]).map_err(|message| writer.error(id, message))
        }
        _ => combiner::write(&mut writer.b, module, to_apply, &[state, elements].concat(), Regrouping::Allowed),
    }
}
