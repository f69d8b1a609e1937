//! The errors of routines.

use thiserror::Error;

/// The reason why no routine can execute an operation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unsupported(pub String);

impl Unsupported {
    /// Creates the error. `reason` begins with the name of the unsupported feature, for example
    /// `sorting tokens`.
    pub fn new(reason: impl Into<String>) -> Unsupported {
        Unsupported(reason.into())
    }
}

/// The reason why a run of a routine failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RoutineError {
    /// Memory for intermediate values cannot be allocated.
    #[error("{bytes} bytes of memory are not available")]
    Memory {
        /// Number of bytes requested.
        bytes: u64,
    },
    /// The operation is not defined for the values of its arguments.
    #[error("{0}")]
    Value(String),
    /// A buffer does not satisfy the requirements of [`Routine::run`](crate::Routine::run).
    #[error("a buffer does not have the size or alignment that the operation needs")]
    Buffer,
}
