//! Moves constants of more than one element out of the fusions of the program text, because kernel
//! code contains no arrays. Passes the constants to the fusions as operands.

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Instruction, Literal, Module, Op};
use fusebox_edit::{EditError, rewrite};

use super::decide::is_scalar_constant;
use crate::roles::{Role, in_role};

/// Passes array constants to every fusion as additional operands.
pub fn arrays_out_of_fusions(module: &mut Module) -> Result<(), EditError> {
    for fused in in_role(module, Role::Fused) {
        let arrays = parameters_for_arrays(&mut module.computations[fused.index()]);
        if arrays.is_empty() {
            continue;
        }
        for caller in in_role(module, Role::Sequence) {
            pass_arrays(module, caller, fused, &arrays)?;
        }
    }
    Ok(())
}

/// Replaces array constants by parameters, and returns the constants.
fn parameters_for_arrays(fused: &mut Computation) -> Vec<Instruction> {
    let mut number = fused.parameters().len() as i64;
    let mut arrays = Vec::new();
    for instruction in &mut fused.instructions {
        let is_array =
            matches!(&instruction.op, Op::Constant(Literal::Array(_))) && !is_scalar_constant(&instruction.op);
        if is_array {
            arrays.push(instruction.clone());
            instruction.op = Op::Parameter { number };
            number += 1;
        }
    }
    arrays
}

/// Adds the constants to a computation, as operands of each fusion that calls `fused`.
fn pass_arrays(
    module: &mut Module,
    caller: ComputationId,
    fused: ComputationId,
    arrays: &[Instruction],
) -> Result<(), EditError> {
    rewrite(module, caller, |edit, _, instruction| {
        let calls_it = matches!(instruction.op, Op::Fusion { calls, .. } if calls == fused);
        Ok(calls_it.then(|| {
            let constants: Vec<InstrId> = arrays.iter().map(|array| edit.push(array.clone())).collect();
            let operands = [edit.operands(instruction), constants].concat();
            edit.copy_with(instruction, operands)
        }))
    })
}
