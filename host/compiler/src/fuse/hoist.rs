//! Arrays never stand in a kernel's code: constants of more than one element leave the fusions that
//! the text brought along and become arguments.

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Instruction, Literal, Module, Op};

use super::decide::is_scalar_constant;
use crate::rebuild::Rebuild;
use crate::roles::{Role, in_role};

/// Gives every fusion its array constants as further operands.
pub fn arrays_out_of_fusions(module: &mut Module) {
    for fused in in_role(module, Role::Fused) {
        let arrays = parameters_for_arrays(&mut module.computations[fused.index()]);
        if arrays.is_empty() {
            continue;
        }
        for caller in in_role(module, Role::Sequence) {
            module.computations[caller.index()] = pass_arrays(module.computation(caller), fused, &arrays);
        }
    }
}

/// Turns the constants into parameters and gives back their values.
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

fn pass_arrays(caller: &Computation, fused: ComputationId, arrays: &[Instruction]) -> Computation {
    let mut rebuild = Rebuild::new(caller);
    for (id, instruction) in caller.ids().zip(&caller.instructions) {
        let calls_it = matches!(instruction.op, Op::Fusion { calls, .. } if calls == fused);
        let constants: Vec<InstrId> = match calls_it {
            true => arrays.iter().map(|array| rebuild.push(array.clone())).collect(),
            false => Vec::new(),
        };
        let mut operands = rebuild.operands(instruction);
        operands.extend(constants);
        let new = rebuild.add(instruction, instruction.op.clone(), instruction.shape.clone(), operands);
        rebuild.set(id, new);
    }
    rebuild.finish()
}
