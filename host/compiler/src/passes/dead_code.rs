//! Removes instructions that no result depends on, and computations that are not called.

use fusebox_core::hlo::{Computation, ComputationId, Instruction, Module, Op};

use crate::CompileError;
use crate::rebuild::Rebuild;
use crate::roles::{Role, roles};

/// Removes unused instructions, then computations without callers. Keeps parameters.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    for computation in &mut module.computations {
        *computation = live_part(computation);
    }
    drop_unreachable_computations(module);
    Ok(())
}

fn live_part(computation: &Computation) -> Computation {
    let live = live(computation);
    if live.iter().all(|&l| l) {
        return computation.clone();
    }
    let mut rebuild = Rebuild::new(computation);
    for (id, instruction) in computation.ids().zip(&computation.instructions) {
        if live[id.index()] {
            let new = rebuild.copy(instruction);
            rebuild.set(id, new);
        }
    }
    rebuild.finish()
}

/// Returns for each instruction whether it is needed.
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

/// Removes computations that the entry does not reach, and renumbers the others.
pub fn drop_unreachable_computations(module: &mut Module) {
    let roles = roles(module);
    let mut next = 0;
    let renumbered: Vec<ComputationId> = roles
        .iter()
        .map(|role| {
            let id = ComputationId(next);
            next += u32::from(*role != Role::Unreachable);
            id
        })
        .collect();
    let mut index = 0;
    module.computations.retain(|_| {
        index += 1;
        roles[index - 1] != Role::Unreachable
    });
    for instruction in module.computations.iter_mut().flat_map(|c| &mut c.instructions) {
        renumber(&mut instruction.op, &|id: ComputationId| renumbered[id.index()]);
    }
    module.entry = module.entry.map(|id| renumbered[id.index()]);
}

/// Replaces the ids of the computations that an operation calls.
pub fn renumber(op: &mut Op, new: &dyn Fn(ComputationId) -> ComputationId) {
    op.called_mut().into_iter().for_each(|id| *id = new(*id));
}
