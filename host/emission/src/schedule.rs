//! The order in which a function's values and indices are written.

use std::collections::HashSet;

use fusebox_core::hlo::InstrId;

use crate::index::{Atom, IndexId};
use crate::partition::{Partition, Read};
use crate::scope::FunctionId;

/// A value or an index to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Need {
    /// The values of an instruction at its site.
    Value(InstrId),
    /// An index that takes an operation to compute.
    Index(IndexId),
}

/// Returns what a function computes. Each item occurs once, after the items that it needs.
pub fn schedule(partition: &mut Partition<'_>, function: FunctionId) -> Vec<Need> {
    let (mut order, mut seen, mut stack) = (Vec::new(), HashSet::new(), Vec::new());
    for read in partition.function(function).results.clone() {
        needs_of_read(partition, function, &read, &mut |need| stack.push((need, false)));
        // An explicit stack, because chains of instructions can be longer than the thread's stack
        // is deep.
        while let Some((need, ready)) = stack.pop() {
            if ready {
                order.push(need);
            } else if seen.insert(need) {
                stack.push((need, true));
                needs_of(partition, function, need, &mut |need| stack.push((need, false)));
            }
        }
    }
    order
}

fn needs_of(partition: &mut Partition<'_>, function: FunctionId, need: Need, push: &mut dyn FnMut(Need)) {
    match need {
        Need::Index(index) => {
            for leaf in partition.indices.leaves(index) {
                needs_of_leaf(partition, function, index, leaf, push);
            }
        }
        Need::Value(id) => {
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
    push: &mut dyn FnMut(Need),
) {
    match partition.indices.as_atom(leaf).cloned() {
        Some(Atom::Runtime(runtime)) if leaf == user => {
            let read = Read { instruction: runtime.instruction, scope: runtime.scope, token: runtime.at };
            needs_of_read(partition, function, &read, push);
        }
        Some(Atom::Argument { .. } | Atom::Range { .. }) => {}
        _ => push(Need::Index(leaf)),
    }
}

fn needs_of_read(partition: &mut Partition<'_>, function: FunctionId, read: &Read, push: &mut dyn FnMut(Need)) {
    match &partition.sites[read.instruction.index()] {
        Some(site) if site.function == function => push(Need::Value(read.instruction)),
        _ => read.token.iter().for_each(|&index| needs_index(partition, index, push)),
    }
}

fn needs_index(partition: &Partition<'_>, index: IndexId, push: &mut dyn FnMut(Need)) {
    let given = matches!(partition.indices.as_atom(index), Some(Atom::Argument { .. } | Atom::Range { .. }));
    if !given && partition.indices.as_constant(index).is_none() {
        push(Need::Index(index));
    }
}
