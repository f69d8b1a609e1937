//! Replaces loads from the thread's own memory by lanes of vectors that were stored there just
//! before.
//!
//! When a kernel adds up the lanes of a tile, each step loads halves of the vector that the
//! preceding step has stored. LLVM would extract the halves by shifting integers that are as long
//! as the vector.

use fusebox_core::ir::{Attribute, Effect, OpKind, Operation, Type, Value};

use super::{Memory, Surroundings};

/// Consecutive elements in memory that are equal to the lanes of a vector.
struct Known {
    pointer: Value,
    first: i64,
    lanes: i64,
    vector: Value,
}

/// Replaces those loads of a region that read lanes of a stored vector. Does not look into nested
/// regions.
pub(super) fn forward(operations: &mut [Operation], types: &[Type], surroundings: &Surroundings) {
    let mut known: Vec<Known> = Vec::new();
    for op in operations {
        match op.kind {
            OpKind::Store => written(op, types, surroundings, &mut known),
            OpKind::Load => {
                if let Some(part) = part_of(op, types, surroundings, &known) {
                    *op = part;
                }
            }
            _ if op.kind.effect() == Effect::None => {}
            _ => known.clear(),
        }
    }
}

/// Records which elements memory contains after a store.
fn written(op: &Operation, types: &[Type], surroundings: &Surroundings, known: &mut Vec<Known>) {
    let (vector, pointer) = (op.operands[0], op.operands[1]);
    let lanes = lanes_of(&types[vector.number()]);
    let first = position(op, op.operands[2], surroundings);
    let is_kept = |it: &Known| {
        let is_of_its_type = types[it.vector.number()].element() == types[vector.number()].element();
        let is_beside = |first: i64| first + lanes <= it.first || it.first + it.lanes <= first;
        it.pointer != pointer || is_of_its_type && first.is_some_and(is_beside)
    };
    known.retain(is_kept);
    let is_own = surroundings.memories.get(&pointer) == Some(&Memory::Own);
    if let (Some(first), true, true) = (first, is_own, lanes > 1) {
        known.push(Known { pointer, first, lanes, vector });
    }
}

/// Returns the operation that replaces a load, if the loaded elements are lanes of a stored vector.
fn part_of(op: &Operation, types: &[Type], surroundings: &Surroundings, known: &[Known]) -> Option<Operation> {
    let ty = &types[op.result().number()];
    let (lanes, first) = (lanes_of(ty), position(op, op.operands[1], surroundings)?);
    let has = |it: &&Known| {
        it.pointer == op.operands[0]
            && types[it.vector.number()].element() == ty.element()
            && it.first <= first
            && first + lanes <= it.first + it.lanes
    };
    let source = known.iter().find(has)?;
    let lane = first - source.first;
    let part = match lanes {
        1 => part(OpKind::VectorExtract, vec![source.vector], ("static_position", vec![lane]), op.result()),
        _ => part(OpKind::Shuffle, vec![source.vector; 2], ("mask", (lane..lane + lanes).collect()), op.result()),
    };
    Some(Operation { place: op.place.clone(), ..part })
}

/// Creates an operation that selects lanes of a vector.
pub(super) fn part(
    kind: OpKind,
    operands: Vec<Value>,
    (name, lanes): (&'static str, Vec<i64>),
    result: Value,
) -> Operation {
    let attributes = vec![(name.into(), Attribute::I64Array(lanes))];
    Operation { attributes, ..Operation::new(kind, operands, vec![result]) }
}

/// Returns the index of the first element of an access, if this index is a constant.
fn position(op: &Operation, index: Value, surroundings: &Surroundings) -> Option<i64> {
    let is_whole = op.attribute("complex_part").is_none() && op.attribute("stride").is_none();
    let index = surroundings.constants.get(&index).filter(|_| is_whole)?;
    index.checked_add(op.integer("offset").unwrap_or(0))
}

fn lanes_of(ty: &Type) -> i64 {
    ty.dims().iter().product()
}
