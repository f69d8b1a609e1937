//! Floats of all widths: what they are computed in, and the ways between them.

use fusebox_core::builder::{FloatPredicate, FunctionBuilder, IntPredicate, OpKind, Scalar, Value};
use fusebox_core::hlo::ElementType;

/// Whether arithmetic on the type is done in `f32`.
pub fn is_narrow(ty: ElementType) -> bool {
    ty.is_float() && ty.bits() < 32
}

/// The type that arithmetic on `ty` is done in.
pub fn computed_in(ty: ElementType) -> ElementType {
    if is_narrow(ty) { ElementType::F32 } else { ty }
}

/// A value of `ty` in the type it is computed in.
pub fn widen(b: &mut FunctionBuilder, ty: ElementType, x: Value) -> Value {
    if is_narrow(ty) { b.extf(x, Scalar::F32) } else { x }
}

/// A computed value rounded to `ty`.
pub fn narrow(b: &mut FunctionBuilder, ty: ElementType, x: Value) -> Value {
    if is_narrow(ty) { b.truncf(x, Scalar::of_element(ty)) } else { x }
}

/// `x` of type `from` as `to`, rounded once, to nearest even.
pub fn float_to_float(b: &mut FunctionBuilder, from: ElementType, to: ElementType, x: Value) -> Value {
    if from == to {
        return x;
    }
    let target = Scalar::of_element(to);
    match (from, to) {
        (ElementType::F64, ElementType::F32) => b.truncf(x, target),
        (ElementType::F64, _) => {
            let x = round_to_odd(b, x);
            b.truncf(x, target)
        }
        (_, ElementType::F64) => {
            // Narrow floats reach f64 through f32, exactly, as fewer types have a direct way.
            let x = widen(b, from, x);
            b.extf(x, target)
        }
        _ => {
            let x = widen(b, from, x);
            narrow(b, to, x)
        }
    }
}

/// An `f64` as `f32`, where an inexact value becomes the neighbour with an odd mantissa. Rounding that to a
/// type of at most 22 mantissa bits gives what rounding the `f64` directly would.
fn round_to_odd(b: &mut FunctionBuilder, x: Value) -> Value {
    let nearest = b.truncf(x, Scalar::F32);
    let back = b.extf(nearest, Scalar::F64);
    let inexact = b.cmpf(FloatPredicate::One, back, x);
    let (size_back, size_x) = (b.float_unary(OpKind::AbsF, back), b.float_unary(OpKind::AbsF, x));
    let too_large = b.cmpf(FloatPredicate::Ogt, size_back, size_x);
    let bits = b.bitcast(nearest, Scalar::I32);
    let (zero, one, minus_one) = (b.int(0, Scalar::I32), b.int(1, Scalar::I32), b.int(-1, Scalar::I32));
    let lowest = b.andi(bits, one);
    let even = b.cmpi(IntPredicate::Eq, lowest, zero);
    let step = b.select(too_large, minus_one, one);
    let stepped = b.addi(bits, step);
    let wrong = b.andi(inexact, even);
    let bits = b.select(wrong, stepped, bits);
    b.bitcast(bits, Scalar::F32)
}

/// Computes in the wider type if `ty` is narrow.
pub fn widened<const N: usize>(
    b: &mut FunctionBuilder,
    ty: ElementType,
    operands: [Value; N],
    compute: impl FnOnce(&mut FunctionBuilder, [Value; N]) -> Result<Value, String>,
) -> Result<Value, String> {
    let operands = operands.map(|x| widen(b, ty, x));
    let result = compute(b, operands)?;
    Ok(narrow(b, ty, result))
}
