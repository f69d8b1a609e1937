//! Errors of a compilation.

use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{Computation, Diagnostic, Instruction, Module};
use fusebox_edit::EditError;
use fusebox_emission::EmissionError;
use fusebox_files::WriteError;
use fusebox_lowering::LoweringError;
use fusebox_plugins::{Failure, SelectError};
use thiserror::Error;

use crate::{AssemblerError, MemoryUse, Phase};

/// Reason why a module was not compiled.
#[derive(Debug, Error)]
pub enum CompileError {
    /// The module is malformed, or uses a feature that fusebox does not support.
    #[error("{}", join(.0))]
    Module(Vec<Diagnostic>),
    /// An emitter that the user asked for, or every emitter that accepts the fusion, failed.
    #[error(transparent)]
    Emitter(#[from] Box<EmitterError>),
    /// No compilation can satisfy the user's choice of emitters or target.
    #[error("{0}")]
    Choice(String),
    /// The program needs more memory than the limit allows.
    #[error(
        "outputs and temporaries need at least {least} bytes even with rematerialisation, but the limit is {limit}; \
         alive at the peak: {}",
        alive(.memory)
    )]
    MemoryLimit {
        /// Bytes allowed.
        limit: u64,
        /// The smallest limit that the program can meet, in bytes.
        least: u64,
        /// The memory that the program uses under the limit `least`.
        memory: Box<MemoryUse>,
    },
    /// The assembler that the user asked for refuses the code, or cannot be started.
    #[error("{0}\nwith `--cubins never` the driver assembles the PTX when it loads the program")]
    Assembler(#[from] AssemblerError),
    /// A dump could not be written.
    #[error(transparent)]
    Dump(#[from] WriteError),
    /// The folder for dumps could not be created.
    #[error("cannot create the directory {path}: {source}")]
    DumpFolder {
        /// The folder.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// A phase produced a result that the next phase refuses. The disagreement is a bug in fusebox.
    #[error("internal error in phase `{phase}`: {message}")]
    Internal {
        /// The phase.
        phase: &'static str,
        /// The fault.
        message: String,
    },
}

impl From<EditError> for CompileError {
    fn from(fault: EditError) -> CompileError {
        CompileError::Internal { phase: Phase::Passes.name(), message: fault.to_string() }
    }
}

/// Reason why an emitter has no kernel for a fusion.
#[derive(Debug, Error)]
pub enum EmitterError {
    /// No emitter accepts the fusion, or the emitter that the user requires declines it.
    #[error(transparent)]
    Selection(#[from] SelectError),
    /// The emitter gave no usable answer.
    #[error(transparent)]
    Failure(#[from] Failure),
    /// The user has set a knob that the emitter does not have.
    #[error("emitter {emitter} has no knob `{knob}`; {has}")]
    Knob {
        /// Name, version and origin of the emitter.
        emitter: String,
        /// The knob.
        knob: String,
        /// Text that lists the emitter's knobs.
        has: String,
    },
    /// A subgraph function that the kernel calls cannot be generated.
    #[error(transparent)]
    Subgraph(#[from] EmissionError),
    /// The emitter's kernel cannot be compiled.
    #[error("emitter {emitter}: {source}")]
    Refused {
        /// Name, version and origin of the emitter.
        emitter: String,
        /// The error of lowering.
        source: Box<LoweringError>,
    },
    /// The emitter asks for a routine, but fusebox has no routine for the fusion.
    #[error("emitter {emitter}: no routine of the host supports {reason}")]
    Routine {
        /// Name, version and origin of the emitter.
        emitter: String,
        /// The unsupported operation.
        reason: fusebox_routines::Unsupported,
    },
    /// An error about a fusion that comes from a line of the user's program.
    #[error("{line}: {source}")]
    At {
        /// The line, as `file:line`.
        line: String,
        /// The error.
        source: Box<EmitterError>,
    },
    /// All emitters that accept the fusion failed.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    All(Vec<EmitterError>),
}

impl CompileError {
    /// Creates an error whose location is one instruction.
    pub fn at(module: &Module, instruction: &Instruction, message: impl Into<String>) -> Self {
        CompileError::Module(vec![Diagnostic {
            file: module.place_of(instruction),
            span: instruction.span,
            subject: Some(instruction.name.clone()),
            message: message.into(),
            source_line: String::new(),
        }])
    }

    /// Creates an error whose location is a whole computation, not one instruction.
    pub fn at_computation(module: &Module, computation: &Computation, message: impl Into<String>) -> Self {
        CompileError::Module(vec![Diagnostic {
            file: module.source_file.clone(),
            span: computation.span,
            subject: Some(computation.name.clone()),
            message: message.into(),
            source_line: String::new(),
        }])
    }

    /// Adds the line of the user's program from which a fusion comes, if it is known.
    pub(crate) fn about(self, fusion: &Fusion) -> Self {
        match (self, fusion.computation().root_instruction().user_line()) {
            (CompileError::Emitter(source), Some(line)) => {
                CompileError::Emitter(Box::new(EmitterError::At { line, source }))
            }
            (error, _) => error,
        }
    }

    /// Whether the error is a bug in fusebox.
    pub fn is_internal(&self) -> bool {
        matches!(self, CompileError::Internal { .. })
    }
}

/// Lists the largest values that are alive at the peak of memory use.
fn alive(memory: &MemoryUse) -> String {
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
