//! A single elementwise operation on scalars.

use fusebox_core::builder::{FunctionBuilder, Scalar, Term, Value};
use fusebox_core::hlo::{BinaryOp, ElementType, Instruction, Op, Shape};

use super::{binary, bits, compare, constant, convert, unary};

/// Writes an instruction whose operands are scalars of these types. Returns the instruction's
/// value, or the reason why the instruction has no elementwise form.
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
    match &instruction.op {
        Op::Constant(literal) => constant::constant(b, literal, &[]),
        Op::Iota { .. } => Ok(b.zero(&Scalar::of_element(result).into())),
        op => b.formula(operands, |operands| formula(op, types, result, operands)),
    }
}

fn formula<'f>(op: &Op, types: &[ElementType], result: ElementType, operands: &[Term<'f>]) -> Result<Term<'f>, String> {
    match (op, types, operands) {
        (Op::Unary(op), &[ty], &[x]) => unary::unary(*op, ty, x),
        (Op::Binary(op), &[ty, _], &[x, y]) => binary::binary(*op, ty, x, y),
        (Op::Compare { direction, order }, &[ty, _], &[x, y]) => Ok(compare::compare(*direction, *order, ty, x, y)),
        (Op::Select, _, &[condition, on_true, on_false]) => Ok(condition.select(on_true, on_false)),
        (Op::Clamp, &[_, ty, _], &[low, x, high]) => {
            binary::binary(BinaryOp::Minimum, ty, binary::binary(BinaryOp::Maximum, ty, x, low)?, high)
        }
        (Op::Convert, &[ty], &[x]) => Ok(convert::convert(ty, result, x)),
        (Op::BitcastConvert | Op::Bitcast, &[ty], &[x]) => Ok(bits::reinterpret(ty, result, x)),
        (Op::StochasticConvert, &[ty, random], &[x, bits]) => convert::stochastic(ty, random, result, x, bits),
        (Op::ReducePrecision { exponent_bits, mantissa_bits }, &[ty], &[x]) => {
            bits::reduce_precision(ty, *exponent_bits, *mantissa_bits, x)
        }
        (op, ..) => Err(format!("{} of {} operands has no form on scalars", op.opcode(), operands.len())),
    }
}
