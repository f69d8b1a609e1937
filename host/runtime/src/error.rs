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
#[derive(Debug, Error)]
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
    /// The last run may have overwritten a donated input, and the caller has not donated this input
    /// again.
    #[error("the last run has overwritten the donated input {index}; donate it again, or set all inputs")]
    Taken {
        /// Index of the input among all array leaves of the parameters.
        index: usize,
    },
    /// The caller hands over a buffer for an input that the module does not declare as donated.
    #[error("input {index} is not donated by the module: name it in `input_output_alias` or `buffer_donor`")]
    NotDonated {
        /// Index of the input among all array leaves of the parameters.
        index: usize,
    },
    /// The caller hands over a buffer whose size differs from the size of the input.
    #[error("the buffer for input {index} has {found} bytes, but the module's parameter has {expected}")]
    DonatedSize {
        /// Index of the input among all array leaves of the parameters.
        index: usize,
        /// Size of the parameter in bytes.
        expected: u64,
        /// Size of the buffer in bytes.
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
