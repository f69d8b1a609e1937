//! Integers of any width, and `pred`.

use fusebox_core::hlo::{BinaryOp, ElementType, UnaryOp};

/// Wraps to the width of the type. Signed values are stored sign-extended, and unsigned values
/// zero-extended. A `u64` is stored as its bit pattern, and a `pred` as 0 or 1.
#[inline]
pub(crate) fn wrap(ty: ElementType, x: i64) -> i64 {
    if ty == ElementType::Pred {
        return i64::from(x != 0);
    }
    let unused = 64 - ty.bits();
    if ty.is_signed_integer() { x << unused >> unused } else { ((x as u64) << unused >> unused) as i64 }
}

/// Returns the smallest and the largest value of the type. For `u64`, returns 0 and the largest
/// value of `i64`.
pub(super) fn range(ty: ElementType) -> (i64, i64) {
    let bits = ty.bits();
    if ty.is_signed_integer() {
        (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits))
    } else {
        (0, if bits == 64 { i64::MAX } else { (1 << bits) - 1 })
    }
}

/// Applies a unary operation with a result of the same type. Returns `None` if the operation does
/// not exist on integers.
#[inline]
pub(super) fn unary(op: UnaryOp, ty: ElementType, x: i64) -> Option<i64> {
    let result = match op {
        UnaryOp::Abs if ty.is_signed_integer() => x.wrapping_abs(),
        UnaryOp::Abs | UnaryOp::Real => x,
        UnaryOp::Negate => x.wrapping_neg(),
        UnaryOp::Not if ty == ElementType::Pred => i64::from(x == 0),
        UnaryOp::Not => !x,
        UnaryOp::Sign if ty.is_signed_integer() => x.signum(),
        UnaryOp::Sign => i64::from(x != 0),
        UnaryOp::Popcnt => i64::from(unsigned(ty, x).count_ones()),
        UnaryOp::CountLeadingZeros => i64::from(unsigned(ty, x).leading_zeros()) - i64::from(64 - ty.bits()),
        _ => return None,
    };
    Some(wrap(ty, result))
}

/// Returns the bits of the value, zero-extended.
fn unsigned(ty: ElementType, x: i64) -> u64 {
    let unused = 64 - ty.bits();
    (x as u64) << unused >> unused
}

/// Applies a binary operation with a result of the same type. Returns `None` if the operation does
/// not exist on integers.
#[inline]
pub(super) fn binary(op: BinaryOp, ty: ElementType, a: i64, b: i64) -> Option<i64> {
    let result = match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Subtract => a.wrapping_sub(b),
        BinaryOp::Multiply => a.wrapping_mul(b),
        BinaryOp::Mulhi => multiply_high(ty, a, b),
        BinaryOp::Divide => divide(ty, a, b),
        BinaryOp::Remainder => remainder(ty, a, b),
        BinaryOp::Maximum if less(ty, a, b) => b,
        BinaryOp::Minimum if less(ty, b, a) => b,
        BinaryOp::Maximum | BinaryOp::Minimum => a,
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Power => power(ty, a, b),
        BinaryOp::ShiftLeft => in_width(ty, b).map_or(0, |n| a << n),
        BinaryOp::ShiftRightLogical => in_width(ty, b).map_or(0, |n| (unsigned(ty, a) >> n) as i64),
        BinaryOp::ShiftRightArithmetic => signed(ty, a) >> in_width(ty, b).unwrap_or(ty.bits() - 1),
        BinaryOp::Atan2 | BinaryOp::Complex => return None,
    };
    Some(wrap(ty, result))
}

/// Returns the shift amount if it is less than the width of the type. Amounts are unsigned.
fn in_width(ty: ElementType, amount: i64) -> Option<u32> {
    let amount = unsigned(ty, amount);
    (amount < u64::from(ty.bits())).then_some(amount as u32)
}

/// Reinterprets the bits of the value as a signed number.
fn signed(ty: ElementType, x: i64) -> i64 {
    let unused = 64 - ty.bits();
    x << unused >> unused
}

#[inline]
pub(super) fn less(ty: ElementType, a: i64, b: i64) -> bool {
    if ty == ElementType::U64 { (a as u64) < b as u64 } else { a < b }
}

/// Divides. Division by zero gives all ones. The smallest number divided by -1 gives itself.
fn divide(ty: ElementType, a: i64, b: i64) -> i64 {
    match b {
        0 => -1,
        _ if ty == ElementType::U64 => (a as u64 / b as u64) as i64,
        _ => a.wrapping_div(b),
    }
}

/// Computes the remainder. If the divisor is zero, the remainder is the dividend.
fn remainder(ty: ElementType, a: i64, b: i64) -> i64 {
    match b {
        0 => a,
        _ if ty == ElementType::U64 => (a as u64 % b as u64) as i64,
        _ => a.wrapping_rem(b),
    }
}

fn multiply_high(ty: ElementType, a: i64, b: i64) -> i64 {
    let wide = |x: i64| if ty == ElementType::U64 { i128::from(x as u64) } else { i128::from(x) };
    (wide(a).wrapping_mul(wide(b)) >> ty.bits()) as i64
}

/// Computes a power with wrap-around. If the exponent is negative, the base 1 gives 1, the base -1
/// gives 1 or -1, and any other base gives 0.
fn power(ty: ElementType, base: i64, exponent: i64) -> i64 {
    if ty.is_signed_integer() && exponent < 0 {
        return match base {
            1 => 1,
            -1 if exponent % 2 == 0 => 1,
            -1 => -1,
            _ => 0,
        };
    }
    let (mut result, mut square, mut rest) = (1i64, base, exponent as u64);
    while rest > 0 {
        if rest & 1 == 1 {
            result = result.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        rest >>= 1;
    }
    result
}
