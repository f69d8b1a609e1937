//! Writes `select-and-scatter` in gather form: for each element of the result, a loop over the
//! windows that may cover it.

use fusebox_core::builder::{IntPredicate, Value};
use fusebox_core::hlo::ComputationId;

use super::combiner::{self, Regrouping};
use crate::error::Result;
use crate::partition::Recipe;
use crate::writer::{FunctionWriter, LoopForm, SiteOperands};

/// For every window that may cover the element to compute, finds which element the window selects.
/// If the window selects the element to compute, combines the window's source value with the
/// result.
///
/// `reads` contains the candidate (an element of a window), the window's source value and the
/// initial value. The candidate and the source value are missing if no window covers any element.
pub fn select_and_scatter(
    writer: &mut FunctionWriter<'_, '_>,
    reads: &SiteOperands<'_>,
    select: ComputationId,
    scatter: ComputationId,
) -> Result<Vec<Value>> {
    let [candidate, source, initial] = reads.operands else {
        return Ok(reads.operands.last().cloned().unwrap_or_default());
    };
    let (source, candidate) = (source[0], candidate[0]);
    let own = writer.index(reads.recipe.indices[0]);
    writer.loop_over(reads.recipe.loops[0], LoopForm::Looped, initial, |writer, state| {
        writer.behind(reads.recipe.branches.first(), state, |writer| {
            let selected = selected(writer, select, reads.recipe, candidate)?;
            let hit = writer.b.cmpi(IntPredicate::Eq, selected, own);
            let with = combiner::write(
                &mut writer.b,
                writer.partition.module,
                scatter,
                &[state[0], source],
                Regrouping::Allowed,
            )?;
            Ok(vec![writer.b.select(hit, with[0], state[0])])
        })
    })
}

/// Returns the linear index of the element that a window selects. The window's first element is
/// selected first. A later element replaces the selected element if `select(selected, later)` is
/// false.
fn selected(
    writer: &mut FunctionWriter<'_, '_>,
    select: ComputationId,
    recipe: &Recipe,
    candidate: Value,
) -> Result<Value> {
    let ty = writer.b.type_of(candidate).clone();
    let (none, nowhere, not_found) = (writer.b.zero(&ty), writer.b.index(-1), writer.b.bool(false));
    let results =
        writer.loop_over(recipe.loops[1], LoopForm::Looped, &[none, nowhere, not_found], |writer, state| {
            writer.behind(recipe.branches.get(1), state, |writer| {
                let kept = combiner::write(
                    &mut writer.b,
                    writer.partition.module,
                    select,
                    &[state[0], candidate],
                    Regrouping::Allowed,
                )?[0];
                let kept = writer.b.andi(kept, state[2]);
                let position = writer.index(recipe.indices[1]);
                let found = writer.b.bool(true);
                let value = writer.b.select(kept, state[0], candidate);
                Ok(vec![value, writer.b.select(kept, state[1], position), found])
            })
        })?;
    Ok(results[1])
}
