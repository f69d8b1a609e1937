//! Extracts one instruction or computation of a module as a separate module.

use std::collections::HashMap;

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Instruction, Module, Op, Shape, Span};

use crate::passes::renumber;

/// Builds a module that takes the operands as parameters and applies the instruction to them.
pub fn of(module: &Module, instruction: &Instruction, operands: &[Shape]) -> Module {
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

/// Builds a module with `entry` as its entry and copies of the computations that it calls. `entry`
/// refers to computations by their ids in `module`.
pub fn with_callees(module: &Module, entry: Computation, name: &str) -> Module {
    let mut wanted = vec![false; module.computations.len()];
    let mark = |computation: &Computation, wanted: &mut Vec<bool>| {
        computation.instructions.iter().flat_map(|i| i.op.called()).for_each(|id| wanted[id.index()] = true);
    };
    mark(&entry, &mut wanted);
    for index in (0..module.computations.len()).rev() {
        if wanted[index] {
            mark(&module.computations[index], &mut wanted);
        }
    }
    let mut numbers: HashMap<ComputationId, ComputationId> = HashMap::new();
    let mut computations = Vec::new();
    for index in (0..wanted.len()).filter(|&i| wanted[i]) {
        numbers.insert(ComputationId(index as u32), ComputationId(computations.len() as u32));
        computations.push(module.computations[index].clone());
    }
    computations.push(entry);
    for instruction in computations.iter_mut().flat_map(|c| &mut c.instructions) {
        renumber(&mut instruction.op, &|id| numbers.get(&id).copied().unwrap_or(id));
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
