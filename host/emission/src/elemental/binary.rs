//! Operations of two operands.

use fusebox_core::builder::{FunctionBuilder, IntPredicate, OpKind, Scalar, Value};
use fusebox_core::hlo::{BinaryOp, ElementType};

use super::float_types::widened;
use super::{bits, complex};

/// The operation on two values of type `ty`.
pub fn binary(b: &mut FunctionBuilder, op: BinaryOp, ty: ElementType, x: Value, y: Value) -> Result<Value, String> {
    match (op, ty) {
        (_, ty) if ty.is_complex() => complex::binary(b, op, ty, x, y),
        (BinaryOp::Complex, _) => Ok(b.complex(x, y)),
        (_, ty) if ty.is_float() => widened(b, ty, [x, y], |b, [x, y]| float(b, op, ty, x, y)),
        (_, ElementType::Pred) => pred(b, op, x, y),
        _ => integer(b, op, ty, x, y),
    }
}

fn undefined(op: BinaryOp, ty: ElementType) -> Result<Value, String> {
    Err(format!("{} is not defined on {ty}", op.opcode()))
}

fn float(b: &mut FunctionBuilder, op: BinaryOp, ty: ElementType, x: Value, y: Value) -> Result<Value, String> {
    let value = match op {
        BinaryOp::Add => b.addf(x, y),
        BinaryOp::Subtract => b.subf(x, y),
        BinaryOp::Multiply => b.mulf(x, y),
        BinaryOp::Divide => b.divf(x, y),
        BinaryOp::Remainder => b.remf(x, y),
        BinaryOp::Maximum => b.maximumf(x, y),
        BinaryOp::Minimum => b.minimumf(x, y),
        BinaryOp::Power => b.float_binary(OpKind::PowF, x, y),
        BinaryOp::Atan2 => b.float_binary(OpKind::Atan2, x, y),
        BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Xor
        | BinaryOp::Complex
        | BinaryOp::Mulhi
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRightArithmetic
        | BinaryOp::ShiftRightLogical => return undefined(op, ty),
    };
    Ok(value)
}

fn pred(b: &mut FunctionBuilder, op: BinaryOp, x: Value, y: Value) -> Result<Value, String> {
    match op {
        BinaryOp::Add | BinaryOp::Maximum | BinaryOp::Or => Ok(b.ori(x, y)),
        BinaryOp::Multiply | BinaryOp::Minimum | BinaryOp::And => Ok(b.andi(x, y)),
        BinaryOp::Subtract | BinaryOp::Xor => Ok(b.xori(x, y)),
        _ => undefined(op, ElementType::Pred),
    }
}

fn integer(b: &mut FunctionBuilder, op: BinaryOp, ty: ElementType, x: Value, y: Value) -> Result<Value, String> {
    let signed = ty.is_signed_integer();
    let value = match op {
        BinaryOp::Add => b.addi(x, y),
        BinaryOp::Subtract => b.subi(x, y),
        BinaryOp::Multiply => b.muli(x, y),
        BinaryOp::Divide => divide(b, ty, x, y),
        BinaryOp::Remainder => remainder(b, ty, x, y),
        BinaryOp::Power => power(b, ty, x, y),
        BinaryOp::Maximum if signed => b.maxsi(x, y),
        BinaryOp::Maximum => b.maxui(x, y),
        BinaryOp::Minimum if signed => b.minsi(x, y),
        BinaryOp::Minimum => b.minui(x, y),
        BinaryOp::And => b.andi(x, y),
        BinaryOp::Or => b.ori(x, y),
        BinaryOp::Xor => b.xori(x, y),
        BinaryOp::ShiftLeft | BinaryOp::ShiftRightLogical => shift(b, op, ty, x, y),
        BinaryOp::ShiftRightArithmetic => {
            // An amount of the width or more fills with the sign, as the largest amount below does.
            let top = b.int(i64::from(ty.bits()) - 1, Scalar::of_element(ty));
            let amount = b.minui(y, top);
            b.shrsi(x, amount)
        }
        BinaryOp::Mulhi => multiply_high(b, ty, x, y),
        BinaryOp::Atan2 | BinaryOp::Complex => return undefined(op, ty),
    };
    Ok(value)
}

/// A divisor without the cases that have no quotient, and whether it was 0.
fn safe_divisor(b: &mut FunctionBuilder, ty: ElementType, x: Value, y: Value) -> (Value, Value) {
    let scalar = Scalar::of_element(ty);
    let (zero, one) = (b.int(0, scalar), b.int(1, scalar));
    let by_zero = b.cmpi(IntPredicate::Eq, y, zero);
    let mut unsafe_case = by_zero;
    if ty.is_signed_integer() {
        let (smallest, minus_one) = (b.int(i64::MIN >> (64 - ty.bits()), scalar), b.int(-1, scalar));
        let (a, c) = (b.cmpi(IntPredicate::Eq, x, smallest), b.cmpi(IntPredicate::Eq, y, minus_one));
        let overflow = b.andi(a, c);
        unsafe_case = b.ori(unsafe_case, overflow);
    }
    (b.select(unsafe_case, one, y), by_zero)
}

/// `x / 0` has all bits set; the smallest number by -1 is itself.
fn divide(b: &mut FunctionBuilder, ty: ElementType, x: Value, y: Value) -> Value {
    let (divisor, by_zero) = safe_divisor(b, ty, x, y);
    let quotient = if ty.is_signed_integer() { b.divsi(x, divisor) } else { b.divui(x, divisor) };
    let ones = b.int(-1, Scalar::of_element(ty));
    b.select(by_zero, ones, quotient)
}

/// `x mod 0` is `x`; the smallest number by -1 leaves 0.
fn remainder(b: &mut FunctionBuilder, ty: ElementType, x: Value, y: Value) -> Value {
    let (divisor, by_zero) = safe_divisor(b, ty, x, y);
    let rest = if ty.is_signed_integer() { b.remsi(x, divisor) } else { b.remui(x, divisor) };
    b.select(by_zero, x, rest)
}

/// An amount of the width or more gives 0.
fn shift(b: &mut FunctionBuilder, op: BinaryOp, ty: ElementType, x: Value, y: Value) -> Value {
    let scalar = Scalar::of_element(ty);
    let (zero, width) = (b.int(0, scalar), b.int(i64::from(ty.bits()), scalar));
    let inside = b.cmpi(IntPredicate::Ult, y, width);
    let amount = b.select(inside, y, zero);
    let shifted = if op == BinaryOp::ShiftLeft { b.shli(x, amount) } else { b.shrui(x, amount) };
    b.select(inside, shifted, zero)
}

/// Upper half of the product.
fn multiply_high(b: &mut FunctionBuilder, ty: ElementType, x: Value, y: Value) -> Value {
    let wide = Scalar::Int(2 * ty.bits());
    let mut extend = |v| if ty.is_signed_integer() { b.extsi(v, wide) } else { b.extui(v, wide) };
    let (x, y) = (extend(x), extend(y));
    let product = b.muli(x, y);
    let width = bits::constant(b, ty.bits(), wide);
    let high = b.shrui(product, width);
    b.trunci(high, Scalar::of_element(ty))
}

/// Square and multiply over the bits of the exponent. A negative exponent gives the integer part of the
/// reciprocal: 1 for 1, ±1 for -1, else 0.
fn power(b: &mut FunctionBuilder, ty: ElementType, x: Value, y: Value) -> Value {
    let scalar = Scalar::of_element(ty);
    let (zero, one) = (b.int(0, scalar), b.int(1, scalar));
    let (mut result, mut base) = (one, x);
    // Written out: a loop in here would keep the loop around it from being vectorised.
    for bit in 0..ty.bits() {
        let mask = b.int(1i64.wrapping_shl(bit), scalar);
        let set = b.andi(y, mask);
        let odd = b.cmpi(IntPredicate::Ne, set, zero);
        let multiplied = b.muli(result, base);
        result = b.select(odd, multiplied, result);
        base = b.muli(base, base);
    }
    if !ty.is_signed_integer() {
        return result;
    }
    let minus_one = b.int(-1, scalar);
    let negative = b.cmpi(IntPredicate::Slt, y, zero);
    let (is_one, is_minus_one) = (b.cmpi(IntPredicate::Eq, x, one), b.cmpi(IntPredicate::Eq, x, minus_one));
    let unit = b.ori(is_one, is_minus_one);
    // For ±1 the loop's result is right for any bit pattern of the exponent: only its parity counts.
    let reciprocal = b.select(unit, result, zero);
    b.select(negative, reciprocal, result)
}
