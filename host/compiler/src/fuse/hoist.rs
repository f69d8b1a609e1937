//! Moves constants of more than one element out of the fusions of the program text, and passes them
//! to the fusions as operands. Kernel code contains no arrays.

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Instruction, Literal, Module, Op};

use super::decide::is_scalar_constant;
use crate::rebuild::Rebuild;
use crate::roles::{Role, in_role};

/// Passes array constants to every fusion as additional operands.
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

fn pass_arrays(caller: &Computation, fused: ComputationId, arrays: &[Instruction]) -> Computation {
    let mut rebuild = Rebuild::new(caller);
    for (id, instruction) in caller.ids().zip(&caller.instructions) {
        let calls_it = matches!(instruction.op, Op::Fusion { calls, .. } if calls == fused);
        let constants: Vec<InstrId> =
            if calls_it { arrays.iter().map(|array| rebuild.push(array.clone())).collect() } else { Vec::new() };
        let mut operands = rebuild.operands(instruction);
        operands.extend(constants);
        let new = rebuild.add(instruction, instruction.op.clone(), instruction.shape.clone(), operands);
        rebuild.set(id, new);
    }
    rebuild.finish()
}
