//! Errors in the text of a module.

use thiserror::Error;

/// A reason not to load a module.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line}: {message}")]
pub struct LoadError {
    /// Line in the text of the module; the first is 1.
    pub line: u32,
    pub message: String,
}

impl LoadError {
    pub fn new(line: u32, message: impl Into<String>) -> LoadError {
        LoadError { line, message: message.into() }
    }
}
