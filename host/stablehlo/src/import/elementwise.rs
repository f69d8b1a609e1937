//! Operations that compute each element of the result from the elements of the operands at the same
//! position.

use fusebox_core::hlo::{BinaryOp, InstrId, Op, Opcode, UnaryOp};

use super::Imported;
use super::call::Call;

/// Adds an elementwise operation.
pub(super) fn elementwise(call: &mut Call) -> Imported<InstrId> {
    let operation = call.operation;
    let op = match &*operation.name {
        "bitcast_convert" => Op::BitcastConvert,
        "clamp" => Op::Clamp,
        "compare" => {
            // `NOTYPE` leaves the order to the element type, which is no name of HLO.
            let order = operation.text("compare_type").ok().and_then(|name| name.parse().ok());
            Op::Compare { direction: operation.named("comparison_direction")?, order }
        }
        "convert" => Op::Convert,
        "reduce_precision" => Op::ReducePrecision {
            exponent_bits: operation.integer("exponent_bits")?,
            mantissa_bits: operation.integer("mantissa_bits")?,
        },
        "select" => Op::Select,
        name => match named(&name.replace('_', "-")) {
            Some(op) => op,
            None => return call.unsupported("the operation is not supported"),
        },
    };
    call.push(op)
}

/// Returns the unary or binary operation that has this name in HLO.
pub(super) fn named(name: &str) -> Option<Op> {
    let opcode: Opcode = name.parse().ok()?;
    let unary = UnaryOp::from_opcode(opcode).map(Op::Unary);
    unary.or_else(|| BinaryOp::from_opcode(opcode).map(Op::Binary))
}
