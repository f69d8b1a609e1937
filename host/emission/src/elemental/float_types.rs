//! Floats of all widths: what they are computed in, and the ways between them.

use fusebox_core::builder::{FloatPredicate, Scalar, Term};
use fusebox_core::hlo::ElementType;

/// Whether arithmetic on the type is done in `f32`.
pub fn is_narrow(ty: ElementType) -> bool {
    ty.is_float() && ty.bits() < 32
}

/// The type that arithmetic on `ty` is done in.
pub fn computed_in(ty: ElementType) -> ElementType {
    if is_narrow(ty) { ElementType::F32 } else { ty }
}

/// A value in the type it is computed in.
pub fn widen(x: Term<'_>) -> Term<'_> {
    if matches!(x.scalar(), Scalar::Float(float) if float.bits() < 32) { x.extf(Scalar::F32) } else { x }
}

/// A computed value rounded to `ty`.
pub fn narrow(ty: ElementType, x: Term<'_>) -> Term<'_> {
    if is_narrow(ty) { x.truncf(Scalar::of_element(ty)) } else { x }
}

/// A float as `to`, rounded once, to nearest even.
pub fn float_to_float(to: ElementType, x: Term<'_>) -> Term<'_> {
    match (x.scalar(), Scalar::of_element(to)) {
        (from, to) if from == to => x,
        (Scalar::F64, Scalar::F32) => x.truncf(Scalar::F32),
        (Scalar::F64, to) => round_to_odd(x).truncf(to),
        // Narrow floats reach f64 through f32, exactly, as fewer types have a direct way.
        (_, Scalar::F64) => widen(x).extf(Scalar::F64),
        (_, to) => widen(x).truncf(to),
    }
}

/// An `f64` as `f32`, where an inexact value becomes the neighbour with an odd mantissa. Rounding that to a
/// type of at most 22 mantissa bits gives what rounding the `f64` directly would.
fn round_to_odd(x: Term<'_>) -> Term<'_> {
    let nearest = x.truncf(Scalar::F32);
    let back = nearest.extf(Scalar::F64);
    let inexact = back.cmpf(FloatPredicate::One, x);
    let too_large = back.absf().gt(x.absf());
    let bits = nearest.to_bits();
    let even = (bits & 1_i64).eq(0_i64);
    let stepped = bits + too_large.select(-1_i64, bits.integer(1));
    (inexact & even).select(stepped, bits).to_float()
}

/// Computes in the wider type if `ty` is narrow.
pub fn widened<'f, const N: usize>(
    ty: ElementType,
    operands: [Term<'f>; N],
    compute: impl FnOnce([Term<'f>; N]) -> Result<Term<'f>, String>,
) -> Result<Term<'f>, String> {
    compute(operands.map(widen)).map(|result| narrow(ty, result))
}
