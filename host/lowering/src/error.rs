//! Errors of lowering, from kernel IR to code.

use std::fmt;

/// One message about a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Location in the kernel's text: `kernel:line:column`.
    pub location: String,
    pub message: String,
}

/// Reason why a batch of kernels could not be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoweringError {
    /// The kernel IR does not parse or verify. The fault is in the code that wrote the kernel IR.
    #[error("kernel `{kernel}`: the emitted IR is invalid{}", list(.diagnostics))]
    Invalid { kernel: String, diagnostics: Vec<Diagnostic> },
    /// An operation is not supported, or this use of the operation is not supported.
    #[error("kernel `{kernel}`: `{operation}` at {location} cannot be compiled for {target}: {reason}")]
    Unsupported {
        kernel: String,
        operation: String,
        /// Location in the kernel's text.
        location: String,
        target: String,
        reason: String,
    },
    /// The target does not exist or this build of LLVM cannot generate code for it.
    #[error("target {target}: {reason}")]
    Target { target: String, reason: String },
    /// The request is invalid. The cause is a stage that is not a stage of the kernel IR, a wrong
    /// order of stages, or an invalid pipeline of MLIR's passes.
    #[error("{0}")]
    Stage(String),
    /// A pass of MLIR failed on a kernel, or its result is not kernel IR.
    #[error("kernel `{kernel}`: MLIR's passes after stage {stage} fail{}", list(.diagnostics))]
    MlirPasses { kernel: String, stage: &'static str, diagnostics: Vec<Diagnostic> },
    /// The lowering by MLIR has no conversion of an operation.
    #[error("kernel `{kernel}`: the lowering `mlir` cannot convert `{operation}` at {location}: {reason}")]
    NotConverted {
        kernel: String,
        operation: String,
        /// Location in the kernel's text.
        location: String,
        reason: String,
    },
    /// MLIR's conversions of a kernel to LLVM IR failed. The failure is a bug in fusebox.
    #[error("kernel `{kernel}`: MLIR's conversions to LLVM IR fail{}", list(.diagnostics))]
    Conversions { kernel: String, diagnostics: Vec<Diagnostic> },
    /// A composite does not match the kernels that it calls. The mismatch is a bug in fusebox.
    #[error("composite `{name}`: {reason}")]
    Composite { name: String, reason: String },
    /// LLVM rejected the code that lowering generated. The rejection is a bug in fusebox.
    #[error("LLVM rejected generated code: {0}")]
    Llvm(String),
    /// The code refers to functions that the runtime does not provide. The reference to such a
    /// function is a bug in fusebox.
    #[error("generated code refers to `{}`, which the runtime does not provide", .0.join("`, `"))]
    ForeignSymbols(Vec<String>),
}

/// Reason why one operation was not translated: [`LoweringError::Unsupported`] without the
/// location.
#[derive(Clone, Debug)]
pub(crate) struct Unsupported(pub String);

impl Unsupported {
    pub(crate) fn because<T>(reason: impl Into<String>) -> Result<T, Unsupported> {
        Err(Unsupported(reason.into()))
    }
}

/// Outcome of rewriting one operation.
pub(crate) type Done<T = ()> = Result<T, Unsupported>;

/// A part of an operation that may be missing, although lowering requires this part.
pub(crate) trait Required<T> {
    /// Returns the part. If the part is missing, returns an error with the reason why the operation
    /// is not translated.
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
