//! Simplifies conditionals: inlines a branch that is known to execute, and computes both branches
//! if that is cheaper than a conditional.

use fusebox_core::cost;
use fusebox_core::hlo::{Computation, ComputationId, ElementType, InstrId, Instruction, Module, Op, Shape};

use crate::passes::inline_calls::splice_with;
use crate::rebuild::Rebuild;

/// Largest number of operations of a branch that is computed unconditionally.
const MOST_OPERATIONS: usize = 16;

/// Inlines the branch that a constant selects.
pub fn known(
    module: &Module,
    rebuild: &mut Rebuild,
    instruction: &Instruction,
    branches: &[ComputationId],
) -> Option<InstrId> {
    let Op::Constant(index) = &rebuild.instruction(rebuild.mapped(instruction.operands[0])).op else { return None };
    let index = index.as_array()?;
    let last = branches.len().checked_sub(1)?;
    let taken = match index.as_integer() {
        Some(number) => usize::try_from(number).unwrap_or(last).min(last),
        None => usize::from(index.data.first() == Some(&0)),
    };
    let argument = rebuild.mapped(instruction.operands[taken + 1]);
    Some(splice_with(rebuild, module.computation(*branches.get(taken)?), &[argument]))
}

/// Computes both of two branches on scalars and selects their results.
pub fn selected(
    module: &Module,
    rebuild: &mut Rebuild,
    instruction: &Instruction,
    branches: &[ComputationId],
) -> Option<InstrId> {
    let &[on_true, on_false] = branches else { return None };
    let branches = [on_true, on_false].map(|branch| module.computation(branch));
    let predicate = rebuild.mapped(instruction.operands[0]);
    let is_pred = rebuild.instruction(predicate).shape.as_array()?.element_type == ElementType::Pred;
    if !is_pred || !branches.iter().all(|branch| is_cheap(branch)) {
        return None;
    }
    let arguments = [1, 2].map(|operand| rebuild.mapped(instruction.operands[operand]));
    let results = [0, 1].map(|branch| splice_with(rebuild, branches[branch], &[arguments[branch]]));
    let select = |rebuild: &mut Rebuild, shape: &Shape, [a, b]: [InstrId; 2]| {
        rebuild.add(instruction, Op::Select, shape.clone(), vec![predicate, a, b])
    };
    let Some(shapes) = instruction.shape.as_tuple() else {
        return Some(select(rebuild, &instruction.shape, results));
    };
    let mut elements = Vec::new();
    for (index, shape) in shapes.iter().enumerate() {
        let element = |rebuild: &mut Rebuild, tuple: InstrId| match rebuild.instruction(tuple) {
            Instruction { op: Op::Tuple, operands, .. } => operands[index],
            _ => {
                let op = Op::GetTupleElement { index: index as i64 };
                rebuild.add(instruction, op, shape.clone(), vec![tuple])
            }
        };
        let pair = results.map(|result| element(rebuild, result));
        elements.push(select(rebuild, shape, pair));
    }
    Some(rebuild.add(instruction, Op::Tuple, instruction.shape.clone(), elements))
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
