//! Errors of loading and running executables.

use thiserror::Error;

use crate::processor::or_without;

/// The reason why an executable cannot be loaded on this machine.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The target's device is not available.
    #[error("{0}")]
    Device(String),
    /// The code uses instructions that the processor does not have.
    #[error(
        "the program was compiled for a processor with {}, which this one does not have or may not use: compile the module again on \
         this machine{}", .missing.join(", "), or_without(.missing)
    )]
    Processor {
        /// LLVM's names of the instruction sets that the processor does not have.
        missing: Vec<String>,
    },
    /// A code image cannot be linked.
    #[error("the executable's code cannot be loaded: {0}")]
    Object(String),
    /// A host operation cannot be loaded, for example because its HLO is invalid.
    #[error("host operation {name}: {reason}")]
    HostOp {
        /// Name of the instruction.
        name: String,
        /// A description of the error.
        reason: String,
    },
    /// Memory for buffers cannot be allocated.
    #[error("{bytes} bytes of memory for buffers are not available")]
    Memory {
        /// Number of bytes requested.
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

/// The reason why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RunError {
    /// The caller passes the wrong number of inputs.
    #[error("the module has {expected} parameter arrays, but {found} inputs were given")]
    InputCount {
        /// Number of array leaves of all parameters.
        expected: usize,
        /// Number of arrays that the caller passes.
        found: usize,
    },
    /// An input has the wrong type or dimensions.
    #[error("input {index} is {found}, but the module's parameter is {expected}")]
    InputShape {
        /// Index of the input among all array leaves of the parameters.
        index: usize,
        /// Shape of the parameter.
        expected: String,
        /// Shape of the input.
        found: String,
    },
    /// The last run may have overwritten a donated input, and the caller has not set the inputs
    /// again.
    #[error("the last run has overwritten the donated input {index}; set all inputs again")]
    Taken {
        /// Index of the input among all array leaves of the parameters.
        index: usize,
    },
    /// The caller passes a buffer that was deleted, or donated to an earlier execution.
    #[error("the buffer of input {index} was deleted or donated before; pass a buffer that still exists")]
    DeletedInput {
        /// Index of the input among all array leaves of the parameters.
        index: usize,
    },
    /// The caller passes the same buffer as a donated input and as another input.
    #[error(
        "the buffer of input {index} is donated and also passed as input {other}; pass two buffers, or keep input {index} in this execution"
    )]
    DonatedTwice {
        /// Index of the donated input among all array leaves of the parameters.
        index: usize,
        /// Index of the other input for which the caller passes the same buffer.
        other: usize,
    },
    /// The caller passes a buffer of another device.
    #[error("the buffer of input {index} is on another device; copy it to the device of the executable")]
    OtherDevice {
        /// Index of the input among all array leaves of the parameters.
        index: usize,
    },
    /// The caller names an input that does not exist.
    #[error("input {index} is to be kept, but the module takes {count} parameter arrays")]
    NoSuchInput {
        /// The index that the caller passes.
        index: usize,
        /// Number of array leaves of all parameters.
        count: usize,
    },
    /// The buffer was deleted, or donated to an execution.
    #[error("the buffer was deleted, or donated to an execution")]
    Deleted,
    /// The code that had to fill the buffer has ended without filling it.
    #[error("the buffer was never filled: its execution or its promise ended early")]
    Abandoned,
    /// The bytes for a buffer do not have the size of its shape.
    #[error("an array {shape} has {expected} bytes, but {found} bytes were given")]
    ByteCount {
        /// Shape of the array.
        shape: String,
        /// Size of the array in bytes.
        expected: u64,
        /// Number of bytes that the caller passes.
        found: u64,
    },
    /// The caller passes memory whose address is not a multiple of the alignment that kernels
    /// assume.
    #[error("memory of a buffer must start at a multiple of {alignment} bytes; copy the bytes instead")]
    Alignment {
        /// The alignment in bytes.
        alignment: usize,
    },
    /// The caller passes the wrong number of results.
    #[error("the module has {expected} result arrays, but {found} results were given")]
    ResultCount {
        /// Number of array leaves of the result.
        expected: usize,
        /// Number of arrays that the caller passes.
        found: usize,
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
        /// Number of bytes requested.
        bytes: u64,
    },
    /// The GPU or its driver reported an error.
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

#[cfg(test)]
mod tests {
    use super::LoadError;
    use crate::processor::{TILES_OF_BF16, TILES_OF_INT8};

    #[test]
    fn missing_instruction_sets_are_named_with_a_target_that_does_without() {
        let refused = |missing: &[&str]| {
            LoadError::Processor { missing: missing.iter().map(ToString::to_string).collect() }.to_string()
        };
        let needs_bytes = refused(&[TILES_OF_INT8]);
        assert!(needs_bytes.contains("with amx-int8,") && needs_bytes.contains("compile the module again"));
        let needs_tiles = refused(&[TILES_OF_BF16, TILES_OF_INT8]);
        assert!(needs_tiles.contains("amx-bf16, amx-int8") && needs_tiles.contains("cpu,-amx"), "{needs_tiles}");
        let needs_more = refused(&["avx512f", "amx-int8"]);
        assert!(needs_more.contains("with avx512f, amx-int8,") && needs_more.contains("cpu,-avx512"), "{needs_more}");
        let needs_avx2 = refused(&["avx2", "avx512f"]);
        assert!(!needs_avx2.contains("--target"), "{needs_avx2}");
    }
}
