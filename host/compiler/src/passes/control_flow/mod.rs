//! Unrolls loops of few iterations, and inlines branches that are known to execute, or that are
//! cheap to compute.

mod branches;
mod unrolling;

use fusebox_core::hlo::{InstrId, Instruction, Module, Op};
use fusebox_edit::{Rewrite, rewrite};

use super::tuples;
use crate::CompileError;
use crate::roles::{Role, in_role};

/// Largest number of instructions that this pass adds to a module. If each body calls another body
/// twice, the sizes of the bodies can double at each level of nesting. Once the pass has added
/// `MOST_GROWTH` instructions to the module, it leaves further loops and branches unchanged.
const MOST_GROWTH: usize = 10_000;

/// Unrolls loops and inlines branches in all computations that thunks execute. Visits callees
/// before callers, so that each body is final when it is copied.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    let (mut has_changed, mut growth) = (false, 0);
    for id in in_role(module, Role::Sequence) {
        let is_changed = |it: &Instruction| matches!(it.op, Op::While { .. } | Op::Conditional { .. });
        if module.computation(id).instructions.iter().any(is_changed) {
            rewrite(module, id, |edit, _, instruction| {
                let before = edit.size();
                let new = if growth < MOST_GROWTH { plain(edit, instruction) } else { None };
                growth += edit.size() - before;
                has_changed |= new.is_some();
                Ok::<_, CompileError>(new)
            })?;
        }
    }
    if has_changed { tuples::run(module) } else { Ok(()) }
}

/// Unrolls a loop or inlines a branch, if possible.
fn plain(edit: &mut Rewrite, instruction: &Instruction) -> Option<InstrId> {
    match &instruction.op {
        Op::While { condition, body } => unrolling::unrolled(edit, instruction, *condition, *body),
        Op::Conditional { branches } => {
            branches::known(edit, instruction, branches).or_else(|| branches::selected(edit, instruction, branches))
        }
        _ => None,
    }
}
