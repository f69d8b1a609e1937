//! Operations on two complex numbers, as formulas on the real and imaginary parts.
//!
//! All operations except sums and products are computed on `f64` parts, as in the file `unary.rs`.

use std::ops::{Add, Div, Mul, Sub};

use fusebox_core::builder::Term;
use fusebox_core::hlo::{BinaryOp, Comparison, ElementType};

use super::compare::compare;
use super::complex_functions as functions;
use super::complex_pair::{ComplexPair, plain_quotient, recovered_quotient, rounded};

/// Applies the operation to two complex values of type `ty`.
pub fn binary<'f>(op: BinaryOp, ty: ElementType, x: Term<'f>, y: Term<'f>) -> Result<Term<'f>, String> {
    let parts = || (ComplexPair::of(x), ComplexPair::of(y));
    let wide = || (ComplexPair::wide(x), ComplexPair::wide(y));
    let of = |function: fn(ComplexPair<'f>, ComplexPair<'f>) -> ComplexPair<'f>, (x, y)| function(x, y);
    Ok(match op {
        BinaryOp::Add => of(ComplexPair::add, parts()).joined(),
        BinaryOp::Subtract => of(ComplexPair::sub, parts()).joined(),
        BinaryOp::Multiply => of(ComplexPair::mul, parts()).joined(),
        BinaryOp::Divide if ty == ElementType::C64 => {
            let quotient = of(plain_quotient, wide()).map(|part| rounded(ty, part));
            let (x, y) = parts();
            recovered_quotient(x, y, quotient).joined()
        }
        BinaryOp::Divide => of(ComplexPair::div, wide()).rounded(ty),
        BinaryOp::Power => of(functions::pow, wide()).rounded(ty),
        BinaryOp::Atan2 => of(functions::atan2, wide()).rounded(ty),
        BinaryOp::Maximum => compare(Comparison::Ge, None, ty, x, y).select(x, y),
        BinaryOp::Minimum => compare(Comparison::Le, None, ty, x, y).select(x, y),
        _ => return Err(format!("{} is not defined on complex numbers", op.opcode())),
    })
}
