//! Arithmetic on the bits of PTX's types.

mod double;
mod float;
mod format;

pub mod integer;
pub use double::{add_double, div_double, fma_double, mul_double, sqrt_double};
pub use float::{
    Bf16, F16, F32, F64, Float, add_single, canonical, div_single, flush, fma_narrow, fma_single, mul_single,
    sqrt_single,
};
pub use format::{Format, Rounding, decode, encode, to_integer};
