//! Errors of reading StableHLO.

use fusebox_edit::EditError;
use thiserror::Error;

/// Error of a program that cannot be read or converted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StablehloError {
    /// The bytes are not a portable artifact, or the artifact is damaged.
    #[error("{file}: byte {offset}: {message}")]
    Damaged {
        /// Name of the file.
        file: String,
        /// Offset in bytes from the start of the artifact.
        offset: usize,
        message: String,
    },
    /// The text is not a program.
    #[error("{file}:{line}:{column}: {message}")]
    Text {
        /// Name of the file.
        file: String,
        /// Number of the line, from 1.
        line: usize,
        /// Number of the byte in the line, from 1.
        column: usize,
        message: String,
    },
    /// The program is valid, but uses a feature that fusebox does not support.
    #[error("{location}: {operation}: {message}")]
    Unsupported {
        /// Place in the user's program, or in the file if the program has no locations.
        location: String,
        /// Name of the operation.
        operation: String,
        message: String,
    },
    /// An operation whose operands, attributes and results do not fit together.
    #[error("{0}")]
    Invalid(#[from] EditError),
}
