//! What can go wrong between kernel IR and code.

use std::fmt;

/// One message about a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Where in the kernel's text: `kernel:line:column`.
    pub location: String,
    pub message: String,
}

/// Why a batch of kernels could not be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoweringError {
    /// The kernel IR does not parse or verify: its writer is at fault.
    #[error("kernel `{kernel}`: the emitted IR is invalid{}", list(.diagnostics))]
    Invalid { kernel: String, diagnostics: Vec<Diagnostic> },
    /// An operation, or a use of one, that lowering does not handle.
    #[error("kernel `{kernel}`: `{operation}` at {location} cannot be compiled for {target}: {reason}")]
    Unsupported {
        kernel: String,
        operation: String,
        /// Where in the kernel's text.
        location: String,
        target: String,
        reason: String,
    },
    /// The target does not exist or this build of LLVM cannot generate code for it.
    #[error("target {target}: {reason}")]
    Target { target: String, reason: String },
    /// The stages asked for are not two that a kernel passes through one after the other.
    #[error("{0}")]
    Stage(String),
    /// A composite does not fit its kernels. A bug in fusebox.
    #[error("composite `{name}`: {reason}")]
    Composite { name: String, reason: String },
    /// LLVM rejected what lowering made. A bug in fusebox.
    #[error("LLVM rejected generated code: {0}")]
    Llvm(String),
    /// The code refers to functions that no loader provides. A bug in fusebox.
    #[error("generated code refers to `{}`, which the runtime does not provide", .0.join("`, `"))]
    ForeignSymbols(Vec<String>),
}

/// Why one operation was not translated; [`LoweringError::Unsupported`] without its place.
#[derive(Clone, Debug)]
pub(crate) struct Unsupported(pub String);

impl Unsupported {
    pub(crate) fn because<T>(reason: impl Into<String>) -> Result<T, Unsupported> {
        Err(Unsupported(reason.into()))
    }
}

/// What an operation must have.
pub(crate) trait Required<T> {
    /// It, or the reason why the operation is not translated.
    fn required(self, reason: &str) -> Result<T, Unsupported>;
}

impl<T> Required<T> for Option<T> {
    fn required(self, reason: &str) -> Result<T, Unsupported> {
        self.ok_or_else(|| Unsupported(reason.into()))
    }
}

fn list(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(|diagnostic| format!("\n  {diagnostic}")).collect()
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.message)
    }
}
