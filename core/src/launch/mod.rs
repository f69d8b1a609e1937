//! Distributes the points of loop nests to the blocks and threads of one launch.
//!
//! A kernel that visits several boxes of points (the operands of a concatenate, the updates of
//! several dynamic-update-slices) gives each box separate blocks. All threads of a block then work
//! on the same box, and boxes of different sizes together use the whole machine.
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

/// Largest number of points of a nest. No memory holds this many elements, and up to this limit no
/// count in a plan overflows.
pub const MOST_POINTS: i64 = 1 << 48;

/// An estimated cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Bytes that are read and written.
    pub bytes: i64,
    /// Arithmetic, as the number of bytes of memory traffic that take the same time.
    pub arithmetic: i64,
}

impl Cost {
    /// The sum of both costs, in bytes.
    pub fn total(self) -> i64 {
        self.bytes.saturating_add(self.arithmetic)
    }

    /// The cost of `count` equal items.
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

/// A box of points, each of which a kernel visits once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nest {
    /// Sizes of the box. Points adjacent in the last dimension are adjacent in memory.
    pub dims: Vec<i64>,
    /// Cost of one point; see [`cost_per_point`].
    pub cost: Cost,
    /// Largest number of adjacent points that one thread may compute at once. It is a power of two
    /// that divides the last dimension. See [`lanes_along`].
    pub lanes: i64,
}

impl Nest {
    /// Number of points.
    pub fn points(&self) -> i64 {
        self.dims.iter().fold(1i64, |n, &d| n.saturating_mul(d))
    }

    /// Cost of all points.
    fn cost(&self) -> Cost {
        let of_point = if self.cost.total() > 0 { self.cost } else { Cost { bytes: 1, arithmetic: 0 } };
        of_point.times(self.points())
    }
}

/// The part of a launch that visits one nest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// `(th, bl)[loops…] -> point`: the points that a thread visits. Loops run in order; the last
    /// one runs over adjacent points.
    pub map: IndexingMap,
    /// The range variable of a thread's adjacent points, if there are several. The loop over this
    /// variable is meant to be unrolled.
    pub lane: Option<usize>,
}

impl Share {
    /// Returns `(th, bl)[loops…, range variables of to] -> results of to`, where `to` maps from the
    /// nest's points.
    ///
    /// # Errors
    /// Fails if the number of dimensions of `to` is not that of the nest.
    pub fn then(&self, to: &IndexingMap) -> Result<IndexingMap, EmitError> {
        let message = || format!("a nest of {} dimensions, a map from {}", self.map.results.len(), to.dims.len());
        let map = self.map.then(to).ok_or_else(|| EmitError { message: message(), instruction: None })?;
        Ok(map.simplify())
    }
}

/// A launch whose blocks and threads are distributed to nests.
#[derive(Clone, Debug, PartialEq)]
pub struct Dealing {
    /// The numbers of blocks and threads.
    pub launch: LaunchDimensions,
    /// One share per nest.
    pub shares: Vec<Share>,
    /// Largest number of adjacent points that a thread of any nest computes at once.
    pub lanes: i64,
    /// The values of the knobs.
    pub configuration: Configuration,
    /// Other values of the knobs that the tuner should measure.
    pub alternatives: Vec<Configuration>,
}

impl Dealing {
    /// Distributes nests of at most [`MOST_POINTS`] points and chooses the knobs that the
    /// configuration does not set. The knobs are `lanes` and `threads` or, if a block has one
    /// thread, `blocks`.
    ///
    /// # Errors
    /// Fails if a knob's value is impossible.
    pub fn new(nests: &[Nest], device: &DeviceDescription, configuration: &Configuration) -> Result<Self, EmitError> {
        Dealing::of_updates(nests, 0, device, configuration)
    }

    /// Distributes the nests of a kernel that updates parts of large arrays in place; see
    /// [`Dealing::new`]. The cache lines that it writes in these arrays take `spread` bytes. They
    /// are spread over the caches of all cores, because each core wrote a part of every array. If
    /// one core ran the kernel, it would have to fetch the other cores' lines, and these cores
    /// would later have to fetch them back.
    ///
    /// # Errors
    /// Fails if a knob's value is impossible.
    pub fn of_updates(
        nests: &[Nest],
        spread: i64,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Self, EmitError> {
        if device.is_single_threaded_block() {
            slabs::deal(nests, spread, device, configuration)
        } else {
            threads::deal(nests, device, configuration)
        }
    }

    /// Returns the plan of a kernel with these outputs.
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

/// The blocks of one nest, among all blocks of the launch.
struct BlockRange {
    first: i64,
    count: i64,
}

impl BlockRange {
    /// Returns the block's number within the range, and the constraint that the block is in the
    /// range.
    fn local(&self, total: i64) -> (Expr, Option<Constraint>) {
        let block = Expr::dim(1);
        let constraint = (self.count < total)
            .then(|| Constraint::new(block.clone(), Interval::new(self.first, self.first + self.count - 1)));
        (if self.first == 0 { block } else { block - self.first }, constraint)
    }
}
