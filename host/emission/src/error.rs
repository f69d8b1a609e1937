//! The reason why a subgraph function could not be written.

use fusebox_core::builder::BuildError;
use fusebox_core::hlo::{Instruction, Module};

/// A result, or the error that prevents it.
pub(crate) type Result<T, E = EmissionError> = std::result::Result<T, E>;

/// An error that names the instruction and its source position, and states the obstacle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}{opcode} {instruction}: {message}")]
pub struct EmissionError {
    /// The source position as `file:line:col: `. The text is empty if the instruction was not read
    /// from text.
    pub place: String,
    pub opcode: String,
    /// Name of the instruction. If the error is an emitter's mistake, name of the function that the
    /// emitter requested.
    pub instruction: String,
    /// The obstacle, and what to do about it.
    pub message: String,
}

impl EmissionError {
    /// Creates an error whose location is an instruction.
    pub fn at(module: &Module, instruction: &Instruction, message: impl Into<String>) -> Self {
        let span = &instruction.span;
        let place = if span.line == 0 {
            String::new()
        } else {
            format!("{}:{}:{}: ", module.source_file, span.line, span.column)
        };
        EmissionError {
            place,
            opcode: instruction.opcode().to_string(),
            instruction: instruction.name.clone(),
            message: message.into(),
        }
    }

    /// Creates an error about a call that an emitter asked for.
    pub fn in_call(symbol: &str, message: impl Into<String>) -> Self {
        EmissionError {
            place: String::new(),
            opcode: "function".into(),
            instruction: format!("@{symbol}"),
            message: message.into(),
        }
    }
}

impl From<BuildError> for EmissionError {
    fn from(error: BuildError) -> Self {
        EmissionError::in_call(&error.function, format!("{}: {}", error.operation, error.message))
    }
}
