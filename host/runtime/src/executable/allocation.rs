//! Defines the memory of a program: allocations, and slices of allocations.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Alignment of every buffer in bytes. Kernels may assume this alignment.
pub const ALIGNMENT: usize = 64;

/// Size and alignment in bytes of a huge page on most machines. A buffer of at least this size
/// starts at a multiple of this size.
pub const HUGE_PAGE: usize = 2 << 20;

/// A contiguous piece of the program's memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocation {
    /// Size in bytes.
    pub bytes: u64,
    /// Use of the allocation.
    pub kind: AllocationKind,
}

/// Use of an allocation: the values that it holds, and the time when these values are written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AllocationKind {
    /// Holds an array leaf of an input. The runtime fills the allocation before a run, and thunks
    /// only read it.
    Parameter,
    /// Holds an array leaf of a donated input. The runtime fills the allocation before a run.
    /// Thunks may use the allocation like temporary memory, also for results.
    Donated,
    /// Holds these bytes. The runtime writes the bytes once, when it loads the program, and thunks
    /// only read them.
    Constant(Vec<u8>),
    /// Memory that thunks write and read during a run.
    Temporary,
    /// Memory that thunks write and read, and that holds array leaves of the result after a run.
    /// Each run has its own memory for this allocation, which belongs to the caller after the run.
    Result,
}

/// A range of bytes of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Slice {
    /// Index of the allocation in [`Executable::allocations`](super::Executable::allocations).
    pub allocation: u32,
    /// Offset of the slice's first byte in the allocation. The offset is a multiple of the buffer
    /// alignment.
    pub offset: u64,
    /// Size in bytes.
    pub bytes: u64,
}

impl AllocationKind {
    /// Whether thunks may write to an allocation of this kind.
    pub fn is_writable(&self) -> bool {
        matches!(self, AllocationKind::Donated | AllocationKind::Temporary | AllocationKind::Result)
    }
}

impl Slice {
    /// Whether the slices have a byte in common.
    pub fn overlaps(&self, other: &Slice) -> bool {
        self.allocation == other.allocation
            && self.offset < other.offset + other.bytes
            && other.offset < self.offset + self.bytes
    }
}

impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}..{}]", self.allocation, self.offset, self.offset + self.bytes)
    }
}
