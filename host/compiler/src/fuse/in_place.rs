//! Handles operations whose result starts from the value of an operand, the initial value. The
//! result reuses the operand's buffer if no other instruction needs the operand.
//!
//! An operation with an initial value is always the root of its kernel. The initial value is a
//! parameter that no other instruction of the kernel reads, so the kernel may overwrite the
//! parameter's buffer at any time.

use std::collections::HashSet;

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Instruction, Module, Op};
use fusebox_edit::{EditError, rewrite};

use super::claims::{Claims, Heroes};
use crate::roles::{Role, in_role};

/// Dissolves fusions of the program text in which an operation with an initial value is not the
/// root. Also dissolves fusions in which the initial value is not a parameter with exactly one use.
/// The instructions of dissolved fusions are then fused like all other instructions.
pub fn dissolve_other_fusions(module: &mut Module, claims: &mut Claims) -> Result<(), EditError> {
    let others: HashSet<ComputationId> = in_role(module, Role::Fused)
        .into_iter()
        .filter(|&fused| !is_in_form(module.computation(fused), &claims.of(module, fused)))
        .collect();
    dissolve(module, &others)
}

/// Replaces the fusions that call these computations by the instructions of the computations.
pub fn dissolve(module: &mut Module, others: &HashSet<ComputationId>) -> Result<(), EditError> {
    let dissolved = |instruction: &Instruction| match instruction.op {
        Op::Fusion { calls, .. } if others.contains(&calls) => Some(calls),
        _ => None,
    };
    for sequence in in_role(module, Role::Sequence) {
        if module.computation(sequence).instructions.iter().any(|it| dissolved(it).is_some()) {
            rewrite(module, sequence, |edit, _, instruction| {
                let Some(calls) = dissolved(instruction) else { return Ok::<_, EditError>(None) };
                let (fused, operands) = (edit.module().computation(calls), edit.operands(instruction));
                Ok(Some(edit.splice(fused, &operands)))
            })?;
        }
    }
    Ok(())
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
