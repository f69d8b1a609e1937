//! One elementwise operation on scalars.

use fusebox_core::builder::{FunctionBuilder, Scalar, Value};
use fusebox_core::hlo::{ElementType, Instruction, Op, Shape};

use super::{binary, bits, compare, constant, convert, unary};

/// The value of an instruction whose operands are scalars of these types. `Err`: why not.
pub fn operation(
    b: &mut FunctionBuilder,
    instruction: &Instruction,
    types: &[ElementType],
    operands: &[Value],
) -> Result<Value, String> {
    let result = match &instruction.shape {
        Shape::Array(array) => array.element_type,
        _ => return Err("has no elementwise form; keep it out of fusions".into()),
    };
    match (&instruction.op, types, operands) {
        (Op::Unary(op), &[ty], &[x]) => unary::unary(b, *op, ty, x),
        (Op::Binary(op), &[ty, _], &[x, y]) => binary::binary(b, *op, ty, x, y),
        (Op::Compare { direction, order }, &[ty, _], &[x, y]) => compare::compare(b, *direction, *order, ty, x, y),
        (Op::Select, _, &[condition, on_true, on_false]) => Ok(b.select(condition, on_true, on_false)),
        (Op::Clamp, &[_, ty, _], &[low, x, high]) => clamp(b, ty, low, x, high),
        (Op::Convert, &[ty], &[x]) => convert::convert(b, ty, result, x),
        (Op::BitcastConvert | Op::Bitcast, &[ty], &[x]) => bits::reinterpret(b, ty, result, x),
        (Op::StochasticConvert, &[ty, random], &[x, bits]) => convert::stochastic(b, ty, random, result, x, bits),
        (Op::ReducePrecision { exponent_bits, mantissa_bits }, &[ty], &[x]) => {
            bits::reduce_precision(b, ty, *exponent_bits, *mantissa_bits, x)
        }
        (Op::Constant(literal), ..) => constant::constant(b, literal, &[]),
        (Op::Iota { .. }, ..) => Ok(b.zero(&Scalar::of_element(result).into())),
        (op, ..) => Err(format!("{} of {} operands has no form on scalars", op.opcode(), operands.len())),
    }
}

/// `min(max(x, low), high)`
fn clamp(b: &mut FunctionBuilder, ty: ElementType, low: Value, x: Value, high: Value) -> Result<Value, String> {
    use fusebox_core::hlo::BinaryOp;
    let x = binary::binary(b, BinaryOp::Maximum, ty, x, low)?;
    binary::binary(b, BinaryOp::Minimum, ty, x, high)
}
