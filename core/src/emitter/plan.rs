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
    /// Any number of times, by atomic operations or by one thread in order; [`OutputPlan::initial`] is the value before.
    Atomic,
    /// Only part of the output is written, each element at most once; the rest keeps its
    /// [initial value](OutputPlan::initial).
    InPlace,
}

/// How one output is written.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputPlan {
    /// `(th, bl)[loops…] -> output index`. Dimension 0 is the thread in its block, dimension 1 the block. Several
    /// maps, one per loop nest, share the elements among them.
    pub maps: Vec<IndexingMap>,
    /// What the kernel promises about writes.
    pub mode: WriteMode,
    /// Number of the fusion's parameter whose value the output holds when the kernel starts. The host lets
    /// both share memory where nobody needs the old value any more, and copies otherwise: so the kernel may see the
    /// parameter change while it writes the output, and reads old elements from the output.
    pub initial: Option<u32>,
}

impl OutputPlan {
    /// Every element is written exactly once.
    pub fn unique(map: IndexingMap) -> Self {
        OutputPlan::unique_parts(vec![map])
    }

    /// Every element is written exactly once, each by one of several loop nests.
    pub fn unique_parts(maps: Vec<IndexingMap>) -> Self {
        OutputPlan { maps, mode: WriteMode::Unique, initial: None }
    }

    /// Some elements of the parameter's value are replaced, each at most once.
    pub fn in_place(map: IndexingMap, parameter: u32) -> Self {
        OutputPlan { maps: vec![map], mode: WriteMode::InPlace, initial: Some(parameter) }
    }

    /// Elements of the parameter's value are updated any number of times.
    pub fn updates(map: IndexingMap, parameter: u32) -> Self {
        OutputPlan { maps: vec![map], mode: WriteMode::Atomic, initial: Some(parameter) }
    }
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
