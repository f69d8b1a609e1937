//! Replaces operations that exchange data between devices by the values that these operations have
//! on a single device. Also replaces asynchronous operations, which are split into a start half and
//! a done half.
//!
//! ```text
//! all-reduce(x), all-gather(x), …        x: there is no other device
//! s = copy-start(x), copy-done(s)        s = (x, x, context), x
//! s = async-start(x), async-done(s)      s = ((x), f(x), context), f(x)
//! ```

use fusebox_core::hlo::{InstrId, Instruction, Module, Op, Opcode, Shape};
use fusebox_edit::{Builder, Rewrite, rewrite};

use crate::CompileError;
use crate::roles::fits;

/// Rewrites a module for one device. Does not change modules for several devices.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    if module.replica_count > 1 || module.num_partitions > 1 {
        return Ok(());
    }
    for id in module.ids() {
        if module.computation(id).instructions.iter().any(|it| matches!(it.op, Op::Other { .. })) {
            rewrite(module, id, |edit, _, instruction| Ok::<_, CompileError>(alone(edit, instruction)))?;
        }
    }
    Ok(())
}

/// Returns the replacement of an instruction. `None` if the instruction needs no replacement.
fn alone(edit: &mut Rewrite, instruction: &Instruction) -> Option<InstrId> {
    let Op::Other { opcode, called, attributes } = &instruction.op else { return None };
    let operands = edit.operands(instruction);
    if !is_on_one_device(attributes) {
        return None;
    }
    match opcode {
        Opcode::AllReduce
        | Opcode::AllGather
        | Opcode::ReduceScatter
        | Opcode::AllToAll
        | Opcode::CollectiveBroadcast
        | Opcode::CollectivePermute
        | Opcode::AllReduceStart => together(edit, &operands, &instruction.shape),
        Opcode::AllGatherStart | Opcode::CollectivePermuteStart | Opcode::CopyStart => {
            let [sent, received, contexts @ ..] = instruction.shape.as_tuple()? else { return None };
            let sent = together(edit, &operands, sent)?;
            let received = together(edit, &operands, received)?;
            started(edit, sent, received, contexts)
        }
        Opcode::AsyncStart => {
            let [(_, computations)] = &called[..] else { return None };
            let &[to_apply] = &computations[..] else { return None };
            let [_, result, contexts @ ..] = instruction.shape.as_tuple()? else { return None };
            // No earlier check has compared the shapes.
            let shapes: Vec<&Shape> = operands.iter().map(|&id| edit.shape(id)).collect();
            if !fits(edit.module().computation(to_apply), &shapes, result) {
                return None;
            }
            let sent = edit.tuple(operands.clone());
            let result = edit.add_shaped(Op::Call { to_apply }, result.clone(), operands);
            started(edit, sent, result, contexts)
        }
        Opcode::AllReduceDone | Opcode::AsyncUpdate => operands.first().copied(),
        Opcode::AllGatherDone | Opcode::CollectivePermuteDone | Opcode::AsyncDone => {
            element(edit, *operands.first()?, 1)
        }
        Opcode::CopyDone => element(edit, *operands.first()?, 0),
        _ => None,
    }
}

/// Whether no other device takes part in an operation, and this device receives the data that it
/// sends.
fn is_on_one_device(attributes: &[(String, String)]) -> bool {
    attributes.iter().all(|(name, value)| {
        let value: String = value.chars().filter(|c| !c.is_whitespace()).collect();
        match name.as_str() {
            "replica_groups" => ["{}", "{{0}}", "[1,1]<=[1]"].contains(&value.as_str()),
            "source_target_pairs" => value == "{{0,0}}",
            _ => true,
        }
    })
}

/// Copies one operand, or a tuple of several operands, so that the copy has the layouts of `shape`.
fn together(edit: &mut Builder, operands: &[InstrId], shape: &Shape) -> Option<InstrId> {
    let shapes = match (operands, shape.as_tuple()) {
        ([_], None) => std::slice::from_ref(shape),
        (_, Some(shapes)) if shapes.len() == operands.len() => shapes,
        _ => return None,
    };
    if !operands.iter().zip(shapes).all(|(&operand, shape)| edit.shape(operand).same_structure(shape)) {
        return None;
    }
    let copy = |(&operand, shape): (&InstrId, &Shape)| edit.add_shaped(Op::Copy, shape.clone(), [operand]);
    let copies: Vec<InstrId> = operands.iter().zip(shapes).map(copy).collect();
    match (&copies[..], shape.as_tuple()) {
        (&[copy], None) => Some(copy),
        _ => Some(edit.tuple(copies)),
    }
}

/// Returns the result of a start half: the sent operands, the result, and contexts that no
/// instruction reads.
fn started(edit: &mut Builder, sent: InstrId, result: InstrId, contexts: &[Shape]) -> Option<InstrId> {
    let mut elements = vec![sent, result];
    for context in contexts {
        // A context is a scalar.
        let array = context.as_array().filter(|array| array.dims.is_empty())?;
        elements.push(edit.integer(array.element_type, 0));
    }
    Some(edit.tuple(elements))
}

/// Reads an element of a tuple. `None` if the tuple has no such element.
fn element(edit: &mut Builder, tuple: InstrId, index: usize) -> Option<InstrId> {
    edit.shape(tuple).as_tuple()?.get(index)?;
    Some(edit.element(tuple, index))
}
