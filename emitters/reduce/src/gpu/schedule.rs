//! The schedule of a group. A schedule describes the work of a block's threads, in the same way for
//! every form.
//!
//! ```text
//! walk      each thread combines the elements it reads into its lanes' accumulators   registers
//! shuffle   adjacent threads of a warp combine their accumulators                     registers
//! tile      warps combine their accumulators: write, barrier, read, shuffle           shared memory
//! kept      threads with complete results apply the epilogue and write
//! ```

use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, Variable, ceil_div};

/// The schedule of one group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupSchedule {
    /// Number of a block's threads to which the schedule gives work.
    pub threads: i64,
    pub blocks: i64,
    /// Number of accumulators that a thread has for one value of a hero.
    pub lanes: i64,
    /// Number of elements per vector access, for the plan.
    pub vector: i64,
    /// Map `(th, bl)[loops, lane] -> [d0, d1, d2]` to the points that a thread reads. If there are
    /// several lanes, the lane is the last range variable.
    pub walk: IndexingMap,
    /// Range variables of `walk` that are unrolled.
    pub unrolled: Vec<usize>,
    /// Number of adjacent threads that combine their accumulators after each thread has read its
    /// elements. This number is a power of two. The number is 1 if no threads combine their
    /// accumulators.
    pub shuffled: i64,
    /// Tile through which warps combine accumulators. `None` if all partial results from which a
    /// result is combined are in one warp.
    pub tile: Option<PartialsTile>,
    /// Map `(th, bl)[pass] -> kept coordinates` to the results that a thread writes. `pass` is a
    /// lane, or a pass over the tile.
    pub kept: IndexingMap,
    /// Values of the knobs.
    pub knobs: Vec<(&'static str, i64)>,
    /// Alternative settings of the knobs, which the tuner can measure.
    pub alternatives: Vec<Vec<(&'static str, i64)>>,
    /// A line of text for `explain`.
    pub note: String,
}

/// A tile in shared memory that holds the partial results of several threads. A column holds the
/// partial results of one result.
#[derive(Clone, Debug, PartialEq)]
pub struct PartialsTile {
    pub columns: i64,
    /// Number of partial results of each result.
    pub partials: i64,
    /// Distance between columns, in elements. The pitch can exceed `partials`, so that threads
    /// access different banks.
    pub pitch: i64,
    /// Map `(th, bl)[lane] -> [column, partial]` to the elements that a thread writes.
    pub write: IndexingMap,
    /// Number of threads that combine one column's partial results, a power of two.
    pub readers: i64,
    /// Map `(th, bl)[pass] -> [column, first partial]` to the first element that a thread reads.
    /// The thread then reads every `readers`-th partial result of the column.
    pub read: IndexingMap,
    /// Number of threads of a block that read the tile.
    pub reading: i64,
}

/// Cost of combining the values of two threads of a warp. The unit is the time of one addition.
const EXCHANGE: f64 = 1.0;

impl GroupSchedule {
    /// Returns the cost, in additions, of combining values of different threads. The cost includes
    /// the shuffles, the writes and reads of the tile, and the shuffles after reading the tile.
    pub fn exchanges(&self) -> f64 {
        let threads = (self.blocks * self.threads) as f64 * self.lanes as f64;
        let shuffles = |lanes: i64| f64::from((lanes.max(1) as u64).ilog2());
        let tile = self.tile.as_ref().map_or(0.0, |tile| 2.0 + shuffles(tile.readers) + tile.steps() as f64);
        threads * EXCHANGE * (shuffles(self.shuffled) + tile)
    }

    /// Returns the number of bytes of shared memory if the accumulators of a result take
    /// `accumulator_bytes`.
    pub fn shared_bytes(&self, accumulator_bytes: i64) -> i64 {
        self.tile.as_ref().map_or(0, |tile| tile.columns * tile.pitch * accumulator_bytes)
    }
}

impl PartialsTile {
    /// Returns the number of reads of one thread per pass.
    pub fn steps(&self) -> i64 {
        ceil_div(self.partials, self.readers)
    }

    /// Returns the number of passes over the columns.
    pub fn passes(&self) -> i64 {
        self.read.ranges.first().map_or(1, |pass| pass.bounds.size() as i64)
    }
}

/// Returns a map without results, whose dimensions are the thread and the block.
pub fn thread_map(threads: i64, blocks: i64) -> IndexingMap {
    IndexingMap { dims: vec![Variable::named("th", threads), Variable::named("bl", blocks)], ..IndexingMap::default() }
}

/// Returns the index of the thread in its block.
pub fn thread() -> Expr {
    Expr::dim(0)
}

/// Returns the index of the block among the group's blocks.
pub fn block() -> Expr {
    Expr::dim(1)
}

/// Adds a last range variable for the lane, if there are several lanes. Returns the lane.
pub fn lane(map: &mut IndexingMap, lanes: i64) -> Expr {
    if lanes == 1 {
        return Expr::constant(0);
    }
    map.ranges.push(Variable::named("lane", lanes));
    Expr::range(map.ranges.len() as u32 - 1)
}

/// Returns a map without the lane variable. The results of the returned map are the results of all
/// lanes, one lane after the other.
pub fn all_lanes(map: &IndexingMap, lanes: i64) -> IndexingMap {
    if lanes == 1 {
        return map.clone();
    }
    let mut all = map.clone();
    all.ranges.pop();
    let others: Vec<Expr> = (0..all.ranges.len() as u32).map(Expr::range).collect();
    let dims: Vec<Expr> = (0..all.dims.len() as u32).map(Expr::dim).collect();
    let at = |lane: i64| {
        let ranges = [others.as_slice(), &[Expr::constant(lane)]].concat();
        map.results.iter().map(|result| result.substitute(&dims, &ranges, &[])).collect::<Vec<Expr>>()
    };
    all.results = (0..lanes).flat_map(at).collect();
    all
}

/// Returns the map with its range variables changed to additional dimensions.
pub fn ranges_as_dims(map: &IndexingMap) -> IndexingMap {
    let count = map.dims.len() as u32;
    let dims: Vec<Expr> = (0..count).map(Expr::dim).collect();
    let ranges: Vec<Expr> = (0..map.ranges.len() as u32).map(|range| Expr::dim(count + range)).collect();
    let rewrite = |expr: &Expr| expr.substitute(&dims, &ranges, &[]);
    IndexingMap {
        dims: map.dims.iter().chain(&map.ranges).cloned().collect(),
        results: map.results.iter().map(rewrite).collect(),
        constraints: map.constraints.iter().map(|c| Constraint::new(rewrite(&c.expr), c.bounds)).collect(),
        ..IndexingMap::default()
    }
}

/// Constrains `expr` to `0..size`. Adds no constraint if `reach` is at most `size`, because `expr`
/// is always less than `reach`.
pub fn demand(map: &mut IndexingMap, expr: &Expr, size: i64, reach: i64) {
    if reach > size {
        map.constraints.push(Constraint::new(expr.clone(), Interval::from_size(size)));
    }
}

/// Returns the smallest power of two that is at least `at_least`.
pub fn power_of_two(at_least: i64) -> i64 {
    (at_least.max(1) as u64).next_power_of_two() as i64
}
