//! What can go wrong between text and executable.

use fusebox_core::hlo::{Computation, Diagnostic, Instruction, Module};
use fusebox_files::WriteError;
use thiserror::Error;

/// Why a module was not compiled.
#[derive(Debug, Error)]
pub enum CompileError {
    /// The module is malformed or uses what fusebox does not support.
    #[error("{}", join(.0))]
    Module(Vec<Diagnostic>),
    /// An emitter that the user asked for, or every emitter that accepts the fusion, failed.
    #[error("{0}")]
    Emitter(String),
    /// The user's choice of emitters or target cannot be met.
    #[error("{0}")]
    Choice(String),
    /// A dump could not be written.
    #[error(transparent)]
    Dump(#[from] WriteError),
    /// The folder for dumps could not be made.
    #[error("cannot make the directory {path}: {source}")]
    DumpFolder {
        /// The folder.
        path: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A stage produced something the next one refuses: a bug in fusebox.
    #[error("internal error in phase `{phase}`: {message}")]
    Internal {
        /// The phase.
        phase: &'static str,
        /// What happened.
        message: String,
    },
}

impl CompileError {
    /// A fault at one instruction.
    pub fn at(module: &Module, instruction: &Instruction, message: impl Into<String>) -> Self {
        CompileError::Module(vec![Diagnostic {
            file: module.source_file.clone(),
            span: instruction.span,
            subject: Some(instruction.name.clone()),
            message: message.into(),
            source_line: String::new(),
        }])
    }

    /// A fault of a computation as a whole.
    pub fn at_computation(module: &Module, computation: &Computation, message: impl Into<String>) -> Self {
        CompileError::Module(vec![Diagnostic {
            file: module.source_file.clone(),
            span: computation.span,
            subject: Some(computation.name.clone()),
            message: message.into(),
            source_line: String::new(),
        }])
    }

    /// Whether fusebox itself is at fault.
    pub fn is_internal(&self) -> bool {
        matches!(self, CompileError::Internal { .. })
    }
}

fn join(diagnostics: &[Diagnostic]) -> String {
    let lines: Vec<String> = diagnostics.iter().map(Diagnostic::to_string).collect();
    lines.join("\n")
}
