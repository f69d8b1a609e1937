//! Refuses all instructions that fusebox does not compile. Reports all unsupported instructions at
//! once, before later passes rewrite the module.

use fusebox_core::hlo::{Collective, Diagnostic, Instruction, Module, Op, Opcode};

use crate::CompileError;
use crate::roles::{Role, on_devices, roles};

/// Reports every reachable instruction that fusebox cannot execute.
pub fn check(module: &mut Module) -> Result<(), CompileError> {
    let faults: Vec<Diagnostic> = module
        .computations
        .iter()
        .zip(roles(module).into_iter().zip(on_devices(module)))
        .filter(|(_, (role, _))| *role != Role::Unreachable)
        .flat_map(|(computation, (_, on_devices))| computation.instructions.iter().map(move |it| (it, on_devices)))
        .filter_map(|(instruction, on_devices)| {
            Some(diagnostic(module, instruction, reason(module, instruction, on_devices)?))
        })
        .collect();
    if faults.is_empty() { Ok(()) } else { Err(CompileError::Module(faults)) }
}

/// Returns the reason why an instruction is not supported. `on_devices` states whether each device
/// executes the instruction with parts of arrays.
fn reason(module: &Module, instruction: &Instruction, on_devices: bool) -> Option<String> {
    let opcode = instruction.opcode();
    match &instruction.op {
        op if Collective::is(op) && on_devices => Collective::of(module, instruction).err(),
        op if (Collective::is(op) || *op == Op::PartitionId) && module.num_partitions > 1 && !on_devices => {
            Some(format!(
                "{opcode} is supported only in manual computations, as shard_map makes them; all other code of a program \
             for several partitions runs once, on whole arrays"
            ))
        }
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
