//! Approximate instructions, whose results may differ from the rounded exact results.

use super::{LaneFn, Operands};

/// Computes the largest error of a result. The arguments are the operand, the exact result, and the
/// distance between the rounded result and the next number.
pub type ErrorBound = fn(f64, f64, f64) -> f64;

/// An instruction for which the PTX manual states an error.
#[derive(Clone, Debug)]
pub struct Approximation {
    /// Writes the rounded results.
    pub run: LaneFn,
    pub at: Operands,
    /// Number of operands, at most two.
    pub operands: usize,
    pub exact: fn(f64, f64) -> f64,
    pub bound: ErrorBound,
    pub narrow: Narrow,
    /// Number of results in a register.
    pub parts: u32,
}

/// The type of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Narrow {
    F32,
    F16,
    Bf16,
}
