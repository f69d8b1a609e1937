//! Errors with the codes of the interface.

use thiserror::Error;

/// Result of a function of the interface.
pub type Answer<T = ()> = Result<T, Error>;

/// Code of an error. The numbers of the codes are those of gRPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Code(pub i32);

impl Code {
    pub const INVALID_ARGUMENT: Code = Code(3);
    pub const RESOURCE_EXHAUSTED: Code = Code(8);
    pub const FAILED_PRECONDITION: Code = Code(9);
    pub const UNIMPLEMENTED: Code = Code(12);
    pub const INTERNAL: Code = Code(13);
}

/// An error that the caller of the interface gets.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Error {
    pub code: Code,
    pub message: String,
    /// Whether the caller has broken a rule of the interface. If the caller has broken a rule, the
    /// message that it gets begins with the name of the called function.
    pub is_misuse: bool,
}

impl Error {
    /// Creates an error with any code.
    pub fn new(code: Code, message: impl Into<String>) -> Error {
        Error { code, message: message.into(), is_misuse: false }
    }

    /// Creates the error that the user has passed an unsuitable value or an invalid program.
    pub fn invalid(message: impl Into<String>) -> Error {
        Error::new(Code::INVALID_ARGUMENT, message)
    }

    /// Creates the error that the caller has broken a rule of the interface, for example by passing
    /// a null handle.
    pub fn misuse(message: impl Into<String>) -> Error {
        Error { is_misuse: true, ..Error::invalid(message) }
    }

    /// Creates the error that an object is not in the required state, for example that a buffer is
    /// deleted.
    pub fn precondition(message: impl Into<String>) -> Error {
        Error::new(Code::FAILED_PRECONDITION, message)
    }

    /// Creates the error that fusebox does not have a feature.
    pub fn unimplemented(message: impl Into<String>) -> Error {
        Error::new(Code::UNIMPLEMENTED, message)
    }

    /// Creates the error for a bug of fusebox or a fault of the machine.
    pub fn internal(message: impl Into<String>) -> Error {
        Error::new(Code::INTERNAL, message)
    }

    /// Creates the error that memory for an array is not available.
    pub fn memory(bytes: u64) -> Error {
        Error::exhausted(format!("{bytes} bytes of memory are not available"))
    }

    /// Creates the error that a limited resource, for example memory, is used up.
    pub fn exhausted(message: impl Into<String>) -> Error {
        Error::new(Code::RESOURCE_EXHAUSTED, message)
    }
}
