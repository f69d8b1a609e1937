//! Errors of the workshop.

use std::path::PathBuf;

use fusebox_compiler::CompileError;
use fusebox_files::{ReadError, WriteError};
use fusebox_interpreter::EvalError;
use fusebox_run::inputs::InputError;
use fusebox_runtime::{FormatError, LoadError, RunError};
use thiserror::Error;

use crate::reference::Authority;

/// The reason why a tool of the workshop failed.
#[derive(Debug, Error)]
pub enum WorkshopError {
    /// The module cannot be compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// A program cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The execution of a program fails.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The interpreter has no result.
    #[error(transparent)]
    Evaluate(#[from] EvalError),
    /// The inputs cannot be loaded.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The shapes of parameters or results differ between two sides, or an expected program, kernel
    /// or result is missing.
    #[error("{0}")]
    Interface(String),
    /// The reference cannot be computed, so results cannot be judged.
    #[error("{by} cannot say whether results are right: {reason}", by = by.name())]
    Reference {
        /// The source of the reference result.
        by: Authority,
        /// Reason why there is no reference result.
        reason: String,
    },
    /// No fusion's name matches the pattern.
    #[error("no fusion matches `{pattern}`; the fusions are: {known}")]
    NoSuchFusion {
        /// The user's text.
        pattern: String,
        /// The names of all fusions, as a list.
        known: String,
    },
    /// No instruction has the name that the user wrote.
    #[error("no instruction is called `{name}`, in the text or after any pass; {similar}")]
    NoSuchInstruction {
        /// The user's text.
        name: String,
        /// Names of instructions that are similar.
        similar: String,
    },
    /// The tuning database cannot be used.
    #[error(transparent)]
    Tuned(#[from] crate::tune::DatabaseError),
    /// A file of choices cannot be used.
    #[error(transparent)]
    Lock(#[from] crate::tune::LockError),
    /// Some fusions have not been tuned, and `--locked` forbids measuring.
    #[error(
        "--locked forbids measuring, but {device} has no choice for these fusions; run `fusebox tune` without \
         --locked, or use --import:\n  {missing}"
    )]
    Locked {
        /// The device.
        device: String,
        /// Name of each fusion without a choice, and the reason.
        missing: String,
    },
    /// Another fusebox program failed to compile the module.
    #[error("{program} {command}: {reason}", program = program.display())]
    Program {
        /// File of the other fusebox program.
        program: PathBuf,
        /// Arguments of the other fusebox program.
        command: String,
        /// Output of the other fusebox program on standard error.
        reason: String,
    },
    /// An executable of another fusebox program cannot be loaded.
    #[error("{program}: its executables are for another runtime: {source}", program = program.display())]
    Foreign {
        /// File of the other fusebox program.
        program: PathBuf,
        /// Reason why the executable cannot be loaded.
        source: FormatError,
    },
    /// A request to the system failed.
    #[error("{what}: {source}")]
    System {
        /// Description of the request.
        what: &'static str,
        /// The system's answer.
        source: std::io::Error,
    },
}
