//! Operations of two operands.

use fusebox_core::builder::{IntPredicate, Scalar, Term};
use fusebox_core::hlo::{BinaryOp, ElementType};

use super::complex;
use super::float_types::widened;

/// Applies the operation to two values of type `ty`.
pub fn binary<'f>(op: BinaryOp, ty: ElementType, x: Term<'f>, y: Term<'f>) -> Result<Term<'f>, String> {
    match (op, ty) {
        (_, ty) if ty.is_complex() => complex::binary(op, ty, x, y),
        (BinaryOp::Complex, _) => Ok(x.complex(y)),
        (_, ty) if ty.is_float() => widened(ty, [x, y], |[x, y]| float(op, ty, x, y)),
        (_, ElementType::Pred) => pred(op, x, y),
        _ => integer(op, ty, x, y),
    }
}

fn undefined<T>(op: BinaryOp, ty: ElementType) -> Result<T, String> {
    Err(format!("{} is not defined on {ty}", op.opcode()))
}

fn float<'f>(op: BinaryOp, ty: ElementType, x: Term<'f>, y: Term<'f>) -> Result<Term<'f>, String> {
    use BinaryOp::{And, Complex, Mulhi, Or, ShiftLeft, ShiftRightArithmetic, ShiftRightLogical, Xor};
    Ok(match op {
        BinaryOp::Add => x + y,
        BinaryOp::Subtract => x - y,
        BinaryOp::Multiply => x * y,
        BinaryOp::Divide => x / y,
        BinaryOp::Remainder => x.remf(y),
        BinaryOp::Maximum => x.maximumf(y),
        BinaryOp::Minimum => x.minimumf(y),
        BinaryOp::Power => x.powf(y),
        BinaryOp::Atan2 => x.atan2(y),
        And | Or | Xor | Complex | Mulhi | ShiftLeft | ShiftRightArithmetic | ShiftRightLogical => {
            return undefined(op, ty);
        }
    })
}

fn pred<'f>(op: BinaryOp, x: Term<'f>, y: Term<'f>) -> Result<Term<'f>, String> {
    match op {
        BinaryOp::Add | BinaryOp::Maximum | BinaryOp::Or => Ok(x | y),
        BinaryOp::Multiply | BinaryOp::Minimum | BinaryOp::And => Ok(x & y),
        BinaryOp::Subtract | BinaryOp::Xor => Ok(x ^ y),
        _ => undefined(op, ElementType::Pred),
    }
}

fn integer<'f>(op: BinaryOp, ty: ElementType, x: Term<'f>, y: Term<'f>) -> Result<Term<'f>, String> {
    let signed = ty.is_signed_integer();
    Ok(match op {
        BinaryOp::Add => x + y,
        BinaryOp::Subtract => x - y,
        BinaryOp::Multiply => x * y,
        BinaryOp::Divide => divide(signed, x, y),
        BinaryOp::Remainder => remainder(signed, x, y),
        BinaryOp::Power => power(signed, x, y),
        BinaryOp::Maximum if signed => x.maxsi(y),
        BinaryOp::Maximum => x.maxui(y),
        BinaryOp::Minimum if signed => x.minsi(y),
        BinaryOp::Minimum => x.minui(y),
        BinaryOp::And => x & y,
        BinaryOp::Or => x | y,
        BinaryOp::Xor => x ^ y,
        BinaryOp::ShiftLeft => shifted(x, y, |x, amount| x.shli(amount)),
        BinaryOp::ShiftRightLogical => shifted(x, y, |x, amount| x.shrui(amount)),
        // A shift by at least the width yields only sign bits, like a shift by the width minus 1.
        BinaryOp::ShiftRightArithmetic => x.shrsi(y.minui(i64::from(ty.bits()) - 1)),
        BinaryOp::Mulhi => multiply_high(signed, x, y),
        BinaryOp::Atan2 | BinaryOp::Complex => return undefined(op, ty),
    })
}

/// Returns the divisor, or 1 where the quotient is not defined. Also returns whether the original
/// divisor is 0.
fn safe_divisor<'f>(signed: bool, x: Term<'f>, y: Term<'f>) -> (Term<'f>, Term<'f>) {
    let by_zero = y.eq(0_i64);
    let mut unsafe_case = by_zero;
    if signed {
        let overflow = x.eq(i64::MIN >> (64 - x.scalar().bits())) & y.eq(-1_i64);
        unsafe_case = by_zero | overflow;
    }
    (unsafe_case.select(1_i64, y), by_zero)
}

/// Divides. The quotient `x / 0` has all bits set. The smallest number divided by -1 is the
/// smallest number.
fn divide<'f>(signed: bool, x: Term<'f>, y: Term<'f>) -> Term<'f> {
    let (divisor, by_zero) = safe_divisor(signed, x, y);
    let quotient = if signed { x.divsi(divisor) } else { x.divui(divisor) };
    by_zero.select(-1_i64, quotient)
}

/// Computes the remainder. `x mod 0` is `x`. The smallest number modulo -1 is 0.
fn remainder<'f>(signed: bool, x: Term<'f>, y: Term<'f>) -> Term<'f> {
    let (divisor, by_zero) = safe_divisor(signed, x, y);
    let rest = if signed { x.remsi(divisor) } else { x.remui(divisor) };
    by_zero.select(x, rest)
}

/// Shifts. If the shift amount is at least the width in bits, the result is 0. The amount is
/// clamped because LLVM 22 turns `select(y < 64, x << y, 0)` into the shift instruction of PTX.
/// PTX's shift instruction also clamps the amount, but reads only the amount's lower 32 bits.
fn shifted<'f>(x: Term<'f>, y: Term<'f>, shift: impl FnOnce(Term<'f>, Term<'f>) -> Term<'f>) -> Term<'f> {
    let most = i64::from(y.scalar().bits()) - 1;
    let inside = y.cmpi(IntPredicate::Ule, most);
    inside.select(shift(x, y.minui(most)), x.integer(0))
}

/// Returns the upper half of the product.
fn multiply_high<'f>(signed: bool, x: Term<'f>, y: Term<'f>) -> Term<'f> {
    let bits = x.scalar().bits();
    let wide = Scalar::Int(2 * bits);
    let [x, y] = [x, y].map(|it| if signed { it.extsi(wide) } else { it.extui(wide) });
    (x * y).shrui(i64::from(bits)).trunci(Scalar::Int(bits))
}

/// Computes the power by repeated squaring, in one step per bit of the exponent. If the exponent is
/// negative, the result is the integer part of the reciprocal: 1 for base 1, ±1 for base -1, and 0
/// for any other base.
fn power<'f>(signed: bool, x: Term<'f>, y: Term<'f>) -> Term<'f> {
    let (mut result, mut base) = (x.integer(1), x);
    // Unrolled, because a loop here would prevent vectorising the loop around it.
    for bit in 0..x.scalar().bits() {
        let odd = (y & 1i64.wrapping_shl(bit)).ne(0_i64);
        result = odd.select(result * base, result);
        base = base * base;
    }
    if !signed {
        return result;
    }
    let negative = y.lt(0_i64);
    let unit = x.eq(1_i64) | x.eq(-1_i64);
    // For ±1 the loop's result is right for any bit pattern of the exponent, because only the
    // exponent's parity matters.
    let reciprocal = unit.select(result, result.integer(0));
    negative.select(reciprocal, result)
}
