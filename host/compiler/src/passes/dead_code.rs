//! Removes instructions that no result depends on, and computations that the entry does not reach.

use fusebox_core::hlo::{Computation, Module, Op};
use fusebox_edit::retain_instructions;

use crate::CompileError;
use crate::roles::drop_unreachable_computations;
use crate::side_effects::SideEffects;

/// Removes unused instructions, then computations that the entry does not reach. Keeps parameters.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    let effects = SideEffects::of(module);
    for computation in &mut module.computations {
        let live = live(computation, &effects);
        retain_instructions(computation, |id| live[id.index()]);
    }
    drop_unreachable_computations(module);
    Ok(())
}

/// Returns, for each instruction, whether the computation must keep it. The computation keeps
/// parameters, the root, instructions with side effects, and all operands of kept instructions.
fn live(computation: &Computation, effects: &SideEffects) -> Vec<bool> {
    let kept = computation.instructions.iter().map(|it| matches!(it.op, Op::Parameter { .. }) || effects.has(it));
    let mut live: Vec<bool> = kept.collect();
    live[computation.root.index()] = true;
    for id in computation.ids().rev() {
        if live[id.index()] {
            for operand in &computation.instruction(id).operands {
                live[operand.index()] = true;
            }
        }
    }
    live
}
