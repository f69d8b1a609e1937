//! Plans, which state an emitter's decisions about a kernel before any code exists.

use std::fmt;
use std::panic::Location;

use super::Configuration;
use crate::hlo::InstrId;
use crate::indexing::IndexingMap;

/// Size of the grid. The grid and its blocks are one-dimensional.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchDimensions {
    /// Number of blocks. On the cpu, a block is a task of the thread pool.
    pub blocks: u64,
    /// Number of threads in a block; 1 on the cpu.
    pub threads_per_block: u32,
}

/// The mode in which a kernel writes the elements of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// The kernel writes every element exactly once.
    Unique,
    /// The kernel updates elements any number of times: either with atomic operations, or in order
    /// in one thread. [`OutputPlan::initial`] is the parameter with the values before the updates.
    Atomic,
    /// The kernel writes only part of the output, and writes each element at most once. Elements
    /// that the kernel does not write keep their [initial value](OutputPlan::initial).
    InPlace,
}

/// The plan for one output.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputPlan {
    /// Maps `(th, bl)[loops…] -> output index`. Dimension 0 is the number of the thread within its
    /// block; dimension 1 is the number of the block. If several loop nests write the output, there
    /// is one map per loop nest, and each map covers a part of the elements.
    pub maps: Vec<IndexingMap>,
    /// How often the kernel writes each element.
    pub mode: WriteMode,
    /// Index of the fusion parameter whose value the output contains when the kernel starts. If no
    /// later instruction needs the parameter's old value, the output uses the parameter's buffer.
    /// If a later instruction needs the old value, the host copies the parameter to the output's
    /// buffer. Writing the output may therefore change the parameter, so the kernel must read old
    /// elements from the output.
    pub initial: Option<u32>,
    /// The line of the emitter's source that created this plan, as `file:line:column`, for
    /// messages.
    pub place: Option<String>,
}

impl LaunchDimensions {
    /// Returns the number of threads in all blocks.
    pub fn threads(&self) -> u64 {
        self.blocks.saturating_mul(self.threads_per_block.into())
    }
}

impl OutputPlan {
    /// Plans an output. The kernel writes each element of this output exactly once.
    #[track_caller]
    pub fn unique(map: IndexingMap) -> Self {
        OutputPlan::unique_parts(vec![map])
    }

    /// Plans an output that several loop nests write. Each element is written exactly once, by one
    /// of these loop nests.
    #[track_caller]
    pub fn unique_parts(maps: Vec<IndexingMap>) -> Self {
        OutputPlan { maps, mode: WriteMode::Unique, initial: None, place: caller() }
    }

    /// Plans an output that starts with the parameter's value. The kernel replaces some of the
    /// elements, and replaces no element more than once.
    #[track_caller]
    pub fn in_place(map: IndexingMap, parameter: u32) -> Self {
        OutputPlan::in_place_parts(vec![map], parameter)
    }

    /// Plans an output that starts with the parameter's value. Several loop nests replace some of
    /// the elements, and no element is replaced more than once.
    #[track_caller]
    pub fn in_place_parts(maps: Vec<IndexingMap>, parameter: u32) -> Self {
        OutputPlan { maps, mode: WriteMode::InPlace, initial: Some(parameter), place: caller() }
    }

    /// Plans an output that starts with the parameter's value. The kernel updates elements any
    /// number of times.
    #[track_caller]
    pub fn updates(map: IndexingMap, parameter: u32) -> Self {
        OutputPlan { maps: vec![map], mode: WriteMode::Atomic, initial: Some(parameter), place: caller() }
    }
}

/// Returns the source line that called the public function in this file, for example
/// `OutputPlan::unique`.
#[track_caller]
fn caller() -> Option<String> {
    Some(Location::caller().to_string())
}

/// Values that a kernel computes point by point, and a map that states these points. The indexing
/// maps of the operations determine which parameter elements the kernel reads for these values.
#[derive(Clone, Debug, PartialEq)]
pub struct Visit {
    /// Map `(th, bl)[loops…] -> index of the values`. The last loop is the innermost.
    pub map: IndexingMap,
    /// The instructions whose values the kernel computes. The result of the map is an index into
    /// the value of each of these instructions.
    pub values: Vec<InstrId>,
    /// Instructions whose values the kernel already holds, for example in a tile, in an accumulator
    /// or from an earlier visit. The visit computes neither these instructions nor operands that
    /// only these instructions need.
    pub given: Vec<InstrId>,
}

/// Work of a kernel that its [visits](Visit) and writes do not include, in the units of
/// [`cost`](crate::cost). Numbers are totals over all threads unless stated otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// Number of additions. The emitter converts other operations (combining values, transposing
    /// vectors, exchanging values between threads) to the number of additions that take as long as
    /// the operations. One operation on all lanes of a vector counts as one addition.
    pub additions: f64,
    /// Bytes that the kernel writes to shared memory or to a thread's private memory, and then
    /// reads again.
    pub tile_bytes: f64,
    /// Number of barriers at which a thread waits for the other threads of its block.
    pub waits: f64,
    /// Number of atomic operations.
    pub atomics: f64,
    /// Whether the kernel writes results with stores that bypass the caches. Stores that bypass the
    /// caches do not first read the cache line that they overwrite.
    pub past_caches: bool,
    /// Whether the last bits of results depend on the order of the threads and may therefore differ
    /// between runs. Emitters set this flag only for a small amount of work, because only then is a
    /// reproducible plan possible, too. The prediction adds a penalty to a plan with this flag, so
    /// that reproducible plans rank first.
    pub unordered: bool,
}

/// The plan of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The grid.
    pub launch: LaunchDimensions,
    /// Shared memory in bytes.
    pub shared_bytes: u32,
    /// One plan per output, in the order of the flattened roots.
    pub outputs: Vec<OutputPlan>,
    /// The values that the kernel computes, and the points at which it computes these values. Only
    /// predictions use the visits. If the list of visits is empty, the kernel computes every result
    /// from the parameters at the point where it writes the result.
    pub visits: Vec<Visit>,
    /// Work that the visits do not include.
    pub work: Work,
    /// Number of elements that a thread reads or writes per vector access; 1 without vector
    /// accesses.
    pub vector_lanes: u32,
    /// The knobs of this plan. `emit` reads the plan's decisions from these knobs.
    pub configuration: Configuration,
    /// Other configurations that the tuner should measure, most promising first.
    pub alternatives: Vec<Configuration>,
    /// Remarks for `explain`.
    pub notes: Vec<String>,
}

impl Plan {
    /// Creates the plan of a kernel that computes the elements of every result one by one, each at
    /// the point where the kernel writes it.
    pub fn new(launch: LaunchDimensions, outputs: Vec<OutputPlan>) -> Self {
        Plan {
            launch,
            shared_bytes: 0,
            outputs,
            visits: Vec::new(),
            work: Work::default(),
            vector_lanes: 1,
            configuration: Configuration::default(),
            alternatives: Vec::new(),
            notes: Vec::new(),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "launch: {} blocks of {} threads", self.launch.blocks, self.launch.threads_per_block)?;
        if self.shared_bytes > 0 {
            writeln!(f, "shared memory: {} bytes", self.shared_bytes)?;
        }
        writeln!(f, "vector lanes: {}", self.vector_lanes)?;
        for (name, value) in &self.configuration.0 {
            writeln!(f, "knob {name}: {value}")?;
        }
        for (index, output) in self.outputs.iter().enumerate() {
            for map in &output.maps {
                writeln!(f, "output {index} ({:?}): {map}", output.mode)?;
            }
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        Ok(())
    }
}
