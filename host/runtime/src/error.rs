//! What can go wrong when loading and running.

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
        /// Instruction sets that it lacks, by LLVM's names.
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
        /// What the parser says.
        reason: String,
    },
    /// Memory for buffers cannot be had.
    #[error("{bytes} bytes of memory for buffers are not available")]
    Memory {
        /// How much was asked for.
        bytes: u64,
    },
    /// The operating system refused.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// Its answer.
        source: std::io::Error,
    },
}

/// Why a run failed.
#[derive(Debug, Error)]
pub enum RunError {
    /// Number of inputs.
    #[error("the module takes {expected} parameter arrays, {found} are given")]
    InputCount {
        /// Leaves of all parameters.
        expected: usize,
        /// Arrays given.
        found: usize,
    },
    /// Type or dimensions of an input.
    #[error("input {index} is {found}, but the module's parameter is {expected}")]
    InputShape {
        /// Number of the array.
        index: usize,
        /// Shape of the parameter.
        expected: String,
        /// Shape given.
        found: String,
    },
    /// Nothing stands in the place of a donated input.
    #[error("input {index} is donated: the last run has taken it; donate it anew, or set all inputs")]
    Taken {
        /// Number of the array.
        index: usize,
    },
    /// A buffer is handed over for an input that the program does not take as its own.
    #[error("input {index} is not donated by the module (`input_output_alias`, `buffer_donor`): set it")]
    NotDonated {
        /// Number of the array.
        index: usize,
    },
    /// A buffer has another size than its input.
    #[error("the buffer for input {index} has {found} bytes, the module's parameter {expected}")]
    DonatedSize {
        /// Number of the array.
        index: usize,
        /// Bytes of the parameter.
        expected: u64,
        /// Bytes given.
        found: u64,
    },
    /// A host operation failed.
    #[error("{name}: {reason}")]
    HostOp {
        /// Name of the instruction.
        name: String,
        /// What the routine says.
        reason: String,
    },
    /// Memory for a value cannot be had.
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
