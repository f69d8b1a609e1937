//! Element types in and out of the one that sums are kept in.

use fusebox_core::builder::{FunctionBuilder, Scalar, Value};
use fusebox_core::hlo::ElementType;

/// Whether [`convert`] has a way.
pub fn is_possible(from: ElementType, to: ElementType) -> bool {
    match () {
        _ if from == to => true,
        _ if from.is_complex() || to.is_complex() || to == ElementType::Pred => false,
        // From f64, rounding to what has less than f32 in one step takes more than an operation.
        _ if from.is_float() && to.is_float() => from.bits() <= 32 || to.bits() >= 32,
        _ => !from.is_float() && (!to.is_float() || to.bits() >= 32),
    }
}

/// A value of one type as the nearest of another.
pub fn convert(b: &mut FunctionBuilder, from: ElementType, to: ElementType, value: Value) -> Value {
    let target = Scalar::of_element(to);
    match (from.is_float(), to.is_float()) {
        _ if from == to => value,
        (true, _) if from.bits() > to.bits() => b.truncf(value, target),
        // Narrow floats reach f64 through f32, exactly.
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
