//! Errors with the codes of the interface.

use thiserror::Error;

/// Result of a function of the interface.
pub type Answer<T = ()> = Result<T, Error>;

/// Code of an error. The numbers are those of gRPC.
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
    /// Whether the caller has broken a rule of the interface. The message of such an error begins
    /// with the name of the function.
    pub is_misuse: bool,
}

impl Error {
    /// Creates an error with any code.
    pub fn new(code: Code, message: impl Into<String>) -> Error {
        Error { code, message: message.into(), is_misuse: false }
    }

    /// The user has passed an unsuitable value or an invalid program.
    pub fn invalid(message: impl Into<String>) -> Error {
        Error::new(Code::INVALID_ARGUMENT, message)
    }

    /// The caller has broken a rule of the interface, such as passing a null handle.
    pub fn misuse(message: impl Into<String>) -> Error {
        Error { is_misuse: true, ..Error::invalid(message) }
    }

    /// An object is not in the required state, such as a deleted buffer.
    pub fn precondition(message: impl Into<String>) -> Error {
        Error::new(Code::FAILED_PRECONDITION, message)
    }

    /// fusebox does not have a feature.
    pub fn unimplemented(message: impl Into<String>) -> Error {
        Error::new(Code::UNIMPLEMENTED, message)
    }

    /// A bug of fusebox, or a fault of the machine.
    pub fn internal(message: impl Into<String>) -> Error {
        Error::new(Code::INTERNAL, message)
    }

    /// Memory for an array is not available.
    pub fn memory(bytes: u64) -> Error {
        Error::exhausted(format!("{bytes} bytes of memory are not available"))
    }

    /// Something of which there is a limited amount is used up.
    pub fn exhausted(message: impl Into<String>) -> Error {
        Error::new(Code::RESOURCE_EXHAUSTED, message)
    }
}
