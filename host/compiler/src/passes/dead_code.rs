//! Removes instructions that no result depends on, and computations that are not called.

use fusebox_core::hlo::{Computation, Instruction, Module, Op};
use fusebox_edit::retain_instructions;

use crate::CompileError;
use crate::roles::drop_unreachable_computations;

/// Removes unused instructions, then computations without callers. Keeps parameters.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    for computation in &mut module.computations {
        let live = live(computation);
        retain_instructions(computation, |id| live[id.index()]);
    }
    drop_unreachable_computations(module);
    Ok(())
}

/// Returns, for each instruction, whether it is needed.
fn live(computation: &Computation) -> Vec<bool> {
    let mut live: Vec<bool> = computation.instructions.iter().map(is_kept).collect();
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

fn is_kept(instruction: &Instruction) -> bool {
    match &instruction.op {
        Op::Parameter { .. } => true,
        Op::CustomCall(attributes) => attributes.has_side_effect,
        _ => false,
    }
}
