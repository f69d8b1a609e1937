//! Distributes nests to blocks of one thread. Each block computes a contiguous part of a nest, row
//! by row, so that the innermost loop runs along the last dimension without divisions.

use super::{Balance, BlockRange, Cost, Dealing, Nest, Share};
use crate::cost::{fetching, moved_between_cores};
use crate::device::DeviceDescription;
use crate::emitter::{Configuration, EmitError, LaunchDimensions};
use crate::indexing::{Constraint, Expr, IndexingMap, Interval, Variable, ceil_div, delinearize, linearize};

/// Least cost of a block, in bytes. Distributing cheaper blocks takes more time than it saves.
const BYTES_PER_BLOCK: i64 = 128 << 10;
/// Cost of handing work to another core, expressed as the number of bytes that one core could move
/// in this time.
const HANDING_OUT: i64 = 64 << 10;
/// Number of points to which cuts are aligned: a row may be cut only at multiples of this number.
/// `CUT` elements of any type fill whole cache lines.
const CUT: i64 = 64;
/// The number of rows in a block is rounded up to whole groups of rows only if the block has at
/// least this number of groups. Rounding makes a block with this many groups larger by at most one
/// sixteenth.
const MANY: i64 = 16;

/// Returns the largest number of blocks for which distributing a kernel over the cores pays off.
fn most_blocks(device: &DeviceDescription) -> i64 {
    Balance::OfElements.blocks(device)
}

/// Returns the number of single-threaded blocks for a kernel with cost `cost`. If there are at
/// least as many blocks as cores, the number of blocks is a multiple of the number of cores, so
/// that all cores finish together.
///
/// A small array is in the cache of the core that wrote the array. Reading a small array is faster
/// on the core that wrote it than on all cores together. A kernel that reads small arrays therefore
/// runs on several cores only if the kernel does much arithmetic.
pub fn blocks_for(cost: Cost, device: &DeviceDescription) -> i64 {
    blocks_for_update(cost, 0, device)
}

/// Returns the number of blocks like [`blocks_for`], but for a kernel that updates parts of large
/// arrays in place. For `spread` see [`Dealing::of_updates`].
fn blocks_for_update(cost: Cost, spread: i64, device: &DeviceDescription) -> i64 {
    let cores = i64::from(device.core_count.max(1));
    let saved = (cost.total() - cost.total() / cores).saturating_add(2 * moved_between_cores(spread, device));
    if saved < fetching(cost.bytes, device).saturating_add(HANDING_OUT) {
        return 1;
    }
    if spread > 0 && cost.total() < cores * BYTES_PER_BLOCK {
        return cores;
    }
    let enough = (cost.total() / BYTES_PER_BLOCK).clamp(1, most_blocks(device));
    if enough < cores { enough } else { enough - enough % cores }
}

/// Distributes nests to blocks. For `spread` see [`Dealing::of_updates`].
pub(super) fn deal(
    nests: &[Nest],
    spread: i64,
    device: &DeviceDescription,
    configuration: &Configuration,
) -> Result<Dealing, EmitError> {
    let cost = nests.iter().fold(Cost::default(), |sum, nest| sum + nest.cost());
    let points = nests.iter().fold(0i64, |sum, nest| sum.saturating_add(nest.points())).max(1);
    let most_blocks = most_blocks(device).min(points);
    let wanted = match configuration.knob("blocks", 1..=points)? {
        Some(blocks) => blocks,
        None => blocks_for_update(cost, spread, device).min(points),
    };
    let mut row = Queue { target: (cost.total() / wanted).max(1), block: 0, filled: 0 };
    let placed: Vec<(Tiling, BlockRange)> = nests.iter().map(|nest| row.place(nest)).collect();
    let total = placed.iter().map(|(_, range)| range.first + range.count).max().unwrap_or(1);
    Ok(Dealing {
        launch: LaunchDimensions { blocks: total as u64, threads_per_block: 1 },
        shares: placed.iter().zip(nests).map(|((tiling, range), nest)| tiling.share(nest, range, total)).collect(),
        lanes: 1,
        configuration: knobs(wanted),
        alternatives: alternatives(wanted, most_blocks),
    })
}

/// Assigns blocks to nests in order. One block may compute several small nests.
struct Queue {
    /// Cost, in bytes, that a block should have.
    target: i64,
    block: i64,
    /// Cost, in bytes, of the nests that are assigned to the current block so far.
    filled: i64,
}

impl Queue {
    fn place(&mut self, nest: &Nest) -> (Tiling, BlockRange) {
        let bytes = nest.cost().total();
        let tiling = Tiling::new(nest, (bytes.saturating_add(self.target / 2) / self.target).max(1));
        let count = tiling.blocks();
        if self.filled > 0 && (count > 1 || self.filled.saturating_add(bytes) > self.target) {
            self.block += 1;
            self.filled = 0;
        }
        let range = BlockRange { first: self.block, count };
        match count {
            1 => self.filled = self.filled.saturating_add(bytes.max(1)),
            count => self.block += count,
        }
        (tiling, range)
    }
}

/// The division of a nest into parts. Each block computes one part.
struct Tiling {
    /// Sizes of all dimensions but the last.
    outer: Vec<i64>,
    /// Number of rows, which is the product of the sizes in `outer`.
    rows: i64,
    /// Points in a row.
    row: i64,
    cut: Cut,
}

/// The part of a nest that one block computes.
enum Cut {
    /// `count` rows. The kernel has a separate loop for each of the last `inner` dimensions in
    /// `outer`. `count` is a multiple of the product of the sizes of these dimensions.
    Rows { count: i64, inner: usize },
    /// A part of one row. Each row has `parts` parts, and each part has `length` points.
    Part { length: i64, parts: i64 },
}

impl Tiling {
    fn new(nest: &Nest, wanted_blocks: i64) -> Self {
        let (outer, row) = match nest.dims.split_last() {
            None => (Vec::new(), 1),
            Some((&last, outer)) => (outer.to_vec(), last),
        };
        let rows: i64 = outer.iter().product();
        let cut = if rows >= wanted_blocks || row <= CUT {
            rows_per_block(&outer, row, ceil_div(rows, wanted_blocks).max(1))
        } else {
            let parts = ceil_div(wanted_blocks, rows.max(1));
            let length = ceil_div(ceil_div(row, parts), CUT) * CUT;
            Cut::Part { length, parts: ceil_div(row, length) }
        };
        Tiling { outer, rows, row, cut }
    }

    fn blocks(&self) -> i64 {
        match self.cut {
            Cut::Rows { count, .. } => ceil_div(self.rows, count).max(1),
            Cut::Part { parts, .. } => (self.rows * parts).max(1),
        }
    }

    /// Returns `(th, bl)[row, inner dimensions…, point] -> point of the nest`, or `(th, bl)[point]`
    /// if rows are cut.
    fn share(&self, nest: &Nest, blocks: &BlockRange, total: i64) -> Share {
        let mut map = IndexingMap {
            dims: vec![Variable::named("th", 1), Variable::named("bl", total)],
            ..IndexingMap::default()
        };
        let (block, in_range) = blocks.local(total);
        map.constraints.extend(in_range);
        let (row, point, reach_of_rows, reach_in_row) = match self.cut {
            Cut::Rows { count, inner } => {
                let inner = &self.outer[self.outer.len() - inner..];
                let loops = [&[count / inner.iter().product::<i64>()], inner].concat();
                let row = linearize(&(0..).map(Expr::range).take(loops.len()).collect::<Vec<_>>(), &loops);
                let names = std::iter::once("row").chain(std::iter::repeat("inner"));
                map.ranges = names.zip(&loops).map(|(name, &size)| Variable::named(name, size)).collect();
                map.ranges.push(Variable::named("point", self.row));
                (block * count + row, Expr::range(loops.len() as u32), blocks.count * count, self.row)
            }
            Cut::Part { length, parts } => {
                map.ranges = vec![Variable::named("point", length)];
                let point = block.clone().modulo(parts) * length + Expr::range(0);
                (block.floor_div(parts), point, self.rows, length * parts)
            }
        };
        if reach_of_rows > self.rows {
            map.constraints.push(Constraint::new(row.clone(), Interval::from_size(self.rows)));
        }
        if reach_in_row > self.row {
            map.constraints.push(Constraint::new(point.clone(), Interval::from_size(self.row)));
        }
        map.results = match nest.dims.len() {
            0 => Vec::new(),
            _ => [delinearize(&row, &self.outer), vec![point]].concat(),
        };
        Share { map, lane: None }
    }
}

/// Cuts a nest between rows. If a block could start at any row, the kernel would need one index
/// division per row. This division is expensive if rows are short and sizes are not powers of two.
/// If the division is expensive, the number of rows per block is rounded up to a multiple of the
/// number of rows that the last outer dimensions span. But the number of rows is not rounded up if
/// rounding would make blocks much longer.
fn rows_per_block(outer: &[i64], row: i64, wanted: i64) -> Cut {
    let slowest = outer.iter().position(|&size| size != 1).map_or(outer.len(), |first| first + 1);
    let divisors = &outer[slowest..];
    let mut together = 1;
    let fits = |size: &&i64| {
        together *= **size;
        together > 0 && (wanted % together == 0 || wanted >= together * MANY)
    };
    let divides =
        divisors.iter().any(|&size| size > 1) && divisors.iter().chain([&row]).any(|size| size.count_ones() > 1);
    let inner = if divides && row <= CUT { divisors.iter().rev().take_while(fits).count() } else { 0 };
    let together: i64 = outer[outer.len() - inner..].iter().product();
    Cut::Rows { count: ceil_div(wanted, together) * together, inner }
}

fn alternatives(wanted: i64, most: i64) -> Vec<Configuration> {
    let mut others = vec![wanted / 2, (wanted * 2).min(most), most, 1];
    others.retain(|&blocks| blocks > 0 && blocks != wanted);
    others.sort_unstable();
    others.dedup();
    others.into_iter().map(knobs).collect()
}

fn knobs(blocks: i64) -> Configuration {
    Configuration([("blocks".to_owned(), blocks)].into())
}
