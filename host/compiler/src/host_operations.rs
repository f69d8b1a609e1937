//! Instructions that routines of the host execute.

use fusebox_core::hlo::{Diagnostic, Instruction, ManualComputation, Meshes, Module, Op};
use fusebox_edit::instruction_as_module;
use fusebox_routines::{Unsupported, describe};

use crate::CompileError;
use crate::fuse::{Executor, executor};
use crate::roles::{Role, called_on_devices, in_role};

/// Returns every instruction that the host executes, with a description of its routine, or with the
/// reason why no routine exists.
pub fn of(module: &Module) -> Vec<(&Instruction, Result<String, Unsupported>)> {
    let sequences = in_role(module, Role::Sequence).into_iter().map(|id| module.computation(id));
    let described = sequences.flat_map(|computation| {
        let on_host = computation.instructions.iter().filter(|it| executor(it) == Executor::Host);
        on_host.map(|instruction| {
            let shape = |&id| computation.instruction(id).shape.clone();
            let shapes: Vec<_> = instruction.operands.iter().map(shape).collect();
            let described = match called_on_devices(&instruction.op) {
                Some(_) => Ok(on_devices(instruction)),
                None => describe(&instruction_as_module(module, instruction, &shapes)),
            };
            (instruction, described)
        })
    });
    described.collect()
}

/// Describes a manual computation.
fn on_devices(instruction: &Instruction) -> String {
    let attributes = instruction.extra.as_ref().map(|extra| extra.frontend_attributes.clone()).unwrap_or_default();
    let devices = ManualComputation::read(&attributes, &Meshes::default()).map_or(0, |it| it.devices().len());
    format!("a thread for each of {devices} devices")
}

/// Reports every instruction that neither a kernel nor a routine executes.
pub fn check(module: &Module) -> Result<(), CompileError> {
    let diagnostic = |(instruction, described): (&Instruction, Result<String, Unsupported>)| {
        let operation = match &instruction.op {
            Op::CustomCall(call) => format!("custom-call \"{}\"", call.target),
            op => op.opcode().to_string(),
        };
        let message = format!("{operation}: fusebox has neither kernel nor routine for {}", described.err()?);
        Some(Diagnostic {
            file: module.place_of(instruction),
            span: instruction.span,
            subject: Some(instruction.name.clone()),
            message,
            source_line: String::new(),
        })
    };
    let faults: Vec<Diagnostic> = of(module).into_iter().filter_map(diagnostic).collect();
    if faults.is_empty() { Ok(()) } else { Err(CompileError::Module(faults)) }
}
