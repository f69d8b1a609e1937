//! Conversions of operand elements to the type of the sums, and of sums to the type of the results.

use fusebox_core::builder::{FunctionBuilder, Scalar, Value};
use fusebox_core::hlo::ElementType;

/// Whether [`convert`] supports the conversion.
pub fn is_possible(from: ElementType, to: ElementType) -> bool {
    match () {
        _ if from == to => true,
        _ if from.is_complex() || to.is_complex() || to == ElementType::Pred => false,
        // Rounding f64 to a type narrower than f32 without an intermediate rounding takes more than
        // one operation.
        _ if from.is_float() && to.is_float() => from.bits() <= 32 || to.bits() >= 32,
        _ => !from.is_float() && (!to.is_float() || to.bits() >= 32),
    }
}

/// Converts a value to another type: a float to the nearest value, an integer by truncation or
/// extension.
pub fn convert(b: &mut FunctionBuilder, from: ElementType, to: ElementType, value: Value) -> Value {
    let target = Scalar::of_element(to);
    match (from.is_float(), to.is_float()) {
        _ if from == to => value,
        (true, _) if from.bits() > to.bits() => b.truncf(value, target),
        // Narrow floats are extended to f64 through f32. Both conversions are exact.
        (true, _) if from.bits() < 32 && to.bits() > 32 => {
            let wide = b.extf(value, Scalar::F32);
            b.extf(wide, target)
        }
        (true, _) => b.extf(value, target),
        (false, true) if from.is_signed_integer() => b.sitofp(value, target),
        (false, true) => b.uitofp(value, target),
        _ if from.bits() == to.bits() => value,
        _ if from.bits() > to.bits() => b.trunci(value, target),
        _ if from.is_signed_integer() => b.extsi(value, target),
        _ => b.extui(value, target),
    }
}
