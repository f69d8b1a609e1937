//! Errors of reading and writing StableHLO.

use fusebox_core::hlo::{Diagnostic, Span};
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
    /// An instruction of HLO that StableHLO cannot express.
    #[error("{0}")]
    Inexpressible(Diagnostic),
}

impl From<StablehloError> for Diagnostic {
    fn from(error: StablehloError) -> Diagnostic {
        let at = |file: String, span, subject, message| Diagnostic {
            file,
            span,
            subject,
            message,
            source_line: String::new(),
        };
        match error {
            StablehloError::Damaged { file, offset, message } => {
                at(file, Span::default(), None, format!("byte {offset}: {message}"))
            }
            StablehloError::Text { file, line, column, message } => {
                let span = Span { line: line as u32, column: column as u32 };
                at(file, span, None, message)
            }
            StablehloError::Unsupported { location, operation, message } => {
                at(location, Span::default(), Some(operation), message)
            }
            StablehloError::Invalid(EditError(diagnostic)) | StablehloError::Inexpressible(diagnostic) => diagnostic,
        }
    }
}
