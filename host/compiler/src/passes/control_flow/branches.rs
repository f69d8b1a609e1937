//! Simplifies conditionals: inlines a branch that is known to execute, and computes both branches
//! if that is cheaper than a conditional.

use fusebox_core::cost;
use fusebox_core::hlo::{Computation, ComputationId, ElementType, InstrId, Instruction, Op, Shape};
use fusebox_edit::Rewrite;

/// Largest number of operations of a branch that is computed unconditionally.
const MOST_OPERATIONS: usize = 16;

/// Inlines the branch that a constant selects.
pub fn known(edit: &mut Rewrite, instruction: &Instruction, branches: &[ComputationId]) -> Option<InstrId> {
    let operands = edit.operands(instruction);
    let Op::Constant(index) = &edit.instruction(operands[0]).op else { return None };
    let index = index.as_array()?;
    let last = branches.len().checked_sub(1)?;
    let taken = match index.as_integer() {
        Some(number) => usize::try_from(number).unwrap_or(last).min(last),
        None => usize::from(index.data.first() == Some(&0)),
    };
    let branch = edit.module().computation(*branches.get(taken)?);
    Some(edit.splice(branch, &[operands[taken + 1]]))
}

/// Computes both branches of a conditional on scalars, and selects between their results.
pub fn selected(edit: &mut Rewrite, instruction: &Instruction, branches: &[ComputationId]) -> Option<InstrId> {
    let &[on_true, on_false] = branches else { return None };
    let branches = [on_true, on_false].map(|branch| edit.module().computation(branch));
    let operands = edit.operands(instruction);
    let is_pred = edit.array(operands[0])?.element_type == ElementType::Pred;
    if !is_pred || !branches.iter().all(|branch| is_cheap(branch)) {
        return None;
    }
    let results = [0, 1].map(|branch| edit.splice(branches[branch], &[operands[branch + 1]]));
    let [on_true, on_false] = results.map(|result| edit.elements(result));
    let select = |(on_true, on_false)| edit.select(operands[0], on_true, on_false);
    let selected: Vec<InstrId> = on_true.into_iter().zip(on_false).map(select).collect();
    match instruction.shape.as_tuple() {
        Some(_) => Some(edit.tuple(selected)),
        None => selected.first().copied(),
    }
}

/// Whether a branch computes scalars from its argument by few and cheap operations.
fn is_cheap(branch: &Computation) -> bool {
    let is_scalar = |shape: &Shape| shape.as_array().is_some_and(|array| array.element_count() == 1);
    let is_cheap = |instruction: &Instruction| match &instruction.op {
        Op::Parameter { .. } | Op::GetTupleElement { .. } | Op::Tuple => true,
        Op::Constant(_) => is_scalar(&instruction.shape),
        op => op.is_elementwise() && !cost::is_function(op) && is_scalar(&instruction.shape),
    };
    let root = &branch.root_instruction().shape;
    branch.instructions.len() <= MOST_OPERATIONS
        && branch.instructions.iter().all(is_cheap)
        && (is_scalar(root) || root.as_tuple().is_some_and(|elements| elements.iter().all(is_scalar)))
}
