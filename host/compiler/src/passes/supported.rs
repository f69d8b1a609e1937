//! Refuses all instructions that fusebox does not compile. Reports all these instructions at once,
//! before any other work.

use fusebox_core::hlo::{Diagnostic, Instruction, Module, Op, Opcode};

use crate::CompileError;
use crate::roles::{Role, roles};

/// Reports every reachable instruction that fusebox cannot execute.
pub fn check(module: &mut Module) -> Result<(), CompileError> {
    let faults: Vec<Diagnostic> = module
        .computations
        .iter()
        .zip(roles(module))
        .filter(|(_, role)| *role != Role::Unreachable)
        .flat_map(|(computation, _)| &computation.instructions)
        .filter_map(|instruction| Some(diagnostic(module, instruction, reason(instruction)?)))
        .collect();
    if faults.is_empty() { Ok(()) } else { Err(CompileError::Module(faults)) }
}

fn reason(instruction: &Instruction) -> Option<String> {
    let opcode = instruction.opcode();
    match &instruction.op {
        Op::Other { opcode: Opcode::Domain, .. } => None,
        Op::Other { .. } => {
            Some(format!("{opcode} is not supported: fusebox compiles programs of one device without host transfers"))
        }
        _ => None,
    }
}

fn diagnostic(module: &Module, instruction: &Instruction, message: String) -> Diagnostic {
    Diagnostic {
        file: module.place_of(instruction),
        span: instruction.span,
        subject: Some(instruction.name.clone()),
        message,
        source_line: String::new(),
    }
}
