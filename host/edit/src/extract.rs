//! Copies of parts of a module as modules of their own.

use std::collections::HashMap;

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Instruction, Module, Op, Shape, Span};

use crate::computations::{call_order, renumber};

/// Returns a module that takes the operands as parameters and applies the instruction to them.
/// Keeps the instruction's attributes only if it has a backend config.
pub fn instruction_as_module(module: &Module, instruction: &Instruction, operands: &[Shape]) -> Module {
    let parameters = operands.iter().enumerate().map(|(number, shape)| {
        Instruction::new(format!("p{number}"), shape.clone(), Op::Parameter { number: number as i64 }, Vec::new())
    });
    let mut instructions: Vec<Instruction> = parameters.collect();
    let mut applied = instruction.clone();
    applied.operands = (0..operands.len() as u32).map(InstrId).collect();
    applied.extra = instruction.extra.as_ref().filter(|e| e.backend_config.is_some()).cloned();
    let root = InstrId(instructions.len() as u32);
    instructions.push(applied);
    let entry = Computation { name: "main".into(), instructions, root, execution_thread: None, span: Span::default() };
    with_callees(module, entry, &instruction.name)
}

/// Returns a module with `entry` as its entry and copies of the computations that it calls. `entry`
/// refers to computations by their ids in `module`.
pub fn with_callees(module: &Module, entry: Computation, name: &str) -> Module {
    let mut wanted = vec![false; module.computations.len()];
    let mark = |computation: &Computation, wanted: &mut Vec<bool>| {
        computation.instructions.iter().flat_map(|i| i.op.called()).for_each(|id| wanted[id.index()] = true);
    };
    mark(&entry, &mut wanted);
    let order = call_order(module);
    for id in order.iter().rev() {
        if wanted[id.index()] {
            mark(module.computation(*id), &mut wanted);
        }
    }
    let mut numbers: HashMap<ComputationId, ComputationId> = HashMap::new();
    let mut computations = Vec::new();
    for id in order.into_iter().filter(|id| wanted[id.index()]) {
        numbers.insert(id, ComputationId(computations.len() as u32));
        computations.push(module.computation(id).clone());
    }
    computations.push(entry);
    for computation in &mut computations {
        renumber(computation, |id| numbers.get(&id).copied().unwrap_or(id));
    }
    let entry = Some(ComputationId(computations.len() as u32 - 1));
    Module {
        name: name.into(),
        computations,
        entry,
        replica_count: 1,
        num_partitions: 1,
        source_file: module.source_file.clone(),
        ..Module::default()
    }
}

/// Returns an instruction without operands that is in no computation. Analyses answer questions
/// about it, for example whether an emitter would claim it.
pub fn detached_instruction(op: Op, shape: Shape) -> Instruction {
    Instruction::new(op.opcode().name(), shape, op, Vec::new())
}
