//! Lists the allowed differences between engines, with reasons.

use fusebox_core::hlo::ElementType;

use super::cases::TestedOperation;

/// Results that differ between engines. Compiled kernels differ from the interpreter or from
/// folding.
#[derive(Debug)]
pub struct Exception {
    /// The type of the operands.
    pub element: &'static str,
    /// The operation.
    pub operation: &'static str,
    /// Reason why the difference is right.
    #[allow(dead_code, reason = "it is there to be read, and shown when the exception is no longer one")]
    pub reason: &'static str,
}

impl Exception {
    /// Whether the exception allows different results of this operation on this type.
    pub fn covers(&self, element: ElementType, step: &TestedOperation) -> bool {
        self.element == element.name() && step.operation == self.operation
    }
}

/// All exceptions. The test fails if an exception no longer occurs.
pub const EXCEPTIONS: &[Exception] = &[
    Exception { element: "c64", operation: "rsqrt(u)", reason: SIGN_OF_NAN },
    Exception { element: "c128", operation: "rsqrt(u)", reason: SIGN_OF_NAN },
];

/// The root of -inf + NaN·i has NaN as its real part. The reciprocal of the root is 0 with this
/// NaN's sign.
const SIGN_OF_NAN: &str = "a zero has the sign of a NaN, which means nothing";
