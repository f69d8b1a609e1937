//! `custom-call`: the targets JAX emits on one device.

mod attributes;
mod lapack;

use fusebox_core::hlo::{CustomCallAttrs, Instruction};

use crate::error::{Outcome, malformed, unsupported};
use crate::evaluator::Evaluator;
use crate::sort;
use crate::value::{Array, Value};

use attributes::Attributes;

/// Evaluates a custom call.
pub(crate) fn evaluate(
    evaluator: &mut Evaluator,
    instruction: &Instruction,
    attrs: &CustomCallAttrs,
    operands: Vec<Value>,
) -> Outcome<Value> {
    let attributes = Attributes::new(instruction);
    match attrs.target.as_str() {
        target if is_identity(target) => identity(operands),
        "TopK" => {
            let k = last_dim_of_first_result(instruction)?;
            sort::topk(array(&operands, 0)?, k, attributes.flag("largest").unwrap_or(true))
        }
        // XLA wraps calls of composites and host computations this way.
        "xla.call" | "Call" if attrs.called.len() == 1 => evaluator.call(attrs.called[0], operands),
        target => match target.strip_prefix("lapack_").and_then(|rest| rest.strip_suffix("_ffi")) {
            Some(routine) => lapack::evaluate(routine, instruction, &attributes, &arrays(&operands)?),
            None => unsupported(format!("the custom-call target \"{target}\"")),
        },
    }
}

/// Annotations: markers for passes that one device does not need.
fn is_identity(target: &str) -> bool {
    const MARKERS: [&str; 10] = [
        "Sharding",
        "SPMDFullToShardShape",
        "SPMDShardToFullShape",
        "annotate_device_placement",
        "MoveToHost",
        "MoveToDevice",
        "LayoutConstraint",
        "PinToDevice",
        "PinToHost",
        "ResizeHint",
    ];
    MARKERS.contains(&target) || target.starts_with("xla.sdy.")
}

fn identity(mut operands: Vec<Value>) -> Outcome<Value> {
    match operands.len() {
        1 => Ok(operands.remove(0)),
        _ => Ok(Value::Tuple(operands)),
    }
}

fn array(operands: &[Value], index: usize) -> Outcome<&Array> {
    operands.get(index).map_or_else(|| malformed(format!("operand {index} is missing")), Value::array)
}

fn arrays(operands: &[Value]) -> Outcome<Vec<&Array>> {
    operands.iter().map(Value::array).collect()
}

fn last_dim_of_first_result(instruction: &Instruction) -> Outcome<i64> {
    let first = instruction.shape.as_tuple().and_then(|elements| elements.first()?.as_array());
    match first.and_then(|shape| shape.dims.last()) {
        Some(&k) => Ok(k),
        None => malformed("TopK gives a tuple of arrays"),
    }
}
