//! Handles operations whose results have an operand's value as initial value. The result reuses the
//! operand's buffer if no other instruction needs the operand.
//!
//! The operation is always the root of its kernel. The operand is a parameter that no other
//! instruction of the kernel reads, so the kernel may overwrite it at any time.

use std::collections::HashSet;

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Instruction, Module, Op};

use super::claims::{Claims, Heroes};
use crate::passes::splice;
use crate::rebuild::Rebuild;
use crate::roles::{Role, in_role};

/// Dissolves fusions of the program text in which an operation with an initial value is not the
/// root, or in which the initial value is not a parameter with exactly one use. The instructions of
/// dissolved fusions are then fused like all others.
pub fn dissolve_other_fusions(module: &mut Module, claims: &mut Claims) {
    let others: HashSet<ComputationId> = in_role(module, Role::Fused)
        .into_iter()
        .filter(|&fused| !is_in_form(module.computation(fused), &claims.of(module, fused)))
        .collect();
    dissolve(module, &others);
}

/// Replaces the fusions that call these computations by the instructions of the computations.
pub fn dissolve(module: &mut Module, others: &HashSet<ComputationId>) {
    let dissolves = |instruction: &Instruction| match instruction.op {
        Op::Fusion { calls, .. } => others.contains(&calls),
        _ => false,
    };
    for sequence in in_role(module, Role::Sequence) {
        let old = module.computation(sequence);
        if !old.instructions.iter().any(dissolves) {
            continue;
        }
        let mut rebuild = Rebuild::new(old);
        for (id, instruction) in old.ids().zip(&old.instructions) {
            let new = match instruction.op {
                Op::Fusion { calls, .. } if dissolves(instruction) => {
                    splice(&mut rebuild, module.computation(calls), instruction)
                }
                _ => rebuild.copy(instruction),
            };
            rebuild.set(id, new);
        }
        module.computations[sequence.index()] = rebuild.finish();
    }
}

fn is_in_form(fused: &Computation, heroes: &Heroes) -> bool {
    let users = fused.users();
    let own_parameter =
        |&id: &InstrId| matches!(fused.instruction(id).op, Op::Parameter { .. }) && users[id.index()].len() == 1;
    fused.ids().all(|id| {
        let values = heroes.initial_values(fused, id);
        let uses = |value: &InstrId| fused.instruction(id).operands.iter().filter(|&o| o == value).count();
        values.is_empty() || id == fused.root && values.iter().all(|value| own_parameter(value) && uses(value) == 1)
    })
}
