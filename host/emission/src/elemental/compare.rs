//! Comparisons.

use fusebox_core::builder::{FloatPredicate, IntPredicate, Term};
use fusebox_core::hlo::{Comparison, ComparisonType, ElementType, FloatFormat, Specials};

use super::float_types::widen;

/// Compares two values of type `ty`.
pub fn compare<'f>(
    direction: Comparison,
    order: Option<ComparisonType>,
    ty: ElementType,
    x: Term<'f>,
    y: Term<'f>,
) -> Term<'f> {
    if ty.is_complex() {
        return complex(direction, x, y);
    }
    if !ty.is_float() {
        return x.cmpi(integer_predicate(direction, ty.is_signed_integer()), y);
    }
    if order == Some(ComparisonType::TotalOrder) {
        let signed = ty != ElementType::F8E8M0FNU;
        return ordered_bits(ty, x).cmpi(integer_predicate(direction, signed), ordered_bits(ty, y));
    }
    widen(x).cmpf(float_predicate(direction), widen(y))
}

fn integer_predicate(direction: Comparison, signed: bool) -> IntPredicate {
    match (direction, signed) {
        (Comparison::Eq, _) => IntPredicate::Eq,
        (Comparison::Ne, _) => IntPredicate::Ne,
        (Comparison::Ge, true) => IntPredicate::Sge,
        (Comparison::Gt, true) => IntPredicate::Sgt,
        (Comparison::Le, true) => IntPredicate::Sle,
        (Comparison::Lt, true) => IntPredicate::Slt,
        (Comparison::Ge, false) => IntPredicate::Uge,
        (Comparison::Gt, false) => IntPredicate::Ugt,
        (Comparison::Le, false) => IntPredicate::Ule,
        (Comparison::Lt, false) => IntPredicate::Ult,
    }
}

/// Returns the predicate that compares floats in a direction. NaN differs from every value, and is
/// neither less nor greater than any value.
fn float_predicate(direction: Comparison) -> FloatPredicate {
    match direction {
        Comparison::Eq => FloatPredicate::Oeq,
        Comparison::Ne => FloatPredicate::Une,
        Comparison::Ge => FloatPredicate::Oge,
        Comparison::Gt => FloatPredicate::Ogt,
        Comparison::Le => FloatPredicate::Ole,
        Comparison::Lt => FloatPredicate::Olt,
    }
}

/// Maps the bits of a float to an integer, so that the order of the integers is -NaN < -inf < … <
/// -0 < +0 < … < +NaN. The integer is signed if the float type has a sign.
fn ordered_bits(ty: ElementType, x: Term<'_>) -> Term<'_> {
    let bits = x.to_bits();
    if ty == ElementType::F8E8M0FNU {
        return bits;
    }
    let flipped = bits ^ (i64::MAX >> (64 - ty.bits()));
    let negative = bits.lt(0_i64);
    if FloatFormat::of(ty).is_none_or(|format| format.specials != Specials::NanNegativeZero) {
        return negative.select(flipped, bits);
    }
    // In this type, the bits of negative zero are the only NaN. It is a negative NaN, so it remains
    // the smallest integer.
    let smallest = bits.integer(i64::MIN >> (64 - ty.bits()));
    let is_number = bits.ne(smallest);
    (negative & is_number).select(smallest - bits, bits)
}

/// Compares complex numbers. A test for equality compares both parts. A test for an order compares
/// the real parts first, then the imaginary parts.
fn complex<'f>(direction: Comparison, x: Term<'f>, y: Term<'f>) -> Term<'f> {
    let (xr, yr, xi, yi) = (x.re(), y.re(), x.im(), y.im());
    let strict = match direction {
        Comparison::Eq => return xr.eq(yr) & xi.eq(yi),
        Comparison::Ne => return xr.ne(yr) | xi.ne(yi),
        Comparison::Ge | Comparison::Gt => FloatPredicate::Ogt,
        Comparison::Le | Comparison::Lt => FloatPredicate::Olt,
    };
    xr.cmpf(strict, yr) | (xr.eq(yr) & xi.cmpf(float_predicate(direction), yi))
}
