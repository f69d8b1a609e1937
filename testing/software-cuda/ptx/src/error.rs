//! Errors in the text of a module.

use thiserror::Error;

/// A reason not to load a module.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line}: {message}")]
pub struct LoadError {
    pub kind: LoadErrorKind,
    /// Line in the text of the module; the first is 1.
    pub line: u32,
    pub message: String,
}

/// The kinds of errors that a driver distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadErrorKind {
    /// The text breaks a rule of PTX.
    Invalid,
    /// The version of PTX is newer than the driver.
    TooNew,
    /// The device cannot execute the code.
    OtherDevice,
}

impl LoadError {
    pub fn new(line: u32, message: impl Into<String>) -> LoadError {
        LoadError { kind: LoadErrorKind::Invalid, line, message: message.into() }
    }

    pub fn too_new(line: u32, message: impl Into<String>) -> LoadError {
        LoadError { kind: LoadErrorKind::TooNew, ..LoadError::new(line, message) }
    }

    pub fn other_device(line: u32, message: impl Into<String>) -> LoadError {
        LoadError { kind: LoadErrorKind::OtherDevice, ..LoadError::new(line, message) }
    }
}
