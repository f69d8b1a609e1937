//! Single elements and HLO's elementwise operations on them.
//!
//! Each operation computes in the widest type of its operands' kind, and then calls [`round`] or
//! [`wrap`] once.

mod complex;
mod convert;
mod elementary;
mod format;
mod int;
mod operation;
mod precision;
mod real;
mod unary;

pub(crate) use complex::{Complex, complex};
pub(crate) use convert::{bitcast, convert};
pub(crate) use elementary::LongSum;
pub(crate) use format::float_format;
pub(crate) use int::wrap;
pub(crate) use operation::{binary, binary_result_type, clamp, compare, total_order, unary};
pub(crate) use precision::{reduce_precision, stochastic_convert};

use fusebox_core::hlo::ElementType;

/// Returns the value of the type nearest to `x`, with ties to even.
#[inline]
pub(crate) fn round(ty: ElementType, x: f64) -> f64 {
    match ty {
        ElementType::F64 => x,
        ElementType::F32 => f64::from(x as f32),
        _ => float_format(ty).round(x),
    }
}

/// Rounds the real and the imaginary part of `x` to the precision of the complex type `ty`.
#[inline]
pub(crate) fn round_complex(ty: ElementType, x: Complex) -> Complex {
    let part = ty.real_part();
    Complex { re: round(part, x.re), im: round(part, x.im) }
}
