//! What a kernel will do, before any code exists.

use std::fmt;
use std::panic::Location;

use super::Configuration;
use crate::hlo::InstrId;
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
    /// The line of the emitter's source that made this plan, `file:line:column`, for messages about
    /// it.
    pub place: Option<String>,
}

impl LaunchDimensions {
    /// Threads of all blocks.
    pub fn threads(&self) -> u64 {
        self.blocks.saturating_mul(self.threads_per_block.into())
    }
}

impl OutputPlan {
    /// Every element is written exactly once.
    #[track_caller]
    pub fn unique(map: IndexingMap) -> Self {
        OutputPlan::unique_parts(vec![map])
    }

    /// Every element is written exactly once, each by one of several loop nests.
    #[track_caller]
    pub fn unique_parts(maps: Vec<IndexingMap>) -> Self {
        OutputPlan { maps, mode: WriteMode::Unique, initial: None, place: caller() }
    }

    /// Some elements of the parameter's value are replaced, each at most once.
    #[track_caller]
    pub fn in_place(map: IndexingMap, parameter: u32) -> Self {
        OutputPlan::in_place_parts(vec![map], parameter)
    }

    /// Some elements of the parameter's value are replaced, each at most once, by one of several
    /// loop nests.
    #[track_caller]
    pub fn in_place_parts(maps: Vec<IndexingMap>, parameter: u32) -> Self {
        OutputPlan { maps, mode: WriteMode::InPlace, initial: Some(parameter), place: caller() }
    }

    /// Elements of the parameter's value are updated any number of times.
    #[track_caller]
    pub fn updates(map: IndexingMap, parameter: u32) -> Self {
        OutputPlan { maps: vec![map], mode: WriteMode::Atomic, initial: Some(parameter), place: caller() }
    }
}

/// The line that called the public function.
#[track_caller]
fn caller() -> Option<String> {
    Some(Location::caller().to_string())
}

/// Values that a kernel computes point by point. Which elements of the parameters it reads for that follows from the
/// indexing maps of the operations.
#[derive(Clone, Debug, PartialEq)]
pub struct Visit {
    /// `(th, bl)[loops…] -> index of the values`, in the order of the loops: the last one is the innermost.
    pub map: IndexingMap,
    /// Instructions of these dimensions.
    pub values: Vec<InstrId>,
    /// Instructions whose values the kernel has by other means: from a tile, an accumulator, an earlier visit. Neither
    /// they nor what only they need is computed here.
    pub given: Vec<InstrId>,
}

/// What a kernel does beside its [visits](Visit) and writes, all threads together unless it says otherwise. In the units of
/// [`cost`](crate::cost).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// Additions, or what takes as long: combining, turning, exchanging between threads. The
    /// lanes of a vector make one addition together.
    pub additions: f64,
    /// Bytes that are written to memory of a block or a thread and read again.
    pub tile_bytes: f64,
    /// How often a thread waits for all others of its block.
    pub waits: f64,
    /// Atomic operations.
    pub atomics: f64,
    /// Results are written past the caches: what was in their place is not read before.
    pub past_caches: bool,
    /// The last bits of results may differ from run to run, as they depend on which thread comes first, although the work is so
    /// little that there are ways to have them the same. Such a plan comes after all that have.
    pub unordered: bool,
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
    /// What is computed where, for [predictions](super::predict). None: every result where it is written, from the
    /// parameters.
    pub visits: Vec<Visit>,
    /// Other work, which no visit counts.
    pub work: Work,
    /// Elements a thread handles per vector access, 1 for none.
    pub vector_lanes: u32,
    /// The knobs this plan was made with; `emit` reads its decisions from here.
    pub configuration: Configuration,
    /// Other configurations worth measuring, best guess first.
    pub alternatives: Vec<Configuration>,
    /// Remarks for `explain`.
    pub notes: Vec<String>,
}

impl Plan {
    /// Of a kernel that computes every result where it is written, one by one.
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
