//! Finds where the rounding of `f32` to `bf16` can be simplified or dropped.
//!
//! Arithmetic on `bf16` is computed in `f32` and rounded after each operation. On targets without
//! an instruction that rounds `f32` to `bf16`, the rounding takes eight instructions. Two of the
//! eight instructions keep a NaN from becoming a number. Without these two instructions, a NaN
//! could become a number if the lower half of the NaN's bits is not zero. Arithmetic on numbers
//! that were read as `bf16` produces only NaNs whose lower half is zero. Some functions of the math
//! library also produce only NaNs whose lower half is zero. Results that already are `bf16` numbers
//! need no rounding.

use fusebox_core::ir::{Float, OpKind, Value};
use rustc_hash::FxHashSet;

use crate::math;

/// Known properties of the `f32` values of a function.
#[derive(Default)]
pub(super) struct Rounding {
    /// Values that `bf16` can represent exactly.
    exact: FxHashSet<Value>,
    /// Values that are not NaN, or are a NaN with zeros in the lower half of its bits.
    short_nans: FxHashSet<Value>,
}

impl Rounding {
    /// Records that a value was widened from this format.
    pub(super) fn set_format(&mut self, value: Value, format: Float) {
        if format == Float::BF16 {
            self.exact.insert(value);
            self.short_nans.insert(value);
        }
    }

    /// Whether a value is known to be a `bf16` number. If so, the upper half of the value's bits is
    /// the `bf16` number.
    pub(super) fn is_exact(&self, value: Value) -> bool {
        self.exact.contains(&value)
    }

    pub(super) fn has_short_nans(&self, value: Value) -> bool {
        self.short_nans.contains(&value)
    }

    /// Derives the properties of the result of an operation on floats.
    pub(super) fn follow(&mut self, operation: OpKind, operands: &[Value], result: Value) {
        let keeps = operation.keeps_numbers();
        if keeps && operands.iter().all(|operand| self.exact.contains(operand)) {
            self.exact.insert(result);
        }
        let keeps_short_nans = keeps || operation.passes_nans() || math::keeps_short_nans(operation);
        if keeps_short_nans && operands.iter().all(|operand| self.short_nans.contains(operand)) {
            self.short_nans.insert(result);
        }
    }
}
