//! What need not be done when an `f32` is rounded to `bf16`.
//!
//! Arithmetic on `bf16` is done in `f32` and rounded after each operation, and rounding takes eight instructions
//! where there is none for it. Two of them keep NaN from becoming a number, which happens if the lower half of its bits is not
//! zero: arithmetic on numbers that were read as `bf16` does not give such NaNs. And a result that is one of them needs
//! no rounding at all.

use std::collections::HashSet;

use fusebox_core::ir::{Float, OpKind, Value};

/// What is known about the values of type `f32` of a function.
#[derive(Default)]
pub(super) struct Rounding {
    /// Numbers of `bf16`.
    exact: HashSet<Value>,
    /// If they are NaN, the lower half of their bits is zero.
    short_nans: HashSet<Value>,
}

impl Rounding {
    /// That a value was read in this format.
    pub(super) fn set_format(&mut self, value: Value, format: Float) {
        if format == Float::BF16 {
            self.exact.insert(value);
            self.short_nans.insert(value);
        }
    }

    /// Whether a value is known to be a number of `bf16`, which is the upper half of its bits then.
    pub(super) fn is_exact(&self, value: Value) -> bool {
        self.exact.contains(&value)
    }

    pub(super) fn has_short_nans(&self, value: Value) -> bool {
        self.short_nans.contains(&value)
    }

    /// After an operation on floats.
    pub(super) fn follow(&mut self, operation: OpKind, operands: &[Value], result: Value) {
        let keeps = keeps_numbers(operation);
        if keeps && operands.iter().all(|operand| self.exact.contains(operand)) {
            self.exact.insert(result);
        }
        if (keeps || passes_nans(operation)) && operands.iter().all(|operand| self.short_nans.contains(operand)) {
            self.short_nans.insert(result);
        }
    }
}

/// Whether the result is one of the operands, but for the sign, or an integer near it.
fn keeps_numbers(operation: OpKind) -> bool {
    use OpKind::*;
    match operation {
        MaximumF | MinimumF | MaxNumF | MinNumF | NegF | Select | AbsF | CopySign => true,
        Ceil | Floor | Round | RoundEven | Trunc => true,
        _ => false,
    }
}

/// Whether the operation is an instruction, whose result is NaN if an operand is, with its bits, or else the default NaN.
fn passes_nans(operation: OpKind) -> bool {
    matches!(operation, OpKind::AddF | OpKind::SubF | OpKind::MulF | OpKind::DivF | OpKind::Sqrt | OpKind::Fma)
}
