//! Evaluates `custom-call`, with the targets that JAX emits for one device and for manual
//! computations.

mod attributes;
mod lapack;

use fusebox_core::hlo::{CustomCallAttrs, Instruction};

use crate::caller::Caller;
use crate::error::{Outcome, malformed, unsupported};
use crate::manual;
use crate::operands::Operands;
use crate::sort;
use crate::value::Value;

use attributes::Attributes;

pub(crate) fn evaluate(
    caller: &mut dyn Caller,
    instruction: &Instruction,
    attrs: &CustomCallAttrs,
    operands: Operands,
) -> Outcome<Value> {
    if let Some(outcome) = manual::custom_call(caller, instruction, attrs, &operands) {
        return outcome;
    }
    let attributes = Attributes::new(instruction);
    match attrs.target.as_str() {
        target if is_identity(target) => Ok(Value::one_or_tuple(operands.0)),
        "TopK" => {
            let k = last_dim_of_first_result(instruction)?;
            sort::topk(operands.array(0)?, k, attributes.flag("largest").unwrap_or(true))
        }
        // XLA uses these targets for calls of composites and of host computations.
        "xla.call" | "Call" if attrs.called.len() == 1 => caller.call(attrs.called[0], operands.0),
        target => match target.strip_prefix("lapack_").and_then(|rest| rest.strip_suffix("_ffi")) {
            Some(routine) => lapack::evaluate(routine, instruction, &attributes, &operands),
            None => unsupported(format!("the custom-call target \"{target}\"")),
        },
    }
}

/// Whether the target is only an annotation. Annotations control passes that a program for a single
/// device does not need.
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

fn last_dim_of_first_result(instruction: &Instruction) -> Outcome<i64> {
    let first = instruction.shape.as_tuple().and_then(|elements| elements.first()?.as_array());
    match first.and_then(|shape| shape.dims.last()) {
        Some(&k) => Ok(k),
        None => malformed("TopK gives a tuple of arrays"),
    }
}
