//! The memory that a program needs, and the values that need this memory.

use serde::Serialize;

/// The memory of a program, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemoryUse {
    /// Bytes of inputs.
    pub arguments: u64,
    /// Bytes of constants that have their own allocations.
    pub constants: u64,
    /// Bytes of results that are neither in inputs nor in constants.
    pub outputs: u64,
    /// Bytes of the allocation of temporaries, plus the memory of manual computations on all their
    /// devices.
    pub temporaries: u64,
    /// Bytes of all allocations.
    pub total: u64,
    /// Largest number of bytes of outputs and temporaries that are needed at once. The memory of
    /// outputs exists during the whole execution. Temporaries that are placed in the memory of
    /// outputs are not counted.
    pub peak: u64,
    /// Bytes by which the allocation of temporaries exceeds the peak of live temporaries, because
    /// of gaps between temporaries.
    pub waste: u64,
    /// The first step at which the bytes of live temporaries are at their peak.
    pub peak_step: u32,
    /// Buffers that are alive at the peak of memory use, the largest first.
    pub alive: Vec<LiveBuffer>,
    /// Results that are stored in buffers of donated inputs.
    pub shared: Vec<SharedBuffer>,
}

/// A buffer that is alive at the peak of memory use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LiveBuffer {
    /// The instruction that first writes a value into the buffer. Later instructions may update the
    /// value in-place.
    pub instruction: String,
    /// Size of the buffer in bytes, rounded up to the alignment.
    pub bytes: u64,
    /// The first step that uses the buffer. Steps are numbered through the whole program, including
    /// the steps of loops and branches.
    pub first: u32,
    /// The last step that uses the buffer.
    pub last: u32,
}

/// A result that is stored in the buffer of an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SharedBuffer {
    /// Index of the shared leaf among the array leaves of the program's result.
    pub output: usize,
    /// Index of the input among the leaves of the parameters.
    pub input: usize,
    /// Name of the parameter that contains the input.
    pub parameter: String,
}

impl MemoryUse {
    /// Returns the bytes of outputs and temporaries, without donated inputs.
    pub fn written(&self) -> u64 {
        self.outputs + self.temporaries
    }
}
