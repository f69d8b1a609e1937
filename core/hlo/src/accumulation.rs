//! Chooses the type in which `dot` and `convolution` multiply and add.

use super::ElementType;

/// Kinds of numbers. Each kind of number includes the kinds that are declared before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Pred,
    Integer,
    Float,
    Complex,
}

impl Kind {
    fn of(element_type: ElementType) -> Kind {
        match element_type {
            ElementType::Pred => Kind::Pred,
            _ if element_type.is_integer() => Kind::Integer,
            _ if element_type.is_float() => Kind::Float,
            _ => Kind::Complex,
        }
    }
}

/// Returns the type to which operands of a `dot` or `convolution` are converted before they are
/// multiplied and added. The sum is converted to the result's type once.
///
/// The returned type can represent every value of a float or complex operand. The order of the
/// kinds is: pred, integer, float, complex. If the result's kind is the operands' kind or a later
/// one, the returned type can also represent every value of the result. If operands and result are
/// integers, they are multiplied and added in the result's type, and wrap on overflow. Narrow
/// floats are summed in `f32`. If an operand or the result is a 64-bit float, floats are summed in
/// `f64`. Floats are also summed in `f64` if an operand has an integer type whose values `f32`
/// cannot all represent. A result of an earlier kind than the operands does not affect the type of
/// the sum. For example, `c64` operands with an `s32` result are multiplied and added in `c64`.
pub fn accumulation_type(lhs: ElementType, rhs: ElementType, result: ElementType) -> ElementType {
    let operands = Kind::of(lhs).max(Kind::of(rhs));
    match operands.max(Kind::of(result)) {
        Kind::Pred => ElementType::Pred,
        Kind::Integer if result.is_integer() => result,
        Kind::Integer if rhs.is_integer() && (lhs == ElementType::Pred || rhs.bits() > lhs.bits()) => rhs,
        Kind::Integer => lhs,
        Kind::Float if needs_f64(lhs, rhs, result) => ElementType::F64,
        Kind::Float => ElementType::F32,
        Kind::Complex if needs_f64(lhs, rhs, result) => ElementType::C128,
        Kind::Complex => ElementType::C64,
    }
}

fn needs_f64(lhs: ElementType, rhs: ElementType, result: ElementType) -> bool {
    let is_double = |ty: ElementType| ty.real_part() == ElementType::F64;
    let is_long = |ty: ElementType| ty.is_integer() && ty.bits() >= 32;
    [lhs, rhs].into_iter().any(|ty| is_double(ty) || is_long(ty)) || is_double(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_holds_the_operands_and_the_result() {
        let cases = [
            ("c128", "c128", "f32", "c128"),
            ("c64", "c64", "s32", "c64"),
            ("f64", "c64", "f32", "c128"),
            ("f32", "f32", "u32", "f32"),
            ("bf16", "bf16", "u32", "f32"),
            ("bf16", "bf16", "bf16", "f32"),
            ("f64", "f64", "f32", "f64"),
            ("f32", "f32", "f64", "f64"),
            ("f64", "f64", "c64", "c128"),
            ("s8", "s8", "f32", "f32"),
            ("s32", "f32", "f32", "f64"),
            ("s8", "u8", "s32", "s32"),
            ("s32", "s32", "s8", "s8"),
            ("u8", "s16", "pred", "s16"),
            ("pred", "s8", "pred", "s8"),
            ("pred", "pred", "pred", "pred"),
            ("pred", "pred", "f16", "f32"),
        ];
        for (lhs, rhs, result, expected) in cases {
            let [lhs, rhs, result, expected] = [lhs, rhs, result, expected].map(|name| name.parse().unwrap());
            assert_eq!(accumulation_type(lhs, rhs, result), expected, "{lhs} times {rhs} to {result}");
        }
    }
}
