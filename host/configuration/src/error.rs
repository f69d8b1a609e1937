//! Errors of configuration files.

use fusebox_files::ReadError;

use crate::FilePosition;

/// Reason why a `fusebox.toml` or `fusebox.lock` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The content is invalid.
    #[error("{place}: error: {message}")]
    Invalid {
        /// Position of the first fault.
        place: FilePosition,
        /// The fault and the expected content.
        message: String,
    },
}
