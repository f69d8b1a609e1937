//! Replaces each `call` by the instructions of its callee. Also inlines a fusion inside a fusion,
//! and a fusion that XLA leaves to a library. A fusion for a library is not a kernel but a program,
//! which the library would split into kernels.

use std::borrow::Cow;

use fusebox_core::hlo::{Computation, ComputationId, FusionKind, Instruction, Metadata, Module, Op, Shape};
use fusebox_edit::{call_order, rewrite};

use crate::CompileError;
use crate::roles::{Role, called_as_a_whole, fits, roles};

/// Largest number of instructions that calls may add to a computation. With nested calls, the
/// number of inlined instructions can double at each level of nesting.
const MOST_INSTRUCTIONS: usize = 300_000;

/// Inlines calls in all reachable computations. Visits callees before callers, so that each body is
/// final when it is copied.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    let roles = roles(module);
    for id in call_order(module) {
        let role = roles[id.index()];
        let inlines = |it: &Instruction| inlined_callee(&it.op, role).is_some();
        if role != Role::Unreachable && module.computation(id).instructions.iter().any(inlines) {
            inline(module, id, role)?;
        }
    }
    Ok(())
}

/// Returns the computation whose instructions replace an instruction.
pub(super) fn inlined_callee(op: &Op, caller: Role) -> Option<ComputationId> {
    match op {
        Op::Fusion { kind, calls } if caller != Role::Sequence || *kind == FusionKind::Custom => Some(*calls),
        op => called_as_a_whole(op),
    }
}

/// Assigns the source line of the call to each inlined instruction that has no source line.
/// Instructions from functions of JAX's own library have no source lines.
fn with_lines<'c>(callee: &'c Computation, call: &Instruction) -> Cow<'c, Computation> {
    fn line(it: &Instruction) -> Option<&Metadata> {
        it.extra.as_ref()?.metadata.as_ref().filter(|metadata| !metadata.source_file.is_empty())
    }
    let Some(of_call) = line(call).filter(|_| callee.instructions.iter().any(|it| line(it).is_none())) else {
        return Cow::Borrowed(callee);
    };
    let mut callee = callee.clone();
    for instruction in callee.instructions.iter_mut().filter(|it| line(it).is_none()) {
        let metadata = instruction.extra.get_or_insert_default().metadata.get_or_insert_default();
        if !metadata.op_name.is_empty() {
            metadata.op_name = format!("{}/{}", of_call.op_name, metadata.op_name);
        }
        metadata.source_file.clone_from(&of_call.source_file);
        metadata.source_line = of_call.source_line;
    }
    Cow::Owned(callee)
}

fn inline(module: &mut Module, caller: ComputationId, role: Role) -> Result<(), CompileError> {
    let mut size = 0;
    rewrite(module, caller, |edit, _, instruction| {
        let Some(callee) = inlined_callee(&instruction.op, role) else { return Ok(None) };
        let callee = edit.module().computation(callee);
        let shapes: Vec<&Shape> = instruction.operands.iter().map(|&id| &edit.old().instruction(id).shape).collect();
        if matches!(instruction.op, Op::CustomCall(_)) && !fits(callee, &shapes, &instruction.shape) {
            let message = "a custom call of a computation with other parameters or another result";
            return Err(CompileError::at(edit.module(), instruction, message));
        }
        size += callee.instructions.len();
        if size > MOST_INSTRUCTIONS {
            return Err(CompileError::at(
                edit.module(),
                instruction,
                format!("calls nest so deeply that more than {MOST_INSTRUCTIONS} instructions would result"),
            ));
        }
        let callee = with_lines(callee, instruction);
        let arguments = edit.operands(instruction);
        Ok(Some(edit.splice(&callee, &arguments)))
    })
}
