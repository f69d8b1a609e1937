//! Operations in which the index of an element decides which operand is read.

use fusebox_core::builder::{IntPredicate, OpKind, Region, Type, Value};
use fusebox_core::hlo::InstrId;

use super::bits;
use crate::error::Result;
use crate::partition::Branch;
use crate::writer::{FunctionWriter, SiteOperands};

/// Writes a `concatenate`: a binary tree of branches on the index along the concatenated dimension.
pub fn concatenate(writer: &mut FunctionWriter<'_, '_>, reads: &SiteOperands<'_>) -> Result<Vec<Value>> {
    let reached = reads.recipe.branches.iter().filter(|branch| branch.reachable);
    let parts: Vec<(&Branch, &[Value])> = reached.zip(reads.operands.iter().map(Vec::as_slice)).collect();
    match parts.as_slice() {
        [] => Err(writer.error(reads.id, "has no elements that could be read")),
        [(_, values)] => Ok(values.to_vec()),
        _ => {
            let types = writer.partition.leaf_types(reads.id);
            choose(writer, reads.id, &types, &parts)
        }
    }
}

fn choose(
    writer: &mut FunctionWriter<'_, '_>,
    id: InstrId,
    types: &[Type],
    parts: &[(&Branch, &[Value])],
) -> Result<Vec<Value>> {
    let (first, second) = parts.split_at(parts.len() / 2);
    let [condition] = second[0].0.conditions.as_slice() else {
        return Err(writer.error(id, "has a part that is chosen by other than one condition"));
    };
    let (position, bound) = (writer.index(condition.index), writer.b.index(condition.bounds.lower));
    let below = writer.b.cmpi(IntPredicate::Slt, position, bound);
    let first = side(writer, id, types, first)?;
    let second = side(writer, id, types, second)?;
    Ok(writer.b.op(OpKind::If, &[below], Vec::new(), types, vec![first, second]))
}

fn side(
    writer: &mut FunctionWriter<'_, '_>,
    id: InstrId,
    types: &[Type],
    parts: &[(&Branch, &[Value])],
) -> Result<Region> {
    if let [(branch, values)] = parts {
        return writer.close(branch.scope, OpKind::Yield, |_, _| Ok(values.to_vec()));
    }
    let (region, _) = writer.b.detached(&[]);
    writer.b.enter(region);
    let values = choose(writer, id, types, parts);
    writer.b.op(OpKind::Yield, values.as_deref().unwrap_or_default(), Vec::new(), &[], Vec::new());
    let region = writer.b.leave();
    values.map(|_| region)
}

/// Writes a `pad`. `reads` contains the operand's value and the padding value. The operand's value
/// is missing if no index reads the operand.
pub fn pad(writer: &mut FunctionWriter<'_, '_>, reads: &SiteOperands<'_>) -> Result<Vec<Value>> {
    let SiteOperands { recipe, operands, .. } = reads;
    let branch = &recipe.branches[0];
    let padding = recipe.of_operand(1, operands).cloned().unwrap_or_default();
    match recipe.of_operand(0, operands).filter(|_| branch.reachable) {
        Some(values) => writer.behind(Some(branch), &padding, |_| Ok(values.clone())),
        None => Ok(padding),
    }
}

/// Writes a `dynamic-update-slice`. `reads` contains the values of the update and of the operand.
/// The value of the update or of the operand is missing if no index reads it.
pub fn dynamic_update_slice(writer: &mut FunctionWriter<'_, '_>, reads: &SiteOperands<'_>) -> Result<Vec<Value>> {
    let ([update, operand], [inside, outside]) = (reads.operands, reads.recipe.branches.as_slice()) else {
        return Ok(reads.operands.first().cloned().unwrap_or_default());
    };
    let types = writer.partition.leaf_types(reads.id);
    let condition = writer.holds(&inside.conditions);
    let outside = writer.close(outside.scope, OpKind::Yield, |_, _| Ok(operand.clone()))?;
    writer.branch_to(condition, inside.scope, &types, |_| Ok(update.clone()), outside)
}

/// Writes a `bitcast-convert` between types of different widths: extracts one part of a wide
/// element, or builds a wide element from its parts.
pub fn bitcast_parts(writer: &mut FunctionWriter<'_, '_>, reads: &SiteOperands<'_>) -> Result<Vec<Value>> {
    let to = writer.partition.array(reads.id)?.element_type;
    let from = writer.partition.operand_array(reads.id, 0)?.element_type;
    let values = reads.operands.concat();
    let value = match reads.recipe.indices.first() {
        Some(&index) => {
            let index = writer.index(index);
            writer.b.formula(&[values[0], index], |terms| Ok(bits::part(from, to, terms[0], terms[1])))
        }
        None => writer.b.formula(&values, |parts| bits::joined(from, to, parts)),
    };
    value.map(|v| vec![v]).map_err(|message| writer.error(reads.id, message))
}
