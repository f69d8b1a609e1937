//! Types in which a kernel computes with floats of each width, and conversions between floats.

use fusebox_core::builder::{Scalar, Term};
use fusebox_core::hlo::ElementType;

/// Whether the type is a float narrower than `f32`. Arithmetic on these floats uses `f32`.
pub fn is_narrow(ty: ElementType) -> bool {
    ty.is_float() && ty.bits() < 32
}

/// Returns the type in which arithmetic on values of type `ty` is computed.
pub fn computed_in(ty: ElementType) -> ElementType {
    if is_narrow(ty) { ElementType::F32 } else { ty }
}

/// Converts a value to the type in which arithmetic on it is computed.
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
        // There is no direct conversion between two types of the same width.
        (from, to) if from != to => widen(x).truncf(to),
        _ => x,
    }
}

/// Applies `compute` to the operands. If `ty` is a float narrower than `f32`, computes in `f32` and
/// rounds the result.
pub fn widened<'f, const N: usize>(
    ty: ElementType,
    operands: [Term<'f>; N],
    compute: impl FnOnce([Term<'f>; N]) -> Result<Term<'f>, String>,
) -> Result<Term<'f>, String> {
    compute(operands.map(widen)).map(|result| narrow(ty, result))
}
