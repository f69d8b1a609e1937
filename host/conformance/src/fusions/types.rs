//! Defines the element types, and for each type the range in which values are exact.

use fusebox_core::hlo::{ArrayLiteral, ArrayShape, ElementType, FloatFormat};

use super::chance::Chance;
use crate::literals::of_bits;

/// Element types with weights. The probability that a type is chosen is proportional to its weight.
const TYPES: [(ElementType, u32); 13] = [
    (ElementType::F32, 8),
    (ElementType::S32, 5),
    (ElementType::BF16, 4),
    (ElementType::F16, 2),
    (ElementType::F64, 2),
    (ElementType::S8, 2),
    (ElementType::U8, 2),
    (ElementType::Pred, 2),
    (ElementType::S64, 1),
    (ElementType::U32, 1),
    (ElementType::S16, 1),
    (ElementType::S4, 1),
    (ElementType::C64, 1),
];

/// Chooses a type at random.
pub fn any(chance: &mut Chance) -> ElementType {
    let total = TYPES.iter().map(|(_, weight)| i64::from(*weight)).sum();
    let mut left = chance.below(total);
    let found = TYPES.iter().find(|(_, weight)| {
        left -= i64::from(*weight);
        left < 0
    });
    found.map_or(ElementType::F32, |(ty, _)| *ty)
}

/// Returns a limit on the magnitude of elements. Sums and products of whole numbers up to the limit
/// do not depend on the order of operations. Integer types wrap around, so they need no limit.
/// Four-bit integers do need a limit, because they are computed in eight bits.
pub fn order_free_up_to(ty: ElementType) -> f64 {
    match ty {
        ElementType::S4 => 7.0,
        ElementType::Pred => 1.0,
        _ => match FloatFormat::of(ty.real_part()) {
            Some(format) => f64::from(format.mantissa_bits + 1).exp2(),
            None => f64::INFINITY,
        },
    }
}

/// Returns the largest magnitude that values of the type can have.
pub fn largest(ty: ElementType) -> f64 {
    match ty {
        ElementType::Pred => 1.0,
        _ if ty.is_integer() => f64::from(ty.bits() - u32::from(ty.is_signed_integer())).exp2() - 1.0,
        _ => f64::INFINITY,
    }
}

/// Returns the identity of a combiner, as text. A reduction starts from the identity.
pub fn neutral(combiner: &str, ty: ElementType) -> String {
    let lowest = match ty {
        _ if ty.is_float() => "-inf".into(),
        ElementType::Pred => "false".into(),
        _ if ty.is_unsigned_integer() => "0".into(),
        _ => format!("{}", -(1i128 << (ty.bits() - 1))),
    };
    let highest = match ty {
        _ if ty.is_float() => "inf".into(),
        ElementType::Pred => "true".into(),
        _ => format!("{}", (1i128 << (ty.bits() - u32::from(ty.is_signed_integer()))) - 1),
    };
    match (combiner, ty) {
        ("maximum", _) => lowest,
        ("minimum", _) => highest,
        ("and", ElementType::Pred) => "true".into(),
        ("or" | "add", ElementType::Pred) => "false".into(),
        ("and", _) if ty.is_unsigned_integer() => highest,
        ("and", _) => "-1".into(),
        ("multiply", ElementType::C64) => "(1, 0)".into(),
        ("multiply", _) => "1".into(),
        (_, ElementType::C64) => "(0, 0)".into(),
        _ => "0".into(),
    }
}

/// Returns the largest magnitude of an element in an array that [`filled`] creates without a range.
pub fn usual_bound(ty: ElementType) -> f64 {
    if ty == ElementType::Pred { 1.0 } else { 3.0 }
}

/// Returns an array of small integers. If `range` is set, all integers are within this range.
pub fn filled(ty: ElementType, dims: &[i64], range: Option<(i64, i64)>, chance: &mut Chance) -> ArrayLiteral {
    let part = ty.real_part();
    let (low, high) = range.unwrap_or(match ty {
        ElementType::Pred => (0, 1),
        _ if ty.is_unsigned_integer() => (0, 3),
        _ => (-3, 3),
    });
    of_bits(&ArrayShape::new(ty, dims.to_vec()), |_| {
        let value = low + chance.below(high - low + 1);
        FloatFormat::of(part).map_or(value as u64, |format| format.encode(value as f64))
    })
}
