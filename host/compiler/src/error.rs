//! What can go wrong between text and executable.

use fusebox_core::hlo::{Computation, Diagnostic, Instruction, Module};
use fusebox_emission::EmissionError;
use fusebox_files::WriteError;
use fusebox_lowering::LoweringError;
use fusebox_plugins::{Failure, SelectError};
use thiserror::Error;

use crate::Memory;

/// Why a module was not compiled.
#[derive(Debug, Error)]
pub enum CompileError {
    /// The module is malformed or uses what fusebox does not support.
    #[error("{}", join(.0))]
    Module(Vec<Diagnostic>),
    /// An emitter that the user asked for, or every emitter that accepts the fusion, failed.
    #[error(transparent)]
    Emitter(#[from] Box<EmitterError>),
    /// The user's choice of emitters or target cannot be met.
    #[error("{0}")]
    Choice(String),
    /// The program does not get along with so little memory.
    #[error(
        "outputs and temporaries take at least {least} bytes, whatever is computed twice, and only {limit} are allowed; alive at the peak: {}",
        alive(.memory)
    )]
    MemoryLimit {
        /// Bytes allowed.
        limit: u64,
        /// The least limit that can be kept.
        least: u64,
        /// The memory of a program under that limit.
        memory: Box<Memory>,
    },
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

/// Why a fusion has no kernel of an emitter.
#[derive(Debug, Error)]
pub enum EmitterError {
    /// Nobody takes it, or not who has to.
    #[error(transparent)]
    Selection(#[from] SelectError),
    /// It gave no usable answer.
    #[error(transparent)]
    Failure(#[from] Failure),
    /// The user has set a knob that it does not have.
    #[error("emitter {emitter} has no knob `{knob}`; {has}")]
    Knob {
        /// Name, version and origin.
        emitter: String,
        /// The knob.
        knob: String,
        /// In words, the knobs it has.
        has: String,
    },
    /// What its kernel calls cannot be written.
    #[error(transparent)]
    Subgraph(#[from] EmissionError),
    /// Its kernel cannot be compiled.
    #[error("emitter {emitter}: {source}")]
    Refused {
        /// Name, version and origin.
        emitter: String,
        /// Why not.
        source: Box<LoweringError>,
    },
    /// It leaves the fusion to a routine that there is not.
    #[error("emitter {emitter}: no routine does this: {reason}")]
    Routine {
        /// Name, version and origin.
        emitter: String,
        /// What no routine does.
        reason: fusebox_routines::Unsupported,
    },
    /// All that accept it failed.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    All(Vec<EmitterError>),
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

/// The largest of what is alive at the peak.
fn alive(memory: &Memory) -> String {
    let named: Vec<String> =
        memory.alive.iter().take(8).map(|it| format!("{} ({} bytes)", it.instruction, it.bytes)).collect();
    let others = memory.alive.len().saturating_sub(named.len());
    let others = if others > 0 { format!(" and {others} more") } else { String::new() };
    named.join(", ") + &others
}

fn join(diagnostics: &[Diagnostic]) -> String {
    let lines: Vec<String> = diagnostics.iter().map(Diagnostic::to_string).collect();
    lines.join("\n")
}
