//! Schedules for transposes that do not move the minor dimension. The kernel copies rows directly
//! from the operand to the result, so that reads and writes are contiguous. See README.md.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Decline, EmitError, LaunchDimensions};
use fusebox_core::indexing::{Constraint, Expr, Interval, ceil_div, delinearize};
use fusebox_core::launch::Balance;

use crate::grid::{OperandGrid, TileNest, map_over};
use crate::problem::TransposeProblem;
use crate::schedule::TransposeSchedule;

/// Number of contiguous bytes that a block of one thread reads if a single row has fewer bytes.
const RUN_BYTES: i64 = 2048;
/// Number of bytes that a block of one thread moves.
const TILE_BYTES: i64 = 64 << 10;
/// Number of bytes up to which the emitter does not split a tile further, because scheduling
/// another block would cost more than the split saves.
const LEAST_TILE_BYTES: i64 = 16 << 10;
/// Number of threads of a block: four warps.
const THREADS: i64 = 128;
/// Number of vectors that a thread moves.
const STEPS: i64 = 4;

/// Checks that rows of the operand are rows of the result.
///
/// # Errors
/// If rows become columns.
pub fn check(problem: &TransposeProblem, _: &DeviceDescription) -> Result<(), Decline> {
    if problem.form.keeps_minor() { Ok(()) } else { Err(Decline::new("rows become columns")) }
}

/// The operand's dimensions that a schedule distributes.
struct DistributedDims {
    /// The second minor dimension of the operand.
    short: usize,
    /// The second minor dimension of the result.
    long: usize,
    minor: usize,
}

impl DistributedDims {
    fn of(problem: &TransposeProblem) -> Self {
        let form = &problem.form;
        let rank = form.dims.len();
        DistributedDims { short: rank - 2, long: form.permutation[rank - 2], minor: rank - 1 }
    }
}

/// Chooses the loops over rows for blocks of one thread. The outermost loop runs over `short`, the
/// next loop over `long`, and the innermost loop along the row.
///
/// # Errors
/// If a knob has an impossible value.
pub fn looped(
    problem: &TransposeProblem,
    device: &DeviceDescription,
    configuration: &Configuration,
) -> Result<TransposeSchedule, EmitError> {
    let at = DistributedDims::of(problem);
    let dims = &problem.form.dims;
    let mut tile = vec![1; dims.len()];
    let together = problem.bytes_together();
    tile[at.minor] = dims[at.minor].min((TILE_BYTES / together).max(1));
    let row = tile[at.minor] * together;
    tile[at.short] = (RUN_BYTES / row).clamp(1, dims[at.short]);
    tile[at.long] = (TILE_BYTES / (row * tile[at.short])).clamp(1, dims[at.long]);
    let wanted = Balance::OfTiles.blocks(device);
    let mut grid = OperandGrid { dims: dims.clone(), tile };
    while grid.blocks() < wanted && grid.tile_elements() * together > LEAST_TILE_BYTES {
        let order = [at.long, at.short, at.minor];
        let Some(&cut) = order.iter().find(|&&dim| grid.tile[dim] > 1) else { break };
        grid.tile[cut] = ceil_div(grid.tile[cut], 2);
    }
    for (name, dim) in [("rows", at.long), ("columns", at.short)] {
        if let Some(value) = configuration.knob(name, 1..=dims[dim])? {
            grid.tile[dim] = value;
        }
    }
    let line = line_past_caches(problem, device);
    let vector = line.unwrap_or(1);
    grid.tile[at.minor] = ceil_div(grid.tile[at.minor], vector) * vector;
    let knobs = Configuration::from([("rows", grid.tile[at.long]), ("columns", grid.tile[at.short])]);
    let elements = grid.tile[at.minor] / vector;
    let loops =
        [("column", grid.tile[at.short]), ("row", grid.tile[at.long]), ("vector", elements), ("element", vector)];
    let mut map = map_over(1, grid.blocks(), &loops);
    let mut within = vec![Expr::constant(0); dims.len()];
    within[at.short] = Expr::range(0);
    within[at.long] = Expr::range(1);
    within[at.minor] = Expr::range(2) * vector;
    map.results = grid.index(&within);
    map.constraints = grid.constraints(&map.results);
    map.results[at.minor] = map.results[at.minor].clone() + Expr::range(3);
    let past = if line.is_some() { ", past the caches" } else { "" };
    let others = [(at.long, 2, 1), (at.long, 1, 2), (at.short, 2, 1), (at.short, 1, 2)];
    let others = others.into_iter().filter_map(|(dim, times, by)| {
        let value = grid.tile[dim] * times / by;
        (1..=dims[dim]).contains(&value).then(|| knobs.with(if dim == at.long { "rows" } else { "columns" }, value))
    });
    Ok(TransposeSchedule {
        writing: vec![TileNest { map, unroll: Vec::new(), along_rows: line.is_some() }],
        past_caches: line.is_some(),
        alternatives: knobs.others(others),
        notes: vec![format!("rows of {} elements are moved whole{past}", dims[at.minor])],
        ..TransposeSchedule::of(LaunchDimensions { blocks: grid.blocks() as u64, threads_per_block: 1 }, knobs)
    })
}

/// If the kernel should write cache lines of rows by stores that bypass the caches, returns the
/// number of elements of a cache line. The kernel should use these stores if rows consist of whole
/// lines and the caches cannot hold all rows.
fn line_past_caches(problem: &TransposeProblem, device: &DeviceDescription) -> Option<i64> {
    let line = i64::from(device.cache_line_bytes) / problem.widest();
    let lines = problem.moved.iter().all(|moved| moved.bytes == problem.widest())
        && line > 1
        && problem.operands_are_lines(line)
        && problem.results_are_lines(line);
    (lines && device.exceeds_core_caches(problem.traffic())).then_some(line)
}

/// Chooses loops for blocks of many threads. Adjacent threads move adjacent vectors of a row, and
/// each thread moves a few vectors.
///
/// # Errors
/// If a knob has an impossible value.
pub fn spread(
    problem: &TransposeProblem,
    device: &DeviceDescription,
    configuration: &Configuration,
) -> Result<TransposeSchedule, EmitError> {
    let at = DistributedDims::of(problem);
    let dims = &problem.form.dims;
    let most_lanes = most_lanes(problem, device, dims[at.minor]);
    let lanes = match configuration.knob("lanes", 1..=most_lanes)? {
        Some(lanes) if most_lanes % lanes != 0 => {
            let message = format!("knob lanes is {lanes}, it must divide {most_lanes}");
            return Err(EmitError::new(message));
        }
        Some(lanes) => lanes,
        None => most_lanes,
    };
    let threads = THREADS.min(i64::from(device.max_threads_per_block));
    let steps = configuration.knob("steps", 1..=16)?.unwrap_or(STEPS);
    let mut tile = vec![1; dims.len()];
    tile[at.minor] = dims[at.minor].min(threads * steps * lanes);
    tile[at.long] = (threads * steps * lanes / tile[at.minor]).clamp(1, dims[at.long]);
    let grid = OperandGrid { dims: dims.clone(), tile };
    let vectors = ceil_div(grid.tile_elements(), lanes);
    let mut map = map_over(threads, grid.blocks(), &[("step", ceil_div(vectors, threads)), ("lane", lanes)]);
    let vector = Expr::range(0) * threads + Expr::dim(0);
    if map.ranges[0].bounds.size() as i64 * threads > vectors {
        map.constraints.push(Constraint::new(vector.clone(), Interval::from_size(vectors)));
    }
    let mut within = vec![Expr::constant(0); dims.len()];
    let place = delinearize(&vector, &[grid.tile[at.long], grid.tile[at.minor] / lanes]);
    within[at.long] = place[0].clone();
    within[at.minor] = place[1].clone() * lanes;
    map.results = grid.index(&within);
    // The number of lanes divides the length of rows, so a vector is entirely inside or entirely
    // outside the array.
    map.constraints.extend(grid.constraints(&map.results));
    map.results[at.minor] = map.results[at.minor].clone() + Expr::range(1);
    let knobs = Configuration::from([("lanes", lanes), ("steps", steps)]);
    let fewer = std::iter::successors(Some(most_lanes), |&lanes| (lanes > 1).then_some(lanes / 2));
    let others = fewer.flat_map(|lanes| [1, 2, 4].map(|steps| knobs.with("lanes", lanes).with("steps", steps)));
    Ok(TransposeSchedule {
        writing: vec![TileNest::new(map, vec![0, 1])],
        lanes,
        alternatives: knobs.others(others),
        notes: vec![format!("rows of {} elements are moved whole", dims[at.minor])],
        ..TransposeSchedule::of(
            LaunchDimensions { blocks: grid.blocks() as u64, threads_per_block: threads as u32 },
            knobs,
        )
    })
}

/// Returns the largest number of elements that divides the length of rows and fits in an access of
/// the device. The number is a power of two.
fn most_lanes(problem: &TransposeProblem, device: &DeviceDescription, row: i64) -> i64 {
    let limit = (i64::from(device.vector_bytes) / problem.widest()).max(1);
    (0..7).map(|exponent| 1 << exponent).take_while(|&lanes| lanes <= limit && row % lanes == 0).last().unwrap_or(1)
}
