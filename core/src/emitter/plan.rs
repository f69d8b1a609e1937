//! What a kernel will do, before any code exists.

use crate::indexing::IndexingMap;

/// Size of the grid. Blocks and threads are counted along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchDimensions {
    /// Blocks; on the cpu, tasks of the thread pool.
    pub blocks: u64,
    /// Threads in a block; 1 on the cpu.
    pub threads_per_block: u32,
}

/// How the elements of an output are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// Every element exactly once.
    Unique,
    /// By atomic operations, any number of times; the output holds its initial value before.
    Atomic,
    /// Only part of the output is written, each element at most once; the rest keeps its value.
    InPlace,
}

/// How one output is written.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputPlan {
    /// `(th, bl)[loops…] -> output index`. Dimension 0 is the thread in its block, dimension 1 the block.
    pub map: IndexingMap,
    /// What the kernel promises about writes.
    pub mode: WriteMode,
}

/// What a kernel will do.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The grid.
    pub launch: LaunchDimensions,
    /// Shared memory in bytes.
    pub shared_bytes: u32,
    /// One per output, flattened roots in order.
    pub outputs: Vec<OutputPlan>,
    /// Elements a thread handles per vector access, 1 for none.
    pub vector_lanes: u32,
    /// The knobs this plan was made with; `emit` reads its decisions from here.
    pub configuration: super::Configuration,
    /// Other configurations worth measuring, best guess first.
    pub alternatives: Vec<super::Configuration>,
    /// Remarks for `explain`.
    pub notes: Vec<String>,
}
