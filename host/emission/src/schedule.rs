//! The order in which a function's values and indices are written.

use std::collections::HashSet;

use fusebox_core::hlo::InstrId;

use crate::index::{Atom, IndexId};
use crate::partition::{InstructionRead, Partition};
use crate::scope::FunctionId;

/// A value or an index to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScheduleItem {
    /// The values of an instruction at its site.
    Value(InstrId),
    /// An index that takes an operation to compute.
    Index(IndexId),
}

/// Returns the values and indices that a function computes. Each item occurs once, after the items
/// that it needs.
pub fn schedule(partition: &mut Partition<'_>, function: FunctionId) -> Vec<ScheduleItem> {
    let (mut order, mut seen, mut stack) = (Vec::new(), HashSet::new(), Vec::new());
    for read in partition.function(function).results.clone() {
        needs_of_read(partition, function, &read, &mut |item| stack.push((item, false)));
        // Uses an explicit stack, because recursion along a long chain of instructions would
        // overflow the thread's stack.
        while let Some((item, ready)) = stack.pop() {
            if ready {
                order.push(item);
            } else if seen.insert(item) {
                stack.push((item, true));
                needs_of(partition, function, item, &mut |item| stack.push((item, false)));
            }
        }
    }
    order
}

fn needs_of(
    partition: &mut Partition<'_>,
    function: FunctionId,
    item: ScheduleItem,
    push: &mut dyn FnMut(ScheduleItem),
) {
    match item {
        ScheduleItem::Index(index) => {
            for leaf in partition.indices.leaves(index) {
                needs_of_leaf(partition, function, index, leaf, push);
            }
        }
        ScheduleItem::Value(id) => {
            let Some(recipe) = partition.recipes[id.index()].clone() else { return };
            for read in &recipe.reads {
                needs_of_read(partition, function, read, push);
            }
            let conditions = recipe.branches.iter().flat_map(|branch| &branch.conditions);
            for index in conditions.map(|condition| condition.index).chain(recipe.indices.iter().copied()) {
                needs_index(partition, index, push);
            }
        }
    }
}

fn needs_of_leaf(
    partition: &mut Partition<'_>,
    function: FunctionId,
    user: IndexId,
    leaf: IndexId,
    push: &mut dyn FnMut(ScheduleItem),
) {
    match partition.indices.as_atom(leaf).cloned() {
        Some(Atom::Runtime(runtime)) if leaf == user => {
            let read = InstructionRead { instruction: runtime.instruction, scope: runtime.scope, token: runtime.at };
            needs_of_read(partition, function, &read, push);
        }
        Some(Atom::Argument { .. } | Atom::Range { .. }) => {}
        _ => push(ScheduleItem::Index(leaf)),
    }
}

fn needs_of_read(
    partition: &mut Partition<'_>,
    function: FunctionId,
    read: &InstructionRead,
    push: &mut dyn FnMut(ScheduleItem),
) {
    match &partition.sites[read.instruction.index()] {
        Some(site) if site.function == function => push(ScheduleItem::Value(read.instruction)),
        _ => read.token.iter().for_each(|&index| needs_index(partition, index, push)),
    }
}

fn needs_index(partition: &Partition<'_>, index: IndexId, push: &mut dyn FnMut(ScheduleItem)) {
    let given = matches!(partition.indices.as_atom(index), Some(Atom::Argument { .. } | Atom::Range { .. }));
    if !given && partition.indices.as_constant(index).is_none() {
        push(ScheduleItem::Index(index));
    }
}
