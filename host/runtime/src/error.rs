//! Errors of loading and running.

use thiserror::Error;

use crate::processor::or_without;

/// Why an executable cannot be loaded here.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The target's device is not available.
    #[error("{0}")]
    Device(String),
    /// The code uses instructions that the processor lacks.
    #[error(
        "the program was compiled for a processor with {}, which this one does not have or may not use: compile the module again on \
         this machine{}", .missing.join(", "), or_without(.missing)
    )]
    Processor {
        /// Instruction sets that the processor lacks, by LLVM's names.
        missing: Vec<String>,
    },
    /// A code image cannot be linked.
    #[error("code of the executable cannot be loaded: {0}")]
    Object(String),
    /// A host operation's HLO cannot be read.
    #[error("host operation {name}: {reason}")]
    HostOp {
        /// Name of the instruction.
        name: String,
        /// The parser's error.
        reason: String,
    },
    /// Memory for buffers cannot be allocated.
    #[error("{bytes} bytes of memory for buffers are not available")]
    Memory {
        /// How much was asked for.
        bytes: u64,
    },
    /// The operating system refused a request.
    #[error("{what}: {source}")]
    System {
        /// The request that failed.
        what: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
}

/// Why a run failed.
#[derive(Debug, Error)]
pub enum RunError {
    /// The number of inputs is wrong.
    #[error("the module takes {expected} parameter arrays, {found} are given")]
    InputCount {
        /// Array leaves of all parameters.
        expected: usize,
        /// Arrays that the caller passes.
        found: usize,
    },
    /// An input has the wrong type or dimensions.
    #[error("input {index} is {found}, but the module's parameter is {expected}")]
    InputShape {
        /// Number of the array.
        index: usize,
        /// Shape of the parameter.
        expected: String,
        /// Shape of the input.
        found: String,
    },
    /// A donated input holds no value, because the last run has overwritten it.
    #[error("the last run has overwritten the donated input {index}; donate it again, or set all inputs")]
    Taken {
        /// Number of the array.
        index: usize,
    },
    /// A buffer is handed over for an input that the module does not declare as donated.
    #[error("input {index} is not donated by the module (`input_output_alias`, `buffer_donor`): set it")]
    NotDonated {
        /// Number of the array.
        index: usize,
    },
    /// A buffer and its input differ in size.
    #[error("the buffer for input {index} has {found} bytes, the module's parameter {expected}")]
    DonatedSize {
        /// Number of the array.
        index: usize,
        /// Bytes of the parameter.
        expected: u64,
        /// Bytes of the buffer.
        found: u64,
    },
    /// A host operation failed.
    #[error("{name}: {reason}")]
    HostOp {
        /// Name of the instruction.
        name: String,
        /// The routine's error.
        reason: String,
    },
    /// Memory for a value cannot be allocated.
    #[error("{bytes} bytes of memory are not available")]
    Memory {
        /// How much was asked for.
        bytes: u64,
    },
    /// The GPU or its driver failed.
    #[error("{0}")]
    Device(String),
    /// The simulator found a fault in a kernel.
    #[error("kernel {kernel}, written by emitter {emitter}, is faulty:\n{report}")]
    Kernel {
        /// Name of the kernel.
        kernel: String,
        /// Name and version of its emitter.
        emitter: String,
        /// One line per fault.
        report: String,
    },
}
