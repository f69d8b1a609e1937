//! Operations whose results start from an operand's value, in the operand's own buffer if nobody else needs it.
//!
//! Such an operation is always the root of its kernel, and what it starts from is a parameter of the kernel that
//! nothing in the kernel reads otherwise: the kernel may write over it at any time.

use std::collections::HashSet;

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Instruction, Module, Op};

use super::claims::{Claims, Heroes};
use crate::passes::splice;
use crate::rebuild::Rebuild;
use crate::roles::{Role, in_role};

/// Takes apart the fusions of the text that hold such an operation elsewhere than at their root, or feed it
/// anything but a parameter of its own. What becomes of the parts is decided as for any other instruction.
pub fn dissolve_other_fusions(module: &mut Module, claims: &mut Claims) {
    let others: HashSet<ComputationId> = in_role(module, Role::Fused)
        .into_iter()
        .filter(|&fused| !is_in_form(module.computation(fused), &claims.of(module, fused)))
        .collect();
    dissolve(module, &others);
}

/// Puts the instructions of these computations where they are called as fusions.
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
