//! Why a file cannot be used.

use fusebox_files::ReadError;

use crate::Place;

/// Why a `fusebox.toml` or `fusebox.lock` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It is not what it has to be.
    #[error("{place}: error: {message}")]
    Invalid {
        /// The first fault.
        place: Place,
        /// What is wrong, and what is wanted.
        message: String,
    },
}
