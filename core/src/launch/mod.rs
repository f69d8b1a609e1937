//! Dealing the points of loop nests to the blocks and threads of one launch.
//!
//! A kernel that visits several boxes of points (the operands of a concatenate, the updates of several
//! dynamic-update-slices) gives each box blocks of its own. What a block works on is then the same for all of its
//! threads, and boxes of any sizes fill the machine together.
//!
//! ```text
//! block   0  1  2  3  4  5  6
//!         └ box 0 ┘  └─ box 1 ┘      each block: threads × lanes points, or a slab of rows
//! ```

mod slabs;
mod threads;
mod work;

use crate::device::DeviceDescription;
use crate::emitter::{Configuration, EmitError, LaunchDimensions, OutputPlan, Plan};
use crate::indexing::{Constraint, Expr, IndexingMap, Interval};

pub use slabs::blocks_for;
pub use work::{cost_per_point, lanes_along, worth_sharing};

/// More points than any memory holds; below it, no count in a plan overflows.
pub const MOST_POINTS: i64 = 1 << 48;

/// What something costs, a guess.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Bytes that are read and written.
    pub bytes: i64,
    /// Arithmetic, in bytes of memory traffic that take as long.
    pub arithmetic: i64,
}

impl Cost {
    /// Both together, in bytes.
    pub fn total(self) -> i64 {
        self.bytes.saturating_add(self.arithmetic)
    }

    /// The cost of so many.
    pub fn times(self, count: i64) -> Cost {
        Cost { bytes: self.bytes.saturating_mul(count), arithmetic: self.arithmetic.saturating_mul(count) }
    }
}

impl std::ops::Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost {
            bytes: self.bytes.saturating_add(other.bytes),
            arithmetic: self.arithmetic.saturating_add(other.arithmetic),
        }
    }
}

/// A box of points to be visited, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nest {
    /// Its sizes; neighbours in the last dimension are neighbours in memory.
    pub dims: Vec<i64>,
    /// What a point costs; see [`cost_per_point`].
    pub cost: Cost,
    /// Most neighbouring points that one thread may take at once; a power of two that divides the last dimension. See
    /// [`lanes_along`].
    pub lanes: i64,
}

impl Nest {
    /// Number of points.
    pub fn points(&self) -> i64 {
        self.dims.iter().fold(1i64, |n, &d| n.saturating_mul(d))
    }

    /// What visiting all points costs.
    fn cost(&self) -> Cost {
        let of_point = if self.cost.total() > 0 { self.cost } else { Cost { bytes: 1, arithmetic: 0 } };
        of_point.times(self.points())
    }
}

/// A nest's part of the launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// `(th, bl)[loops…] -> point`: the points that a thread visits. Loops run in order, the last over neighbours.
    pub map: IndexingMap,
    /// The range variable that counts a thread's neighbouring points, if it has several: to be unrolled.
    pub lane: Option<usize>,
}

impl Share {
    /// `(th, bl)[loops…, range variables of to] -> results of to`, where `to` starts at the nest's points.
    ///
    /// # Errors
    /// If `to` takes another number of dimensions.
    pub fn then(&self, to: &IndexingMap) -> Result<IndexingMap, EmitError> {
        let message = || format!("a nest of {} dimensions, a map from {}", self.map.results.len(), to.dims.len());
        let map = self.map.then(to).ok_or_else(|| EmitError { message: message(), instruction: None })?;
        Ok(map.simplify())
    }
}

/// A launch with every nest's part of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Dealing {
    /// The grid.
    pub launch: LaunchDimensions,
    /// One per nest.
    pub shares: Vec<Share>,
    /// Most neighbouring points that a thread of any nest takes at once.
    pub lanes: i64,
    /// The knobs' values.
    pub configuration: Configuration,
    /// Other values worth measuring.
    pub alternatives: Vec<Configuration>,
}

impl Dealing {
    /// Deals nests of at most [`MOST_POINTS`] points. What the configuration leaves open is chosen. Knobs: `lanes` and
    /// `threads`, or `blocks` where a block is one thread.
    ///
    /// # Errors
    /// If a knob's value is impossible.
    pub fn new(nests: &[Nest], device: &DeviceDescription, configuration: &Configuration) -> Result<Self, EmitError> {
        Dealing::of_updates(nests, 0, device, configuration)
    }

    /// The same of a kernel that updates parts of large arrays in place. The cache lines that it writes there take `spread` bytes and lie
    /// in the caches of all cores, each of which has made its own part of every array. One core alone would have to fetch the others'
    /// lines, and these to fetch them back.
    ///
    /// # Errors
    /// As [`Dealing::new`].
    pub fn of_updates(
        nests: &[Nest],
        spread: i64,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Self, EmitError> {
        match device.is_single_threaded_block() {
            true => slabs::deal(nests, spread, device, configuration),
            false => threads::deal(nests, device, configuration),
        }
    }

    /// The plan of a kernel with these outputs.
    pub fn plan(self, outputs: Vec<OutputPlan>, notes: Vec<String>) -> Plan {
        Plan {
            vector_lanes: self.lanes as u32,
            configuration: self.configuration,
            alternatives: self.alternatives,
            notes,
            ..Plan::new(self.launch, outputs)
        }
    }
}

/// The blocks of one nest, among all.
struct BlockRange {
    first: i64,
    count: i64,
}

impl BlockRange {
    /// The block's number within the range, and what must hold for it to be in there.
    fn local(&self, total: i64) -> (Expr, Option<Constraint>) {
        let block = Expr::dim(1);
        let constraint = (self.count < total)
            .then(|| Constraint::new(block.clone(), Interval::new(self.first, self.first + self.count - 1)));
        (if self.first == 0 { block } else { block - self.first }, constraint)
    }
}
