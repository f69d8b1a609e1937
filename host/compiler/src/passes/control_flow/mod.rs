//! Loops of few turns and branches that are known, or cheap, become plain instructions.

mod branches;
mod turns;

use fusebox_core::hlo::{InstrId, Instruction, Module, Op};

use super::tuples;
use crate::CompileError;
use crate::rebuild::Rebuild;
use crate::roles::{Role, in_role};

/// Instructions that a module may grow by: bodies that call others twice can double at each level. What is left then stays.
const MOST_GROWTH: usize = 10_000;

/// Works on what is called before its callers, so that what is copied is final.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    let (mut has_changed, mut growth) = (false, 0);
    for id in in_role(module, Role::Sequence) {
        let old = module.computation(id);
        if old.instructions.iter().any(|it| matches!(it.op, Op::While { .. } | Op::Conditional { .. })) {
            let new = Rebuild::each(old, |rebuild, _, instruction| {
                let before = rebuild.size();
                let new = if growth < MOST_GROWTH { plain(module, rebuild, instruction) } else { None };
                growth += rebuild.size() - before;
                has_changed |= new.is_some();
                Ok::<_, CompileError>(new)
            })?;
            module.computations[id.index()] = new;
        }
    }
    if has_changed { tuples::run(module) } else { Ok(()) }
}

/// What a loop or branch is without being one.
fn plain(module: &Module, rebuild: &mut Rebuild, instruction: &Instruction) -> Option<InstrId> {
    match &instruction.op {
        Op::While { condition, body } => turns::unrolled(module, rebuild, instruction, *condition, *body),
        Op::Conditional { branches } => branches::known(module, rebuild, instruction, branches)
            .or_else(|| branches::selected(module, rebuild, instruction, branches)),
        _ => None,
    }
}
