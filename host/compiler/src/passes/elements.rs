//! Computes a small array element by element if only single elements of it are used.
//!
//! ```text
//! slice(add(x, y)) of one element   add(slice x, slice y)    if no instruction uses the whole sum
//! ```
//!
//! For example, a program may keep the state of a small system of equations in a small array. If
//! the numbers of the state are separate scalars, one function computes each number once and keeps
//! it in a register. If the numbers were elements of an array, each use would call a function to
//! compute its element again.

use std::collections::{BTreeSet, HashMap};

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Instruction, Module, Op, SliceDim};
use fusebox_edit::{Rewrite, rewrite};

use crate::CompileError;
use crate::roles::{Role, in_role};

/// Largest number of elements of an array that is split. Each element becomes an instruction.
const MOST: i64 = 4;

/// Splits arrays in all computations that thunks execute.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    for id in in_role(module, Role::Sequence) {
        let wanted = wanted(module.computation(id));
        if wanted.iter().any(|it| !it.is_empty()) {
            scalarise(module, id, &wanted)?;
        }
    }
    Ok(())
}

/// Index of an element of an array.
type ElementIndex = Vec<i64>;

/// Returns, for each instruction to split, the indices of the elements that are used. For all other
/// instructions, returns an empty set.
fn wanted(computation: &Computation) -> Vec<BTreeSet<ElementIndex>> {
    let users = computation.users();
    let mut wanted = vec![BTreeSet::new(); users.len()];
    // Visits users before their operands.
    for id in computation.ids().rev() {
        if id == computation.root || !is_small_and_elementwise(computation, id) {
            continue;
        }
        let of_user = |&user: &InstrId| match one_element(computation.instruction(user)) {
            Some(index) => BTreeSet::from([index]),
            None if reads_as_a_whole(computation, user, id) => wanted[user.index()].clone(),
            None => BTreeSet::new(),
        };
        let sets: Vec<BTreeSet<ElementIndex>> = users[id.index()].iter().map(of_user).collect();
        if sets.iter().all(|set| !set.is_empty()) {
            wanted[id.index()] = sets.into_iter().flatten().collect();
        }
    }
    wanted
}

fn is_small_and_elementwise(computation: &Computation, id: InstrId) -> bool {
    let instruction = computation.instruction(id);
    let count = |it: &Instruction| it.shape.as_array().map_or(0, |array| array.element_count());
    let is_read =
        |&operand: &InstrId| reads_as_a_whole(computation, id, operand) || count(computation.instruction(operand)) == 1;
    instruction.op.is_elementwise()
        && (2..=MOST).contains(&count(instruction))
        && instruction.operands.iter().all(is_read)
}

/// Whether an elementwise user computes each element of its result from the operand's element at
/// the same index.
fn reads_as_a_whole(computation: &Computation, user: InstrId, operand: InstrId) -> bool {
    dims(computation.instruction(user)) == dims(computation.instruction(operand))
}

fn dims(instruction: &Instruction) -> &[i64] {
    instruction.shape.as_array().map_or(&[], |array| &array.dims)
}

/// Returns the index of the only element of a slice.
fn one_element(instruction: &Instruction) -> Option<ElementIndex> {
    let Op::Slice { dims } = &instruction.op else { return None };
    let is_one = instruction.shape.as_array()?.element_count() == 1;
    is_one.then(|| dims.iter().map(|dim| dim.start).collect())
}

/// Replaces each array by one instruction for each of the array's elements in `wanted`.
fn scalarise(module: &mut Module, id: ComputationId, wanted: &[BTreeSet<ElementIndex>]) -> Result<(), CompileError> {
    let mut elements: HashMap<(InstrId, ElementIndex), InstrId> = HashMap::new();
    rewrite(module, id, |edit, id, instruction| {
        for index in &wanted[id.index()] {
            let element = element(edit, &elements, instruction, index);
            elements.extend(element.map(|element| ((id, index.clone()), element)));
        }
        let of_whole = one_element(instruction).and_then(|index| elements.get(&(instruction.operands[0], index)));
        Ok(of_whole.copied())
    })
}

/// Computes an element of an elementwise operation's result from its operands' elements.
fn element(
    edit: &mut Rewrite,
    elements: &HashMap<(InstrId, ElementIndex), InstrId>,
    instruction: &Instruction,
    index: &ElementIndex,
) -> Option<InstrId> {
    let element_type = instruction.shape.as_array()?.element_type;
    let operands = instruction.operands.iter().map(|&operand| match elements.get(&(operand, index.clone())) {
        Some(&element) => element,
        None => part(edit, operand, dims(instruction), index),
    });
    let operands: Vec<InstrId> = operands.collect();
    Some(edit.add_typed(instruction.op.clone(), element_type, operands))
}

/// Slices one element of an operand. If the sizes of an operand differ from `sizes`, the operand
/// has only one element, and every index refers to this element.
fn part(edit: &mut Rewrite, operand: InstrId, sizes: &[i64], index: &ElementIndex) -> InstrId {
    let source = edit.mapped(operand);
    let whole = edit.instruction(source).clone();
    if dims(&whole) != sizes {
        return source;
    }
    let dims = index.iter().map(|&start| SliceDim { start, limit: start + 1, stride: 1 }).collect();
    edit.with_origin(whole, |edit| edit.slice(source, dims))
}
