//! Replaces a sort by `topk` if only the sort's first elements are used, because `topk` reads most
//! elements only once.
//!
//! ```text
//! sort(x, iota) by x0 > x1, then [0:k] of both  =>  topk(x), k=k
//! ```

use fusebox_core::hlo::{
    ArrayShape, Comparison, ComparisonType, Computation, ElementType, InstrId, Instruction, Module, Op,
};
use fusebox_edit::{Rewrite, rewrite};

use crate::CompileError;
use crate::roles::{Role, in_role};

/// Rewrites the sorts in all computations that thunks execute.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    for sequence in in_role(module, Role::Sequence) {
        let old = module.computation(sequence);
        let users = old.users();
        let found: Vec<(InstrId, SortPrefix)> =
            old.ids().filter_map(|id| Some((id, first_elements(module, old, &users, id)?))).collect();
        if !found.is_empty() {
            rewrite(module, sequence, |edit, id, instruction| {
                Ok::<_, CompileError>(by_top_k(edit, &found, id, instruction))
            })?;
        }
    }
    Ok(())
}

/// The first elements of a sort, if the program uses no other elements.
struct SortPrefix {
    k: i64,
    largest: bool,
    is_stable: bool,
}

fn by_top_k(
    edit: &mut Rewrite,
    found: &[(InstrId, SortPrefix)],
    id: InstrId,
    instruction: &Instruction,
) -> Option<InstrId> {
    let of = |id: InstrId| found.iter().find(|(sort, _)| *sort == id).map(|(_, first)| first);
    if let Some(&SortPrefix { k, largest, is_stable }) = of(id) {
        let operand = edit.mapped(*instruction.operands.first()?);
        return Some(edit.add(Op::Topk { k, largest, is_stable }, [operand]));
    }
    match instruction.op {
        Op::GetTupleElement { index } => {
            let tuple = *instruction.operands.first()?;
            of(tuple)?;
            let top = edit.mapped(tuple);
            let element = edit.element(top, index as usize);
            Some(edit.convert(element, instruction.shape.as_array()?.element_type))
        }
        Op::Slice { .. } => {
            let element = *instruction.operands.first()?;
            let tuple = match edit.old().instruction(element) {
                Instruction { op: Op::GetTupleElement { .. }, operands, .. } => *operands.first()?,
                _ => return None,
            };
            of(tuple).map(|_| edit.mapped(element))
        }
        _ => None,
    }
}

/// For a sort that `topk` can replace, returns the first elements, which the program uses. Returns
/// `None` for all other instructions.
fn first_elements(
    module: &Module,
    computation: &Computation,
    users: &[Vec<InstrId>],
    id: InstrId,
) -> Option<SortPrefix> {
    let instruction = computation.instruction(id);
    let Op::Sort { dimension, is_stable, to_apply } = instruction.op else { return None };
    let &[values, places] = &instruction.operands[..] else { return None };
    let shape = computation.instruction(values).shape.as_array()?;
    let last = shape.rank().checked_sub(1)?;
    if dimension != last as i64 || !is_position(computation, places, last) || computation.root == id {
        return None;
    }
    let largest = is_descending(module.computation(to_apply), shape.element_type, is_stable)?;
    let elements = &users[id.index()];
    let is_element = |id: &InstrId| matches!(computation.instruction(*id).op, Op::GetTupleElement { .. });
    if !elements.iter().all(|id| is_element(id) && computation.root != *id) {
        return None;
    }
    let mut lengths =
        elements.iter().flat_map(|id| &users[id.index()]).map(|&id| length_of_first(computation, id, last));
    let k = lengths.next()??;
    lengths.all(|length| length == Some(k)).then_some(SortPrefix { k, largest, is_stable })
}

/// Whether the value of every element is the element's index along the last dimension, and the type
/// holds all these indices.
fn is_position(computation: &Computation, id: InstrId, last: usize) -> bool {
    let instruction = computation.instruction(id);
    let holds = |array: &ArrayShape| {
        let (ty, length) = (array.element_type, array.dims.get(last).copied().unwrap_or(i64::MAX));
        ty.is_integer() && (ty.bits() >= 32 || length >> (ty.bits() - 1) == 0)
    };
    if !instruction.shape.as_array().is_some_and(holds) {
        return false;
    }
    match (&instruction.op, instruction.operands.first()) {
        (Op::Iota { dimension }, _) => *dimension == last as i64,
        (Op::Broadcast { dimensions }, Some(&operand)) => {
            matches!(computation.instruction(operand).op, Op::Iota { dimension: 0 }) && dimensions[..] == [last as i64]
        }
        _ => false,
    }
}

/// Returns the size of a slice along the last dimension. Returns `None` if the slice has a stride,
/// does not begin at index 0, or omits elements along another dimension.
fn length_of_first(computation: &Computation, id: InstrId, last: usize) -> Option<i64> {
    let instruction = computation.instruction(id);
    let Op::Slice { dims } = &instruction.op else { return None };
    let whole = &computation.instruction(*instruction.operands.first()?).shape.as_array()?.dims;
    let is_whole = |(dim, size): (usize, &i64)| dim == last || dims[dim].limit == *size;
    let from_start = dims.iter().all(|dim| dim.start == 0 && dim.stride == 1);
    (from_start && whole.iter().enumerate().all(is_whole)).then(|| dims[last].limit)
}

/// Whether a sort puts the largest elements of the first operand first (true) or the smallest
/// (false). `None` if the order differs from the order of `topk`. In IEEE order, +0 and −0 are
/// equal. Only an unstable sort may order these zeros as `topk` does.
fn is_descending(comparator: &Computation, ty: ElementType, is_stable: bool) -> Option<bool> {
    let root = comparator.root_instruction();
    let &Op::Compare { direction, order } = &root.op else { return None };
    let number = |id: &InstrId| match comparator.instruction(*id).op {
        Op::Parameter { number } => Some(number),
        _ => None,
    };
    let is_swapped = match root.operands.iter().map(number).collect::<Option<Vec<_>>>()?[..] {
        [0, 1] => false,
        [1, 0] => true,
        _ => return None,
    };
    let is_same_order = !ty.is_float() || order == Some(ComparisonType::TotalOrder) || !is_stable;
    if ty.is_complex() || !is_same_order {
        return None;
    }
    match direction {
        Comparison::Gt => Some(!is_swapped),
        Comparison::Lt => Some(is_swapped),
        _ => None,
    }
}
