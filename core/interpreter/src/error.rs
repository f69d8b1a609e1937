//! Errors of evaluation, with the positions of the failed instructions.

use fusebox_core::hlo::{Computation, InstrId, Module, Opcode, Span, verify};
use thiserror::Error;

/// An error that prevents evaluating a module.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EvalError {
    /// The module names no computation to run.
    #[error("{file}: error: the module has no entry computation; mark one with ENTRY", file = file_name(.file))]
    NoEntry {
        /// File from which the module was read; may be empty.
        file: String,
    },
    /// The arguments do not fit the computation's parameters.
    #[error("{file}: error: {message}", file = file_name(.file))]
    Arguments {
        /// File from which the module was read; may be empty.
        file: String,
        /// The fault of the arguments, and the arguments that the computation expects.
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
    /// File from which the module was read; may be empty.
    pub file: String,
    /// Position of the instruction in the file.
    pub span: Span,
    /// Name of the computation.
    pub computation: String,
    /// Name of the instruction.
    pub instruction: String,
    /// Opcode of the instruction.
    pub opcode: Opcode,
    /// The fault.
    pub fault: Fault,
}

/// A fault of one instruction, without its position.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Fault {
    /// The interpreter does not implement the operation.
    #[error("not supported by the interpreter: {0}")]
    Unsupported(String),
    /// The instruction contradicts itself or its operands, and the verifier refuses the module.
    #[error("malformed: {0}; run the verifier on the module first")]
    Malformed(String),
    /// The device waits for other devices, which also wait or have ended.
    #[error("device {device} waits for other devices, and none of them can go on")]
    Stopped {
        /// Number of the device.
        device: i64,
    },
    /// The array is too large.
    #[error("an array of {elements} elements is too large for the interpreter, which takes at most {limit}")]
    TooLarge {
        /// Number of elements requested.
        elements: i64,
        /// Number of elements allowed.
        limit: i64,
    },
    /// There is not enough memory.
    #[error("{bytes} bytes of memory are not available")]
    Memory {
        /// Bytes requested.
        bytes: u64,
    },
    /// Calls would evaluate too many instructions.
    #[error("calls nest so deeply that more than {limit} instructions would be evaluated")]
    TooManyCalls {
        /// Number of instructions allowed.
        limit: u64,
    },
    /// A called instruction failed. The error contains the position of the called instruction.
    #[error("{0}")]
    Called(Box<InstructionError>),
}

/// Result of a function that does not know the position of the instruction that it evaluates.
pub(crate) type Outcome<T> = Result<T, Fault>;

/// Returns a [`Fault::Unsupported`].
pub(crate) fn unsupported<T>(what: impl Into<String>) -> Outcome<T> {
    Err(Fault::Unsupported(what.into()))
}

/// Checks a condition. If the condition is false, returns a [`Fault::Malformed`] from the
/// surrounding function.
macro_rules! ensure {
    ($condition:expr, $($message:tt)*) => {
        if !$condition {
            return $crate::error::malformed(format!($($message)*));
        }
    };
}
pub(crate) use ensure;

/// Returns a [`Fault::Malformed`].
pub(crate) fn malformed<T>(what: impl Into<String>) -> Outcome<T> {
    Err(Fault::Malformed(what.into()))
}

impl InstructionError {
    /// Adds the position of an instruction to the instruction's fault. A fault of a called
    /// instruction keeps the position of the called instruction. If the verifier accepts the
    /// module, a malformed instruction (for example a custom call with wrong operands) is reported
    /// as unsupported.
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
