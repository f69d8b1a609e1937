//! A schedule for blocks of many threads. A block reads a tile along the operand's rows into shared
//! memory, and writes the tile along the result's rows. See README.md for the picture.

use fusebox_core::analysis::{TileAccess, bank_conflicts};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Decline, EmitError, LaunchDimensions};
use fusebox_core::indexing::{Constraint, Expr, Interval, ceil_div, delinearize};

use crate::grid::{OperandGrid, TileNest, map_over};
use crate::problem::TransposeProblem;
use crate::schedule::TransposeSchedule;

/// Number of elements along an edge of a tile. With this number, a warp reads and writes whole rows
/// of the tile.
const EDGE: i64 = 32;
/// Number of threads of a block: four warps. Each warp reads eight rows of a standard tile.
const THREADS: i64 = 128;
/// Number of unrolled steps of a thread. A thread issues this number of reads concurrently.
const UNROLLED: i64 = 8;
/// Maximum number of padding elements between the rows of a tile.
const MOST_PADDING: i64 = 8;

/// # Errors
/// If the schedule does not support a problem.
pub fn check(problem: &TransposeProblem, _: &DeviceDescription) -> Result<(), Decline> {
    if problem.form.keeps_minor() && !problem.has_short_rows() {
        Err(Decline::new("the minor dimension does not move, and its rows are long enough to be moved whole"))
    } else {
        Ok(())
    }
}

/// Chooses the loops.
///
/// # Errors
/// If a knob has an impossible value.
pub fn schedule(
    problem: &TransposeProblem,
    device: &DeviceDescription,
    configuration: &Configuration,
) -> Result<TransposeSchedule, EmitError> {
    Ok(SharedTileSchedule::new(problem, device, configuration)?.schedule(problem))
}

/// A schedule with a tile in shared memory.
#[derive(Clone, Debug)]
struct SharedTileSchedule {
    grid: OperandGrid,
    threads: i64,
    /// Strides of the tile, one for each dimension of the operand.
    strides: Vec<i64>,
    /// Number of elements of the shared tile, including padding.
    size: i64,
    padding: i64,
    knobs: Configuration,
}

impl SharedTileSchedule {
    /// Chooses all sizes that the configuration does not set.
    fn new(
        problem: &TransposeProblem,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Self, EmitError> {
        let warp = i64::from(device.warp_size);
        let edge = configuration.knob("edge", 4..=128)?.unwrap_or(EDGE);
        let tile = tile(problem, edge);
        let elements: i64 = tile.iter().product();
        let most = i64::from(device.max_threads_per_block);
        let threads = match configuration.knob("threads", 1..=most)? {
            Some(threads) => threads,
            None => THREADS.min(ceil_div(elements, warp) * warp).min(most),
        };
        let knobs = Configuration::from([("edge", edge), ("threads", threads)]);
        let grid = OperandGrid { dims: problem.form.dims.clone(), tile };
        let mut tiles = SharedTileSchedule { grid, threads, strides: Vec::new(), size: 0, padding: 0, knobs };
        tiles.choose_padding(problem, device.warp_size);
        Ok(tiles)
    }

    /// Chooses the loops.
    fn schedule(&self, problem: &TransposeProblem) -> TransposeSchedule {
        let (edge, threads) = (self.knobs.0["edge"], self.knobs.0["threads"]);
        let others = [(edge, 2 * threads), (edge, threads / 2), (edge / 2, threads), (2 * edge, 2 * threads)];
        let others = others.into_iter().filter(|&(edge, threads)| edge >= 8 && (32..=1024).contains(&threads));
        TransposeSchedule {
            reading: vec![self.nest(&identity(self.grid.dims.len()))],
            writing: vec![self.nest(&problem.form.permutation)],
            tile: Some(vec![self.size]),
            alternatives: self
                .knobs
                .others(others.map(|(edge, threads)| self.knobs.with("edge", edge).with("threads", threads))),
            notes: vec![self.note()],
            ..TransposeSchedule::of(
                LaunchDimensions { blocks: self.grid.blocks() as u64, threads_per_block: self.threads as u32 },
                self.knobs.clone(),
            )
        }
    }

    fn note(&self) -> String {
        let tile: Vec<String> = self.grid.tile.iter().map(i64::to_string).collect();
        format!("tiles of [{}] elements, with {} elements of padding after each row", tile.join(","), self.padding)
    }

    /// Returns a loop over the tile, with the operand's dimensions in the order `order`.
    fn nest(&self, order: &[usize]) -> TileNest {
        let elements = self.grid.tile_elements();
        let steps = ceil_div(elements, self.threads);
        let (chunks, unrolled) = (ceil_div(steps, UNROLLED), steps.min(UNROLLED));
        let mut map = map_over(self.threads, self.grid.blocks(), &[("chunk", chunks), ("step", unrolled)]);
        let step = Expr::range(0) * unrolled + Expr::range(1);
        let position = step * self.threads + Expr::dim(0);
        if chunks * unrolled * self.threads > elements {
            map.constraints.push(Constraint::new(position.clone(), Interval::from_size(elements)));
        }
        let sizes: Vec<i64> = order.iter().map(|&dim| self.grid.tile[dim]).collect();
        let mut within = vec![Expr::constant(0); order.len()];
        for (&dim, at) in order.iter().zip(delinearize(&position, &sizes)) {
            within[dim] = at;
        }
        map.results = self.grid.index(&within);
        map.constraints.extend(self.grid.constraints(&map.results));
        let place = within.iter().zip(&self.strides).fold(Expr::constant(0), |sum, (at, &s)| sum + at.clone() * s);
        map.results.push(place);
        TileNest::new(map, vec![1])
    }

    /// Chooses the padding with the fewest bank conflicts for reading and writing the tile.
    fn choose_padding(&mut self, problem: &TransposeProblem, warp: u32) {
        let element_bytes = problem.moved.iter().map(|moved| moved.access_bytes).max().unwrap_or(1) as u32;
        let mut best = u32::MAX;
        let mut padded = self.clone();
        for padding in [1, 0].into_iter().chain(2..=MOST_PADDING) {
            (padded.strides, padded.size) = self.layout(problem, padding);
            padded.padding = padding;
            let turns = |order: &[usize]| {
                // Later steps have the same conflicts as the first.
                let mut place = padded.nest(order).map;
                place.ranges.iter_mut().for_each(|range| range.bounds = Interval::point(0));
                place.results.drain(..order.len());
                bank_conflicts(&place, &[padded.size], TileAccess { element_bytes, lanes: 1 }, warp)
            };
            let worst = turns(&identity(self.grid.dims.len())).max(turns(&problem.form.permutation));
            if worst < best {
                (best, *self) = (worst, padded.clone());
            }
            if best == 1 {
                return;
            }
        }
    }

    /// Returns the strides and the size of a tile. The padding enlarges the stride of one dimension
    /// of the result: the minor dimension, or the second minor dimension if the minor dimension
    /// does not move.
    fn layout(&self, problem: &TransposeProblem, padding: i64) -> (Vec<i64>, i64) {
        let form = &problem.form;
        let rank = form.dims.len();
        let kept = usize::from(form.keeps_minor());
        let long = form.permutation[rank - 1 - kept];
        let inner = (rank - 1 - kept..rank).rev();
        let outer = (0..rank - 1 - kept).rev().filter(|&dim| dim != long);
        let mut strides = vec![0; rank];
        let mut size = 1;
        for dim in inner.chain([long]).chain(outer) {
            if dim == long {
                size += padding;
            }
            strides[dim] = size;
            size *= self.grid.tile[dim];
        }
        (strides, size)
    }
}

fn identity(rank: usize) -> Vec<usize> {
    (0..rank).collect()
}

/// Returns the extents of a tile. A tile has `edge` elements along the dimensions that are minor in
/// the operand and in the result. If the minor dimensions are short, the tile is larger along other
/// dimensions, so that a block has enough work.
fn tile(problem: &TransposeProblem, edge: i64) -> Vec<i64> {
    let form = &problem.form;
    let rank = form.dims.len();
    let mut tile = vec![1; rank];
    let kept = form.keeps_minor();
    if kept {
        tile[rank - 1] = form.dims[rank - 1];
    }
    let short = rank - 1 - usize::from(kept);
    let long = form.permutation[short];
    let mut wanted = edge * edge * tile[rank - 1];
    while wanted > 4 * edge * edge {
        wanted /= 2;
    }
    for dim in [short, long] {
        tile[dim] = form.dims[dim].min(edge);
    }
    let others = (0..rank).rev().filter(|&dim| dim != short && dim != long);
    for dim in [long, short].into_iter().chain(others) {
        let elements: i64 = tile.iter().product();
        tile[dim] = (tile[dim] * wanted / elements).clamp(1, form.dims[dim]);
    }
    tile
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::problem::tests::problem;

    /// Returns the largest number of serialised accesses of a warp, for writing and for reading the
    /// tile.
    fn turns(element: &str, dims: &[i64], permutation: &[i64]) -> [u32; 2] {
        let problem = problem(element, dims, permutation);
        let tiles = SharedTileSchedule::new(&problem, &DeviceDescription::sm(90), &Configuration::default()).unwrap();
        let schedule = tiles.schedule(&problem);
        let element_bytes = problem.moved[0].access_bytes as u32;
        [&schedule.reading[0], &schedule.writing[0]].map(|nest| {
            let mut map = nest.map.clone();
            map.results.drain(..dims.len());
            bank_conflicts(&map, &[tiles.size], TileAccess { element_bytes, lanes: 1 }, 32)
        })
    }

    #[test]
    fn standard_tiles_have_no_bank_conflicts() {
        assert_eq!(turns("f32", &[4096, 4096], &[1, 0]), [1, 1]);
        assert_eq!(turns("f64", &[4096, 4096], &[1, 0]), [1, 1]);
        assert_eq!(turns("bf16", &[4096, 4095], &[1, 0]), [1, 1]);
        assert_eq!(turns("f32", &[64, 512, 256], &[0, 2, 1]), [1, 1]);
        assert_eq!(turns("f32", &[256, 128, 256], &[2, 1, 0]), [1, 1]);
        assert_eq!(turns("f32", &[4096, 4096, 2], &[1, 0, 2]), [1, 1]);
    }
}
