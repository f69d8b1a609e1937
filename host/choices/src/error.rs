//! The reason why a choice of the user cannot be met.

use std::fmt;

use fusebox_configuration::FilePosition;

/// The reason why a choice cannot be met. The variant states whether the input, the usage or
/// fusebox is at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChoiceError {
    /// A file or an emitter is at fault.
    Input(String),
    /// The text that states the user's choice is at fault.
    Usage(String),
    /// fusebox itself has a bug.
    Bug(String),
}

impl ChoiceError {
    /// Returns an error for which a file or an emitter is at fault.
    pub fn input(message: impl fmt::Display) -> ChoiceError {
        ChoiceError::Input(message.to_string())
    }

    /// Returns an error whose cause is at this position of a file that the user wrote.
    pub fn at(place: &FilePosition, message: impl fmt::Display) -> ChoiceError {
        ChoiceError::Input(format!("{place}: error: {message}"))
    }

    /// Returns an error for which the user's text is at fault.
    pub fn usage(message: impl fmt::Display) -> ChoiceError {
        ChoiceError::Usage(message.to_string())
    }
}

impl fmt::Display for ChoiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ChoiceError::Input(message) | ChoiceError::Usage(message) | ChoiceError::Bug(message)) = self;
        f.write_str(message)
    }
}

impl std::error::Error for ChoiceError {}
