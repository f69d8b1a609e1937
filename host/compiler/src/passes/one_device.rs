//! Replaces exchanges between devices, and operations that are split into a start and a done half,
//! by what they compute on one device.
//!
//! ```text
//! all-reduce(x), all-gather(x), …        x: there is no other device
//! s = copy-start(x), copy-done(s)        s = (x, x, context), x
//! s = async-start(x), async-done(s)      s = ((x), f(x), context), f(x)
//! ```

use fusebox_core::hlo::{ArrayLiteral, InstrId, Instruction, Literal, Module, Op, Opcode, Shape};

use crate::CompileError;
use crate::rebuild::Rebuild;

/// Rewrites a module for one device. Does not change modules for several devices.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    if module.replica_count > 1 || module.num_partitions > 1 {
        return Ok(());
    }
    for computation in &mut module.computations {
        if computation.instructions.iter().any(|it| matches!(it.op, Op::Other { .. })) {
            *computation = Rebuild::each(computation, |rebuild, _, instruction| {
                Ok::<_, CompileError>(alone(rebuild, instruction))
            })?;
        }
    }
    Ok(())
}

/// Returns the replacement of an instruction; `None` if it needs none.
fn alone(rebuild: &mut Rebuild, instruction: &Instruction) -> Option<InstrId> {
    let Op::Other { opcode, called, attributes } = &instruction.op else { return None };
    let operands = rebuild.operands(instruction);
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
        | Opcode::AllReduceStart => together(rebuild, instruction, &operands, &instruction.shape),
        Opcode::AllGatherStart | Opcode::CollectivePermuteStart | Opcode::CopyStart => {
            let [sent, received, contexts @ ..] = instruction.shape.as_tuple()? else { return None };
            let sent = together(rebuild, instruction, &operands, sent)?;
            let received = together(rebuild, instruction, &operands, received)?;
            started(rebuild, instruction, sent, received, contexts)
        }
        Opcode::AsyncStart => {
            let [(_, computations)] = &called[..] else { return None };
            let &[to_apply] = &computations[..] else { return None };
            let [_, result, contexts @ ..] = instruction.shape.as_tuple()? else { return None };
            let sent = tuple(rebuild, instruction, operands.clone());
            let result = rebuild.add(instruction, Op::Call { to_apply }, result.clone(), operands);
            started(rebuild, instruction, sent, result, contexts)
        }
        Opcode::AllReduceDone | Opcode::AsyncUpdate => operands.first().copied(),
        Opcode::AllGatherDone | Opcode::CollectivePermuteDone | Opcode::AsyncDone => {
            element(rebuild, instruction, *operands.first()?, 1)
        }
        Opcode::CopyDone => element(rebuild, instruction, *operands.first()?, 0),
        _ => None,
    }
}

/// Whether no other device takes part, and this device receives the data that it sends.
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

/// Copies one operand, or a tuple of several, to the layouts of `shape`.
fn together(rebuild: &mut Rebuild, origin: &Instruction, operands: &[InstrId], shape: &Shape) -> Option<InstrId> {
    let shapes = match (operands, shape.as_tuple()) {
        ([_], None) => std::slice::from_ref(shape),
        (_, Some(shapes)) if shapes.len() == operands.len() => shapes,
        _ => return None,
    };
    let fits = |(&operand, shape): (&InstrId, &Shape)| rebuild.instruction(operand).shape.same_structure(shape);
    if !operands.iter().zip(shapes).all(fits) {
        return None;
    }
    let copy = |(&operand, shape): (&InstrId, &Shape)| rebuild.add(origin, Op::Copy, shape.clone(), vec![operand]);
    let copies: Vec<InstrId> = operands.iter().zip(shapes).map(copy).collect();
    match (&copies[..], shape.as_tuple()) {
        (&[copy], None) => Some(copy),
        _ => Some(tuple(rebuild, origin, copies)),
    }
}

/// Returns the result of a start half: the sent operands, the result, and contexts that no
/// instruction reads.
fn started(
    rebuild: &mut Rebuild,
    origin: &Instruction,
    sent: InstrId,
    result: InstrId,
    contexts: &[Shape],
) -> Option<InstrId> {
    let mut elements = vec![sent, result];
    for context in contexts {
        elements.push(zero(rebuild, origin, context)?);
    }
    Some(tuple(rebuild, origin, elements))
}

fn tuple(rebuild: &mut Rebuild, origin: &Instruction, elements: Vec<InstrId>) -> InstrId {
    let shapes = elements.iter().map(|&element| rebuild.instruction(element).shape.clone()).collect();
    rebuild.add(origin, Op::Tuple, Shape::Tuple(shapes), elements)
}

fn element(rebuild: &mut Rebuild, origin: &Instruction, operand: InstrId, index: usize) -> Option<InstrId> {
    let shape = rebuild.instruction(operand).shape.as_tuple()?.get(index)?.clone();
    Some(rebuild.add(origin, Op::GetTupleElement { index: index as i64 }, shape, vec![operand]))
}

/// Returns a scalar zero for a context. `None` if `shape` is not a scalar.
fn zero(rebuild: &mut Rebuild, origin: &Instruction, shape: &Shape) -> Option<InstrId> {
    let array = shape.as_array().filter(|array| array.dims.is_empty())?;
    let element_type = array.element_type;
    let data = vec![0; element_type.byte_size()].into();
    let literal = Literal::Array(ArrayLiteral { element_type, dims: Vec::new(), data });
    Some(rebuild.add(origin, Op::Constant(literal), shape.clone(), Vec::new()))
}
