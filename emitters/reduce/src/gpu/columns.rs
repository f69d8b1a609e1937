//! Schedules for column problems `[a, b, c] -> [a, c]`. Each block reduces a tile of columns.
//!
//! ```text
//! th = (down, across)            Tx threads across, Ty down
//! unit = bl * Tx + across        a unit of V adjacent results: unit = d0 * (c / V) + position in the row
//! d1 = step * Ty + down
//! d2 = (unit mod (c / V)) * V + lane
//! ```
//!
//! Every lane has a different result, so a thread has V accumulators. If Ty (the number of threads
//! per column) is 1, each thread computes its results alone. Otherwise, threads write their partial
//! results to a transposed tile, so that a warp reads the partial results of a column from
//! contiguous memory.

use fusebox_core::emitter::{Configuration, EmitError};
use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, ceil_div};

use super::axis::ThreadedAxis;
use super::banks::padded;
use super::limits::GroupLimits;
use super::schedule::{GroupSchedule, PartialsTile, block, demand, lane, thread, thread_map};

/// Number of threads of a block in which each thread computes its results alone.
const BLOCK: i64 = 128;
/// Maximum number of unused elements at the end of a tile's column. This number is enough for
/// elements of one byte.
pub const MOST_PAD: i64 = 4;
/// Number of bytes that each thread must read so that a warp reads a whole cache line.
const WORD: i64 = 4;
/// Usual number of rows that one thread reads. A thread reads fewer rows if otherwise too few
/// threads would be busy.
const MOST_STEPS: i64 = 16;

struct ColumnParameters {
    /// Number of adjacent results of one thread.
    vector: i64,
    /// Number of threads that compute one result together.
    down: i64,
    /// Number of threads of a block that compute adjacent groups of results.
    across: i64,
    /// Number of rows that a thread reads concurrently.
    unroll: i64,
}

/// Chooses the schedule.
pub fn schedule(limits: &GroupLimits, configuration: &Configuration) -> Result<GroupSchedule, EmitError> {
    Ok(ColumnParameters::new(limits, configuration)?.schedule(limits))
}

impl ColumnParameters {
    fn new(limits: &GroupLimits, configuration: &Configuration) -> Result<Self, EmitError> {
        let [a, b, c] = limits.group.problem.dims;
        let widest = limits.vector_of(c, limits.lanes);
        let wanted = format!("a power of two up to {widest}");
        let vector = configuration.checked_knob("vector", || &wanted, |v| v >= 1 && v <= widest && v & (v - 1) == 0)?;
        let vector = vector.unwrap_or_else(|| natural_vector(limits, widest));
        let most_down = limits.warp.min(limits.most_threads / limits.warp);
        let wanted = format!("a power of two up to {most_down}");
        let down = configuration.checked_knob("down", || &wanted, |v| v >= 1 && v <= most_down && v & (v - 1) == 0)?;
        let down = down.unwrap_or_else(|| natural_down(limits, a * c / vector, b, most_down));
        let down = fitting(limits, vector, down);
        let unroll = configuration.checked_knob("unroll", || "1 to 16", |v| (1..=16).contains(&v))?;
        let unroll = unroll.unwrap_or_else(|| limits.unroll(vector));
        let across = if down == 1 { BLOCK.min(limits.most_threads) } else { limits.warp };
        Ok(ColumnParameters { vector, down, across, unroll })
    }

    fn knobs(&self) -> Vec<(&'static str, i64)> {
        vec![("down", self.down), ("unroll", self.unroll), ("vector", self.vector)]
    }

    fn schedule(&self, limits: &GroupLimits) -> GroupSchedule {
        let [a, b, c] = limits.group.problem.dims;
        let ColumnParameters { vector, down, across, unroll } = *self;
        let in_row = c / vector;
        let units = a * in_row;
        let blocks = ceil_div(units, across);
        let threads = across * down;
        let mut walk = thread_map(threads, blocks);
        let mut unrolled = Vec::new();
        let unit = block() * across + thread().modulo(across);
        demand(&mut walk, &unit, units, blocks * across);
        let d1 = ThreadedAxis::new(b, down, unroll).walk(&mut walk, &mut unrolled, "down", thread().floor_div(across));
        let lane = lane(&mut walk, vector);
        walk.results = vec![unit.clone().floor_div(in_row), d1, unit.modulo(in_row) * vector + lane];
        let tile = (down > 1).then(|| {
            padded(tile(limits.warp, vector, down, blocks), MOST_PAD, limits.warp, &limits.accumulator_sizes())
        });
        GroupSchedule {
            threads,
            blocks,
            lanes: vector,
            vector,
            walk,
            unrolled,
            shuffled: 1,
            kept: self.kept(limits, units, in_row, blocks),
            tile,
            knobs: self.knobs(),
            alternatives: self.alternatives(limits),
            note: format!(
                "{}: {down} threads for a column, {} columns in a block, {vector} elements a read",
                limits.group.problem,
                across * vector
            ),
        }
    }

    /// Returns the map from threads to results. The column's result is in the first of the threads
    /// that read the column's partial results.
    fn kept(&self, limits: &GroupLimits, units: i64, in_row: i64, blocks: i64) -> IndexingMap {
        let ColumnParameters { vector, down, across, .. } = *self;
        let mut kept = thread_map(across * down, blocks);
        let mut column = thread();
        if down > 1 {
            kept.constraints.push(Constraint::new(thread().modulo(down), Interval::point(0)));
            column = reader_column(limits.warp, down);
        }
        let unit = block() * across + column;
        demand(&mut kept, &unit, units, blocks * across);
        let lane = lane(&mut kept, vector);
        kept.results = vec![unit.clone().floor_div(in_row), unit.modulo(in_row) * vector + lane];
        kept
    }

    fn alternatives(&self, limits: &GroupLimits) -> Vec<Vec<(&'static str, i64)>> {
        let most_down = limits.warp.min(limits.most_threads / limits.warp);
        let widest = limits.vector_of(limits.group.problem.dims[2], limits.lanes);
        let downs = [self.down / 2, self.down * 2].into_iter().filter(|d| (1..=most_down).contains(d));
        let vectors = [self.vector / 2, self.vector * 2].into_iter().filter(|v| (1..=widest).contains(v));
        let unrolls = [self.unroll / 2, self.unroll * 2].into_iter().filter(|u| (1..=16).contains(u));
        let downs = downs.map(|down| ColumnParameters { down: fitting(limits, self.vector, down), ..*self }.knobs());
        let vectors = vectors
            .map(|vector| ColumnParameters { vector, down: fitting(limits, vector, self.down), ..*self }.knobs());
        let mut all: Vec<_> =
            downs.chain(vectors).chain(unrolls.map(|unroll| ColumnParameters { unroll, ..*self }.knobs())).collect();
        all.retain(|knobs| *knobs != self.knobs());
        all
    }
}

/// Returns the tile. The tile holds the columns of all lanes in sequence, and the partial results
/// of a column are contiguous.
///
/// ```text
///               part 0 .. Ty-1, unused
/// lane 0  across 0   [p p p p .]
///         across 1   [p p p p .]      threads across write with an odd stride: all banks differ
///         ...                         Ty threads read a row; a warp reads rows that are Ty apart
/// lane 1  across 0   [p p p p .]
/// ```
pub fn tile(warp: i64, vector: i64, down: i64, blocks: i64) -> PartialsTile {
    let threads = warp * down;
    let mut write = thread_map(threads, blocks);
    let written = lane(&mut write, vector) * warp + thread().modulo(warp);
    write.results = vec![written, thread().floor_div(warp)];
    let mut read = thread_map(threads, blocks);
    let pass = lane(&mut read, vector);
    read.results = vec![pass * warp + reader_column(warp, down), thread().modulo(down)];
    PartialsTile { columns: warp * vector, partials: down, pitch: down, write, readers: down, read, reading: threads }
}

/// Returns the column whose partial results a group of threads reads. The columns of one warp are
/// `down` apart, so that they start in different banks.
fn reader_column(warp: i64, down: i64) -> Expr {
    thread().floor_div(warp) + thread().modulo(warp).floor_div(down) * down
}

/// Returns the number of elements of the widest access with which there is at least one tile per
/// core. A warp reads at least a cache line, even if some cores then have no tile.
fn natural_vector(limits: &GroupLimits, widest: i64) -> i64 {
    let [a, _, c] = limits.group.problem.dims;
    let mut vector = widest;
    while vector > 1 && vector * limits.element_bytes() > WORD && a * c / (vector * limits.warp) < limits.cores {
        vector /= 2;
    }
    vector
}

/// Returns the number of threads of a column. With this number, the threads fill the device, and
/// each thread has several rows to read.
fn natural_down(limits: &GroupLimits, units: i64, b: i64, most: i64) -> i64 {
    let needs = |down: i64| units * down < limits.device_threads && b / down > MOST_STEPS / 2;
    if !needs(1) || b <= MOST_STEPS {
        return 1;
    }
    // With only two threads for a column, a tile does not pay.
    let mut down = most.min(4);
    while down < most && needs(down) {
        down *= 2;
    }
    down
}

/// Reduces the number of threads per column until the tile fits into shared memory.
fn fitting(limits: &GroupLimits, vector: i64, down: i64) -> i64 {
    let mut down = down;
    while down > 1 && limits.warp * vector * (down + MOST_PAD) * limits.accumulator_bytes() > limits.shared_bytes {
        down /= 2;
    }
    down
}
