//! Why a comparison was not made.

use std::path::PathBuf;

use fusebox_compiler::CompileError;
use fusebox_files::{ReadError, WriteError};
use fusebox_interpreter::EvalError;
use fusebox_run::inputs::InputError;
use fusebox_runtime::{FormatError, LoadError, RunError};
use thiserror::Error;

use crate::reference::Authority;

/// Why a tool of the workshop did not do its work.
#[derive(Debug, Error)]
pub enum WorkshopError {
    /// The module is not compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// A program cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A program fails.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The interpreter has no result.
    #[error(transparent)]
    Evaluate(#[from] EvalError),
    /// There are no inputs.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The two sides are not programs of one interface.
    #[error("{0}")]
    Interface(String),
    /// Results cannot be judged.
    #[error("{by} cannot say whether results are right: {reason}", by = by.name())]
    Reference {
        /// The reference.
        by: Authority,
        /// Its answer.
        reason: String,
    },
    /// No fusion has a name of that pattern.
    #[error("no fusion fits `{pattern}`; there are: {known}")]
    NoSuchFusion {
        /// As given.
        pattern: String,
        /// The names of all.
        known: String,
    },
    /// No instruction has that name.
    #[error("no instruction is called `{name}`, in the text or after any pass; {similar}")]
    NoSuchInstruction {
        /// As given.
        name: String,
        /// Names like it.
        similar: String,
    },
    /// The database of what was tuned cannot be used.
    #[error(transparent)]
    Tuned(#[from] crate::tune::DatabaseError),
    /// A file of choices cannot be used.
    #[error(transparent)]
    Lock(#[from] crate::tune::LockError),
    /// Fusions have not been tuned, and are not to be now.
    #[error(
        "--locked, but on {device} there is no choice for these fusions; run `fusebox tune` without it, or --import:\n  {missing}"
    )]
    Locked {
        /// The device.
        device: String,
        /// Each one's name, and why.
        missing: String,
    },
    /// Another fusebox does not compile.
    #[error("{program} {command}: {reason}", program = program.display())]
    Program {
        /// Its file.
        program: PathBuf,
        /// What it was told to do.
        command: String,
        /// What it said.
        reason: String,
    },
    /// What another fusebox has compiled cannot be loaded.
    #[error("{program}: what it compiles is for another runtime: {source}", program = program.display())]
    Foreign {
        /// Its file.
        program: PathBuf,
        /// Why not.
        source: FormatError,
    },
    /// The system refuses what is needed.
    #[error("{what}: {source}")]
    System {
        /// What was wanted.
        what: &'static str,
        /// The system's answer.
        source: std::io::Error,
    },
}
