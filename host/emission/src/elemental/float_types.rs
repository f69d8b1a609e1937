//! Floats of all widths: the types that compute with them, and conversions.

use fusebox_core::builder::{Scalar, Term};
use fusebox_core::hlo::ElementType;

/// Whether arithmetic on the type uses `f32`.
pub fn is_narrow(ty: ElementType) -> bool {
    ty.is_float() && ty.bits() < 32
}

/// Returns the type that arithmetic on `ty` uses.
pub fn computed_in(ty: ElementType) -> ElementType {
    if is_narrow(ty) { ElementType::F32 } else { ty }
}

/// Converts a value to the type that computes with it.
pub fn widen(x: Term<'_>) -> Term<'_> {
    if matches!(x.scalar(), Scalar::Float(float) if float.bits() < 32) { x.extf(Scalar::F32) } else { x }
}

/// Rounds a computed value to `ty`.
pub fn narrow(ty: ElementType, x: Term<'_>) -> Term<'_> {
    if is_narrow(ty) { x.truncf(Scalar::of_element(ty)) } else { x }
}

/// Converts a float to `to`. Rounds once, to nearest even.
pub fn float_to_float(to: ElementType, x: Term<'_>) -> Term<'_> {
    match (x.scalar(), Scalar::of_element(to)) {
        (Scalar::F64, to) => x.truncf(to),
        (_, Scalar::F64) => x.extf(Scalar::F64),
        // Types of one width have no direct conversion.
        (from, to) if from != to => widen(x).truncf(to),
        _ => x,
    }
}

/// Computes in `f32` if `ty` is narrow.
pub fn widened<'f, const N: usize>(
    ty: ElementType,
    operands: [Term<'f>; N],
    compute: impl FnOnce([Term<'f>; N]) -> Result<Term<'f>, String>,
) -> Result<Term<'f>, String> {
    compute(operands.map(widen)).map(|result| narrow(ty, result))
}
