//! Functions of complex numbers.

use fusebox_core::hlo::Comparison;

use super::value::Value;

/// Returns `x²` as `(a - b)(a + b) + 2abi`, which loses no digits if `a` and `b` are nearly equal.
/// If `a` and `b` have the same finite magnitude, the real part is zero, even where `a + b`
/// overflows.
pub(super) fn square(x: Value) -> Value {
    let (a, b) = (x.real(), x.imag());
    let is_equal = a.abs().is(Comparison::Eq, b.abs());
    let is_zero = a.is_finite().and(is_equal);
    is_zero.choose(0.0, (a - b) * (a + b)).complex(2.0 * (a * b))
}

pub(super) fn conjugate(x: Value) -> Value {
    x.real().complex(-x.imag())
}
