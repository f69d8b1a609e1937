//! Four-bit integers with the semantics of XLA:CPU.
//!
//! XLA computes arithmetic on `s4` and `u4` in 8 bits and then truncates the result to 4 bits. If a
//! conversion to the 8-bit type of the same signedness follows immediately, XLA omits the
//! truncation, and programs see the 8-bit result. To match XLA, the interpreter keeps results of
//! 4-bit arithmetic in 8 bits. A conversion to the 8-bit type of the same signedness reads the
//! 8-bit results unchanged. Every other operation first truncates its operands to 4 bits.

use std::rc::Rc;

use fusebox_core::hlo::{BinaryOp, ElementType, Instruction, Op, UnaryOp};

use crate::number;
use crate::value::{Array, Data, Value};

/// Returns the type in which an operation computes: 8 bits for 4-bit arithmetic, else the type
/// itself.
pub(crate) fn computing_type(op: &Op, ty: ElementType) -> ElementType {
    let in_four_bits = matches!(
        op,
        Op::Unary(UnaryOp::CountLeadingZeros)
            | Op::Binary(BinaryOp::ShiftRightLogical | BinaryOp::ShiftRightArithmetic | BinaryOp::Mulhi)
    );
    match (op, ty) {
        _ if in_four_bits => ty,
        (Op::Unary(_) | Op::Binary(_) | Op::Dot(_), ElementType::S4) => ElementType::S8,
        (Op::Unary(_) | Op::Binary(_) | Op::Dot(_), ElementType::U4) => ElementType::U8,
        _ => ty,
    }
}

/// Truncates the operands to 4 bits, unless the instruction is the conversion to the 8-bit type.
pub(crate) fn cut_operands(instruction: &Instruction, operands: &mut [Value]) {
    let to = instruction.shape.as_array().map(|shape| shape.element_type);
    for operand in operands {
        let Value::Array(array) = operand else {
            continue;
        };
        let wide = match array.ty {
            ElementType::S4 => ElementType::S8,
            ElementType::U4 => ElementType::U8,
            _ => continue,
        };
        if !(instruction.op == Op::Convert && to == Some(wide)) {
            cut(array);
        }
    }
}

fn cut(array: &mut Rc<Array>) {
    let ty = array.ty;
    let Data::Int(values) = &array.data else {
        return;
    };
    if values.iter().any(|&x| number::wrap(ty, x) != x)
        && let Data::Int(values) = &mut Rc::make_mut(array).data
    {
        values.iter_mut().for_each(|x| *x = number::wrap(ty, *x));
    }
}
