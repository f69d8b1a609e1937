//! Copies parts of a module into separate modules and computations.

use std::collections::HashMap;

use fusebox_core::hlo::{Computation, ComputationId, InstrId, Instruction, Module, Op, Shape, Span};

use crate::computations::{called_by, order_from, redirect_calls, restore_order};
use crate::{Builder, EditError, Rewritten};

/// Returns a module that takes the operands as parameters and applies the instruction to them.
/// Keeps the instruction's attributes only if the instruction has a backend config.
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

/// Returns a module whose entry is `entry`, with copies of all computations that `entry` calls.
/// `entry` refers to computations by their ids in `module`.
pub fn with_callees(module: &Module, entry: Computation, name: &str) -> Module {
    let order = callees(module, &entry);
    let numbers: HashMap<ComputationId, ComputationId> =
        order.iter().enumerate().map(|(number, &id)| (id, ComputationId(number as u32))).collect();
    let mut computations: Vec<Computation> = order.iter().map(|&id| module.computation(id).clone()).collect();
    computations.push(entry);
    for computation in &mut computations {
        redirect_calls(computation, |id| numbers.get(&id).copied().unwrap_or(id));
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

/// Returns the computations that `entry` calls, directly or indirectly. If the module's order puts
/// callees before callers, keeps this order. Otherwise sorts callees before callers.
fn callees(module: &Module, entry: &Computation) -> Vec<ComputationId> {
    let mut order = order_from(module, called_by(entry));
    let precede = |id: &ComputationId| called_by(module.computation(*id)).into_iter().all(|callee| callee < *id);
    if order.iter().all(precede) {
        order.sort_unstable();
    }
    order
}

/// The part of a computation that [`outlined`] copies.
pub struct Part<'a> {
    /// Instructions to copy, in program order.
    pub members: &'a [InstrId],
    /// Values that become parameters, in order. If a value occurs several times, the copied
    /// instructions read the last of the value's parameters.
    pub inputs: &'a [InstrId],
    /// Members whose values become the results of the new computation.
    pub roots: &'a [InstrId],
    /// Parameters replace this many leading operands of each root: parameter `n` replaces operand
    /// `n`.
    pub initial: usize,
}

/// Copies a part of a computation into a new computation. The result of the new computation is the
/// root, or a tuple of the roots if there are several.
pub fn outlined(old: &Computation, name: impl Into<String>, part: &Part) -> Computation {
    let mut map: HashMap<InstrId, InstrId> = HashMap::new();
    let mut instructions = Vec::with_capacity(part.members.len() + part.inputs.len() + 1);
    for (number, &input) in part.inputs.iter().enumerate() {
        map.insert(input, InstrId(instructions.len() as u32));
        let source = old.instruction(input);
        let name = format!("param_{number}.{}", source.name);
        let op = Op::Parameter { number: number as i64 };
        instructions.push(Instruction::new(name, source.shape.clone(), op, Vec::new()));
    }
    for &member in part.members {
        map.insert(member, InstrId(instructions.len() as u32));
        let mut copy = old.instruction(member).clone();
        let initial = if part.roots.contains(&member) { part.initial } else { 0 };
        let own = (0..initial).map(|number| InstrId(number as u32));
        copy.operands = own.chain(copy.operands[initial..].iter().map(|o| map[o])).collect();
        instructions.push(copy);
    }
    let roots: Vec<InstrId> = part.roots.iter().map(|root| map[root]).collect();
    let (root, span) = match roots[..] {
        [root] => (root, instructions[root.index()].span),
        _ => {
            let span = roots.first().map(|first| instructions[first.index()].span).unwrap_or_default();
            let shapes = roots.iter().map(|root| instructions[root.index()].shape.clone()).collect();
            instructions.push(Instruction::new("results", Shape::Tuple(shapes), Op::Tuple, roots));
            (InstrId(instructions.len() as u32 - 1), span)
        }
    };
    Computation { name: name.into(), instructions, root, execution_thread: None, span }
}

/// Returns a computation that has the parameters of `callee` and one other instruction. The other
/// instruction has the operation `op`, which calls `callee` with the parameters as arguments.
pub fn calling(module: &Module, callee: ComputationId, name: &str, op: Op) -> Computation {
    let called = module.computation(callee);
    let mut instructions: Vec<Instruction> =
        called.parameters().iter().map(|&id| called.instruction(id).clone()).collect();
    let operands = (0..instructions.len() as u32).map(InstrId).collect();
    let root = InstrId(instructions.len() as u32);
    let call = Instruction::new(called.name.clone(), called.root_instruction().shape.clone(), op, operands);
    instructions.push(Instruction { span: called.span, ..call });
    Computation { name: name.to_owned(), instructions, root, execution_thread: None, span: Span::default() }
}

/// Copies a computation. The result of the copy is the tuple of the values `results`.
pub fn with_results(computation: &Computation, results: &[InstrId]) -> Computation {
    let mut copy = computation.clone();
    let shapes = results.iter().map(|&id| copy.instruction(id).shape.clone()).collect();
    copy.root = InstrId(copy.instructions.len() as u32);
    copy.instructions.push(Instruction::new("values", Shape::Tuple(shapes), Op::Tuple, results.to_vec()));
    copy
}

/// Returns a computation that does not belong to a module. `write` adds the computation's
/// instructions and returns the root. The instructions may call computations of `module`.
/// Computations that `write` adds are dropped.
///
/// # Errors
/// Returns the fault of the first invalid instruction.
pub fn detached_computation(
    module: &Module,
    name: &str,
    write: impl FnOnce(&mut Builder) -> InstrId,
) -> Result<Computation, EditError> {
    let mut edit = Builder::new(module, 0);
    let root = write(&mut edit);
    let (name, span) = (name.to_owned(), Span::default());
    let like = Computation { name, instructions: Vec::new(), root, execution_thread: None, span };
    Ok(edit.finish(&like, root)?.computation)
}

/// Returns a module with a new entry computation. `write` adds the entry's instructions, and other
/// computations, and returns the entry's root. In the module, each computation precedes the
/// computations that call it.
///
/// # Errors
/// The error of `write`, or the fault of the first invalid instruction.
pub fn new_module<E: From<EditError>>(
    name: &str,
    write: impl FnOnce(&mut Builder) -> Result<InstrId, E>,
) -> Result<Module, E> {
    let empty = Module::default();
    let mut edit = Builder::new(&empty, 0);
    let root = write(&mut edit)?;
    let (entry, span) = ("main".to_owned(), Span::default());
    let like = Computation { name: entry, instructions: Vec::new(), root, execution_thread: None, span };
    let Rewritten { computation, added: mut computations, .. } = edit.finish(&like, root)?;
    computations.push(computation);
    let entry = Some(ComputationId(computations.len() as u32 - 1));
    let mut module =
        Module { name: name.to_owned(), computations, entry, replica_count: 1, num_partitions: 1, ..Module::default() };
    restore_order(&mut module);
    Ok(module)
}

/// Returns the shape of an array with the element type of `shape` and the sizes `dims`.
pub fn resized(shape: &Shape, dims: &[i64]) -> Shape {
    shape.as_array().map_or_else(|| shape.clone(), |array| Shape::array(array.element_type, dims))
}

/// Returns an instruction that has no operands and does not belong to a computation. Callers pass
/// the instruction to analyses, for example to learn whether an emitter would claim it.
pub fn detached_instruction(op: Op, shape: Shape) -> Instruction {
    Instruction::new(op.opcode().name(), shape, op, Vec::new())
}
