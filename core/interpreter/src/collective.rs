//! Collective operations, and other operations that compute nothing themselves.

use fusebox_core::hlo::{Collective, Instruction, Opcode};

use crate::caller::Caller;
use crate::error::{Outcome, malformed, unsupported};
use crate::manual;
use crate::operands::Operands;
use crate::value::Value;

/// Evaluates operations that the data model stores as [`fusebox_core::hlo::Op::Other`].
pub(crate) fn evaluate(
    caller: &mut dyn Caller,
    instruction: &Instruction,
    opcode: Opcode,
    attributes: &[(String, String)],
    called: &[fusebox_core::hlo::ComputationId],
    mut operands: Operands,
) -> Outcome<Value> {
    if let Some(device) = caller.device().filter(|device| device.is_inside() && Collective::is(&instruction.op)) {
        return manual::collective(caller, device, instruction, &operands);
    }
    if caller.module().replica_count > 1 || caller.module().num_partitions > 1 {
        return unsupported(format!(
            "{opcode} over several devices; the interpreter runs several devices only in manual computations"
        ));
    }
    match opcode {
        Opcode::AllReduce
        | Opcode::AllGather
        | Opcode::ReduceScatter
        | Opcode::AllToAll
        | Opcode::CollectiveBroadcast
        | Opcode::AllReduceStart
        | Opcode::AllGatherDone
        | Opcode::CollectivePermuteDone
        | Opcode::Domain => alone(instruction, operands),
        Opcode::CollectivePermute => permute(instruction, attributes, operands),
        Opcode::AllGatherStart | Opcode::CollectivePermuteStart | Opcode::CopyStart => started(instruction, operands),
        Opcode::CopyDone => operands.element(0),
        Opcode::AsyncStart => match called {
            [computation] => {
                let result = caller.call(*computation, operands.0.clone())?;
                padded(vec![Value::Tuple(operands.0), result], instruction)
            }
            _ => malformed("async-start calls one computation"),
        },
        Opcode::AllReduceDone | Opcode::AsyncUpdate => {
            operands.0.pop().map_or_else(|| malformed(format!("{opcode} takes an operand")), Ok)
        }
        Opcode::AsyncDone => operands.element(1),
        _ => unsupported(format!("{opcode} needs something outside the module that is not there")),
    }
}

/// Evaluates a collective in which only one device takes part. The result is the value that this
/// device sent.
fn alone(instruction: &Instruction, operands: Operands) -> Outcome<Value> {
    match operands.0.as_slice() {
        [only] if instruction.shape.as_tuple().is_none() => Ok(only.clone()),
        [tuple @ Value::Tuple(_)] => operands.element(1).or(Ok(tuple.clone())),
        _ => Ok(Value::Tuple(operands.0)),
    }
}

/// Evaluates `collective-permute`. If no device sends to this device, the result is zero.
fn permute(instruction: &Instruction, attributes: &[(String, String)], operands: Operands) -> Outcome<Value> {
    let pairs = attributes.iter().find(|(name, _)| name == "source_target_pairs").map_or("", |(_, value)| value);
    let compact: String = pairs.chars().filter(|c| !c.is_whitespace()).collect();
    if compact.contains("{0,0}") { alone(instruction, operands) } else { Value::zeros(&instruction.shape) }
}

/// Returns the result of an asynchronous start operation: a tuple of the operand, the result, and
/// zeros for any further elements of the shape.
fn started(instruction: &Instruction, operands: Operands) -> Outcome<Value> {
    let value = Value::one_or_tuple(operands.0);
    padded(vec![value.clone(), value], instruction)
}

fn padded(mut elements: Vec<Value>, instruction: &Instruction) -> Outcome<Value> {
    for shape in instruction.shape.as_tuple().unwrap_or_default().iter().skip(elements.len()) {
        elements.push(Value::zeros(shape)?);
    }
    Ok(Value::Tuple(elements))
}
