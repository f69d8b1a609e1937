//! Duplicates kernels without operands, such as zero fills, for each user.
//!
//! Loops start from zeros, and an earlier pass has merged equal zeros into one instruction. A loop
//! overwrites its initial state, so merged zeros would need a separate buffer and a copy for each
//! loop. Filling memory takes no longer than copying it.

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Instruction, Module, Op};
use fusebox_edit::{EditError, rewrite};

use crate::roles::{Role, in_role};

/// Duplicates each kernel without operands, so that each user of the kernel has a copy. The
/// program's root gets no copy of its own, but uses the copy of another user.
pub fn duplicate_for_users(module: &mut Module) -> Result<(), EditError> {
    for id in in_role(module, Role::Sequence) {
        let computation = module.computation(id);
        let shared = shared(computation);
        if shared.iter().any(|&it| it) {
            let keeps = (module.entry == Some(id)).then_some(computation.root);
            duplicate(module, id, &shared, keeps)?;
        }
    }
    Ok(())
}

/// Returns, for each instruction, whether it is a kernel that has no operands but several uses.
fn shared(computation: &Computation) -> Vec<bool> {
    let mut uses = vec![0usize; computation.instructions.len()];
    computation.instructions.iter().flat_map(|it| &it.operands).for_each(|operand| uses[operand.index()] += 1);
    uses[computation.root.index()] += 1;
    let is_free = |it: &Instruction| matches!(it.op, Op::Fusion { .. }) && it.operands.is_empty();
    computation.instructions.iter().zip(uses).map(|(it, uses)| uses > 1 && is_free(it)).collect()
}

/// Duplicates the shared kernels for all users except `keeps`, which uses the copy of another user.
fn duplicate(module: &mut Module, id: ComputationId, shared: &[bool], keeps: Option<InstrId>) -> Result<(), EditError> {
    let mut is_used = vec![false; shared.len()];
    rewrite(module, id, |edit, id, instruction| {
        let mut operands = edit.operands(instruction);
        for (operand, &of) in operands.iter_mut().zip(&instruction.operands) {
            let is_shared = shared[of.index()] && keeps != Some(id);
            if is_shared && std::mem::replace(&mut is_used[of.index()], true) {
                *operand = edit.copy(edit.old().instruction(of));
            }
        }
        Ok(Some(edit.copy_with(instruction, operands)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fusebox_core::hlo::{parse_module, verify};

    #[test]
    fn each_state_has_zeros_of_its_own_and_the_result_shares_them() {
        let text = "HloModule m
zeros { z = f32[] constant(0)
  ROOT b = f32[8] broadcast(z), dimensions={} }
ENTRY main { zero = f32[8] fusion(), kind=kLoop, calls=zeros
  x = f32[8] parameter(0)
  s = (f32[8], f32[8], f32[8]) tuple(zero, x, zero)
  t = (f32[8], f32[8]) tuple(x, zero)
  ROOT r = (f32[8], (f32[8], f32[8], f32[8]), (f32[8], f32[8])) tuple(zero, s, t) }";
        let mut module = parse_module(text, "test.hlo").unwrap();
        duplicate_for_users(&mut module).unwrap();
        assert_eq!(verify(&module), Ok(()));
        let main = module.entry_computation().unwrap();
        let operands = |name| main.instruction(main.find(name).unwrap()).operands.clone();
        let (first, second) = (operands("s"), operands("t"));
        assert_eq!(main.root_instruction().operands[0], first[0]);
        let mut zeros = vec![first[0], first[2], second[1]];
        zeros.dedup();
        assert_eq!(zeros.len(), 3, "{main:?}");
        assert!(zeros.iter().all(|&id| main.instruction(id).operands.is_empty()));
    }
}
