//! Replaces each `call` by the instructions of its callee. Also inlines a fusion inside a fusion,
//! and a fusion that XLA leaves to a library. A fusion for a library is not a kernel but a program,
//! which the library would split into kernels.

use fusebox_core::hlo::{Computation, ComputationId, FusionKind, InstrId, Instruction, Module, Op};

use crate::CompileError;
use crate::rebuild::Rebuild;
use crate::roles::{Role, called_as_a_whole, roles};

/// Largest number of instructions that calls may add to a computation. With nested calls, this
/// number can double at each level.
const MOST_INSTRUCTIONS: usize = 300_000;

/// Inlines calls in all reachable computations. Visits callees before callers, so that each body is
/// final when it is copied.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    for (index, role) in roles(module).into_iter().enumerate() {
        let inlines = |op: &Op| inlined_callee(op, role).is_some();
        if role != Role::Unreachable && module.computations[index].instructions.iter().any(|i| inlines(&i.op)) {
            module.computations[index] = inline(module, &module.computations[index], role)?;
        }
    }
    Ok(())
}

/// Returns the computation whose instructions replace an instruction.
fn inlined_callee(op: &Op, caller: Role) -> Option<ComputationId> {
    match op {
        Op::Fusion { kind, calls } if caller != Role::Sequence || *kind == FusionKind::Custom => Some(*calls),
        op => called_as_a_whole(op),
    }
}

fn inline(module: &Module, caller: &Computation, role: Role) -> Result<Computation, CompileError> {
    let mut size = 0;
    Rebuild::each(caller, |rebuild, _, instruction| {
        let Some(callee) = inlined_callee(&instruction.op, role) else { return Ok(None) };
        let callee = module.computation(callee);
        if matches!(instruction.op, Op::CustomCall(_)) && !fits(caller, instruction, callee) {
            let message = "a custom call of a computation with other parameters or another result";
            return Err(CompileError::at(module, instruction, message));
        }
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

/// Whether a call has the shapes of its callee. For custom calls, no earlier check has verified
/// this.
fn fits(caller: &Computation, call: &Instruction, callee: &Computation) -> bool {
    let parameters = callee.parameters();
    let is_same = |(&operand, &parameter): (&InstrId, &InstrId)| {
        caller.instruction(operand).shape.same_structure(&callee.instruction(parameter).shape)
    };
    parameters.len() == call.operands.len()
        && call.operands.iter().zip(&parameters).all(is_same)
        && callee.root_instruction().shape.same_structure(&call.shape)
}

/// Copies the callee's instructions, and replaces the callee's parameters by the call's operands.
pub fn splice(rebuild: &mut Rebuild, callee: &Computation, call: &Instruction) -> InstrId {
    let arguments = rebuild.operands(call);
    splice_with(rebuild, callee, &arguments)
}

/// Copies the callee's instructions, and replaces the callee's parameters by these arguments.
pub fn splice_with(rebuild: &mut Rebuild, callee: &Computation, arguments: &[InstrId]) -> InstrId {
    copied(callee, arguments, |instruction| rebuild.push(instruction))
}

/// Adds the callee's instructions with `add`, which returns their new ids. `arguments` replace the
/// parameters. Returns the id of the root.
pub(super) fn copied(
    callee: &Computation,
    arguments: &[InstrId],
    mut add: impl FnMut(Instruction) -> InstrId,
) -> InstrId {
    let mut map: Vec<InstrId> = Vec::with_capacity(callee.instructions.len());
    for instruction in &callee.instructions {
        let new = match instruction.op {
            Op::Parameter { number } => arguments[number as usize],
            _ => {
                let mut copy = instruction.clone();
                copy.operands = instruction.operands.iter().map(|o| map[o.index()]).collect();
                add(copy)
            }
        };
        map.push(new);
    }
    map[callee.root.index()]
}
