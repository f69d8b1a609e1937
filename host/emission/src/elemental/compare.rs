//! Comparisons.

use fusebox_core::builder::{FloatPredicate, FunctionBuilder, IntPredicate, Scalar, Value};
use fusebox_core::hlo::{Comparison, ComparisonType, ElementType, FloatFormat, Specials};

use super::float_types::widen;

/// Compares two values of type `ty`.
pub fn compare(
    b: &mut FunctionBuilder,
    direction: Comparison,
    order: Option<ComparisonType>,
    ty: ElementType,
    x: Value,
    y: Value,
) -> Result<Value, String> {
    if ty.is_complex() {
        return complex(b, direction, x, y);
    }
    if !ty.is_float() {
        return Ok(b.cmpi(integer_predicate(direction, ty.is_signed_integer()), x, y));
    }
    if order == Some(ComparisonType::TotalOrder) {
        let signed = ty != ElementType::F8E8M0FNU;
        let (x, y) = (ordered_bits(b, ty, x), ordered_bits(b, ty, y));
        return Ok(b.cmpi(integer_predicate(direction, signed), x, y));
    }
    let (x, y) = (widen(b, ty, x), widen(b, ty, y));
    Ok(b.cmpf(float_predicate(direction), x, y))
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

/// NaN differs from everything and is in no order with anything.
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

/// The bits as an integer in total order: -NaN < -inf < … < -0 < +0 < … < +NaN. Signed, unless the type has no sign.
fn ordered_bits(b: &mut FunctionBuilder, ty: ElementType, x: Value) -> Value {
    let scalar = Scalar::Int(ty.bits());
    let bits = b.bitcast(x, scalar);
    if ty == ElementType::F8E8M0FNU {
        return bits;
    }
    let (zero, all_but_sign) = (b.int(0, scalar), b.int(i64::MAX >> (64 - ty.bits()), scalar));
    let flipped = b.xori(bits, all_but_sign);
    let negative = b.cmpi(IntPredicate::Slt, bits, zero);
    if FloatFormat::of(ty).is_none_or(|format| format.specials != Specials::NanNegativeZero) {
        return b.select(negative, flipped, bits);
    }
    // The code of negative zero is the type's one NaN, a negative one: it stays the smallest.
    let smallest = b.int(i64::MIN >> (64 - ty.bits()), scalar);
    let is_number = b.cmpi(IntPredicate::Ne, bits, smallest);
    let negative = b.andi(negative, is_number);
    let negated = b.subi(smallest, bits);
    b.select(negative, negated, bits)
}

/// Equality of both parts; order by the real part, then the imaginary one.
fn complex(b: &mut FunctionBuilder, direction: Comparison, x: Value, y: Value) -> Result<Value, String> {
    let (xr, yr, xi, yi) = (b.re(x), b.re(y), b.im(x), b.im(y));
    let predicate = float_predicate(direction);
    match direction {
        Comparison::Eq => {
            let (re, im) = (b.cmpf(predicate, xr, yr), b.cmpf(predicate, xi, yi));
            Ok(b.andi(re, im))
        }
        Comparison::Ne => {
            let (re, im) = (b.cmpf(predicate, xr, yr), b.cmpf(predicate, xi, yi));
            Ok(b.ori(re, im))
        }
        Comparison::Ge | Comparison::Gt | Comparison::Le | Comparison::Lt => {
            let strict = match direction {
                Comparison::Ge | Comparison::Gt => FloatPredicate::Ogt,
                _ => FloatPredicate::Olt,
            };
            let first = b.cmpf(strict, xr, yr);
            let equal = b.cmpf(FloatPredicate::Oeq, xr, yr);
            let second = b.cmpf(predicate, xi, yi);
            let second = b.andi(equal, second);
            Ok(b.ori(first, second))
        }
    }
}
