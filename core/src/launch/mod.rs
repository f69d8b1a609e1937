//! Distributes the points of loop nests to the blocks and threads of one launch.
//!
//! A kernel may visit several boxes of points, for example the operands of a concatenate, or the
//! updates of several dynamic-update-slices. The launch has separate blocks for each box. Therefore
//! all threads of a block work on the same box, and boxes of different sizes together use the whole
//! machine. There is one exception: if blocks have one thread, one block may visit several small
//! boxes.
//!
//! ```text
//! block   0  1  2  3  4  5  6
//!         └ box 0 ┘  └─ box 1 ┘      each block: threads × lanes points, or a slab of rows
//! ```

mod balance;
mod slabs;
mod threads;
mod work;

use crate::device::DeviceDescription;
use crate::emitter::{Configuration, EmitError, LaunchDimensions, OutputPlan, Plan};
use crate::indexing::{Constraint, Expr, IndexingMap, Interval};

pub use balance::Balance;
pub use slabs::blocks_for;
pub use work::{cost_per_point, lanes_along, worth_sharing};

/// Largest number of points of a nest. No memory can hold an array with more elements. For nests of
/// at most this number of points, no count in a plan overflows.
pub const MOST_POINTS: i64 = 1 << 48;

/// An estimated cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Number of bytes that a kernel reads and writes.
    pub bytes: i64,
    /// Time of the arithmetic, expressed as the number of bytes that memory transfers in this time.
    pub arithmetic: i64,
}

impl Cost {
    /// Returns the sum of `bytes` and `arithmetic`.
    pub fn total(self) -> i64 {
        self.bytes.saturating_add(self.arithmetic)
    }

    /// Returns the cost of `count` items that each have this cost.
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
    /// Largest number of adjacent points that one thread may compute at once. This number is a
    /// power of two. If the nest has several dimensions, this number of points divides the size of
    /// the last dimension. If the nest has one dimension, the last thread may compute fewer points
    /// than this number. See [`lanes_along`].
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
    /// `(th, bl)[loops…] -> point`: map of the points that a thread visits. The first loop is the
    /// outermost. The last loop runs over adjacent points.
    pub map: IndexingMap,
    /// Index of the range variable that runs over adjacent points of one thread, or `None` if each
    /// thread computes one point at a time. The emitter should unroll the loop over this variable.
    pub lane: Option<usize>,
}

impl Share {
    /// Returns `(th, bl)[loops…, range variables of to] -> results of to`, where `to` maps from the
    /// nest's points.
    ///
    /// # Errors
    /// If `to` has another number of dimensions than the nest.
    pub fn then(&self, to: &IndexingMap) -> Result<IndexingMap, EmitError> {
        let message = || format!("a nest of {} dimensions, a map from {}", self.map.results.len(), to.dims.len());
        let map = self.map.then(to).ok_or_else(|| EmitError { message: message(), instruction: None })?;
        Ok(map.simplify())
    }
}

/// A launch, with the assignment of its blocks and threads to nests.
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
    /// Distributes nests of at most [`MOST_POINTS`] points. Chooses values for the knobs that the
    /// configuration does not set. If a block has one thread, the only knob is `blocks`; otherwise
    /// the knobs are `lanes` and `threads`.
    ///
    /// # Errors
    /// Fails if a knob's value is impossible.
    pub fn new(nests: &[Nest], device: &DeviceDescription, configuration: &Configuration) -> Result<Self, EmitError> {
        Dealing::of_updates(nests, 0, device, configuration)
    }

    /// Distributes the nests of a kernel that updates parts of large arrays in place; see
    /// [`Dealing::new`]. `spread` is the total size, in bytes, of the cache lines that the kernel
    /// writes in these arrays. The cache lines of a large array are spread over the caches of all
    /// cores, because each core wrote a part of the array. If one core ran the whole kernel, this
    /// core would have to fetch cache lines from the other cores. The other cores would later have
    /// to fetch their cache lines back from this core.
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

/// The consecutive blocks of the launch that compute one nest.
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
