//! What can go wrong, and where it did.

use fusebox_core::hlo::{Computation, InstrId, Module, Opcode, Span, verify};
use thiserror::Error;

/// Why a module could not be evaluated.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EvalError {
    /// The module names no computation to run.
    #[error("{file}: error: the module has no entry computation; mark one with ENTRY", file = file_name(.file))]
    NoEntry {
        /// File the module was read from; may be empty.
        file: String,
    },
    /// The arguments do not fit the computation's parameters.
    #[error("{file}: error: {message}", file = file_name(.file))]
    Arguments {
        /// File the module was read from; may be empty.
        file: String,
        /// What is wrong with them, and what is wanted.
        message: String,
    },
    /// An instruction could not be evaluated.
    #[error("{0}")]
    Instruction(Box<InstructionError>),
}

/// An instruction that could not be evaluated.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{file}:{place}error: `{instruction}` ({opcode}) in `{computation}`: {fault}",
    file = file_name(.file), place = place(.span))]
pub struct InstructionError {
    /// File the module was read from; may be empty.
    pub file: String,
    /// Where the instruction stands.
    pub span: Span,
    /// Name of the computation.
    pub computation: String,
    /// Name of the instruction.
    pub instruction: String,
    /// Its opcode.
    pub opcode: Opcode,
    /// What went wrong.
    pub fault: Fault,
}

/// What went wrong in one instruction, without the place.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Fault {
    /// Nothing in the interpreter does this.
    #[error("not supported by the interpreter: {0}")]
    Unsupported(String),
    /// The instruction contradicts itself or its operands, in a module that the verifier refuses.
    #[error("malformed: {0}; run the verifier on the module first")]
    Malformed(String),
    /// The array would not fit.
    #[error("an array of {elements} elements is too large for the interpreter, which takes at most {limit}")]
    TooLarge {
        /// Elements asked for.
        elements: i64,
        /// Elements allowed.
        limit: i64,
    },
    /// Memory is short.
    #[error("{bytes} bytes of memory are not available")]
    Memory {
        /// How much was asked for.
        bytes: u64,
    },
    /// More would be evaluated than anyone waits for.
    #[error("calls nest so deeply that more than {limit} instructions would be evaluated")]
    TooManyCalls {
        /// Instructions allowed.
        limit: u64,
    },
    /// A called instruction failed; it carries its own place.
    #[error("{0}")]
    Called(Box<InstructionError>),
}

/// Result of an operation that does not know its place.
pub(crate) type Outcome<T> = Result<T, Fault>;

/// A [`Fault::Unsupported`].
pub(crate) fn unsupported<T>(what: impl Into<String>) -> Outcome<T> {
    Err(Fault::Unsupported(what.into()))
}

/// Leaves the function with a [`Fault::Malformed`] unless something holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)*) => {
        if !$condition {
            return $crate::error::malformed(format!($($message)*));
        }
    };
}
pub(crate) use ensure;

/// A [`Fault::Malformed`].
pub(crate) fn malformed<T>(what: impl Into<String>) -> Outcome<T> {
    Err(Fault::Malformed(what.into()))
}

impl InstructionError {
    /// Gives a fault its place. A fault of a called instruction keeps the place it has. What contradicts itself in a
    /// module that the verifier lets pass (a custom call's operands, say) is a limit of the interpreter.
    pub(crate) fn locate(module: &Module, computation: &Computation, id: InstrId, fault: Fault) -> Self {
        match fault {
            Fault::Called(inner) => *inner,
            Fault::Malformed(what) if verify(module).is_ok() => {
                Self::locate(module, computation, id, Fault::Unsupported(what))
            }
            fault => {
                let instruction = computation.instruction(id);
                InstructionError {
                    file: module.source_file.clone(),
                    span: instruction.span,
                    computation: computation.name.clone(),
                    instruction: instruction.name.clone(),
                    opcode: instruction.opcode(),
                    fault,
                }
            }
        }
    }
}

impl From<InstructionError> for EvalError {
    fn from(error: InstructionError) -> Self {
        EvalError::Instruction(Box::new(error))
    }
}

fn file_name(file: &str) -> &str {
    if file.is_empty() { "<module>" } else { file }
}

fn place(span: &Span) -> String {
    if span.line > 0 { format!("{}:{}: ", span.line, span.column) } else { " ".into() }
}
