//! Replaces each `call` by the instructions of what it calls, and each fusion inside a fusion likewise.

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Instruction, Module, Op};

use crate::CompileError;
use crate::rebuild::Rebuild;
use crate::roles::{Role, roles};

/// Most instructions a computation may grow to: calls of calls can double at each level.
const MOST_INSTRUCTIONS: usize = 300_000;

/// Works on callees before callers, so that each body is final when it is copied.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    for (index, role) in roles(module).into_iter().enumerate() {
        let inlines = |op: &Op| inlined_callee(op, role).is_some();
        if role != Role::Unreachable && module.computations[index].instructions.iter().any(|i| inlines(&i.op)) {
            module.computations[index] = inline(module, &module.computations[index], role)?;
        }
    }
    Ok(())
}

/// The computation an instruction is to be replaced by.
fn inlined_callee(op: &Op, caller: Role) -> Option<ComputationId> {
    match op {
        Op::Call { to_apply } => Some(*to_apply),
        Op::Fusion { calls, .. } if caller != Role::Sequence => Some(*calls),
        _ => None,
    }
}

fn inline(module: &Module, caller: &Computation, role: Role) -> Result<Computation, CompileError> {
    let mut size = 0;
    Rebuild::each(caller, |rebuild, _, instruction| {
        let Some(callee) = inlined_callee(&instruction.op, role) else { return Ok(None) };
        let callee = module.computation(callee);
        size += callee.instructions.len();
        if size > MOST_INSTRUCTIONS {
            return Err(CompileError::at(
                module,
                instruction,
                format!("calls nest so deeply that more than {MOST_INSTRUCTIONS} instructions would result"),
            ));
        }
        Ok(Some(splice(rebuild, callee, instruction)))
    })
}

/// Copies the callee's instructions; its parameters become the call's operands.
pub fn splice(rebuild: &mut Rebuild, callee: &Computation, call: &Instruction) -> InstrId {
    let arguments = rebuild.operands(call);
    let mut map: Vec<InstrId> = Vec::with_capacity(callee.instructions.len());
    for instruction in &callee.instructions {
        let new = match instruction.op {
            Op::Parameter { number } => arguments[number as usize],
            _ => {
                let mut copy = instruction.clone();
                copy.operands = instruction.operands.iter().map(|o| map[o.index()]).collect();
                rebuild.push(copy)
            }
        };
        map.push(new);
    }
    map[callee.root.index()]
}
