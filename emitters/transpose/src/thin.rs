//! A schedule for blocks of one thread, for transposes in which one of the two swapped dimensions
//! is short, like the channels of an image. The kernel has a loop over points, which are positions
//! along the other of the swapped dimensions. A point has all elements of the short dimension.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Decline, EmitError, LaunchDimensions};
use fusebox_core::indexing::{Expr, ceil_div};
use fusebox_core::launch::Balance;

use crate::grid::{OperandGrid, TileNest, map_over};
use crate::problem::TransposeProblem;
use crate::schedule::TransposeSchedule;

/// Maximum number of elements that LLVM's vectoriser deinterleaves or interleaves with one group of
/// accesses.
const MOST_ELEMENTS: i64 = 8;
/// Minimum number of points of a loop. With fewer points, the overhead of starting a loop is too
/// large.
const LEAST_POINTS: i64 = 16;
/// Maximum number of operations in an epilogue that the kernel duplicates for each element of a
/// point.
const MOST_COPIED_OPERATIONS: usize = 3;
/// Number of bytes that a block moves.
const TILE_BYTES: i64 = 64 << 10;

/// The two dimensions that the transpose swaps: the short dimension, and the dimension of the
/// points.
struct SwappedDims {
    thin: usize,
    points: usize,
}

/// Returns the two swapped dimensions. The swapped dimensions must be the last two dimensions of
/// the operand or of the result. The last of the two dimensions must be short, and the other
/// dimension must be long enough for a loop over points. Otherwise returns `None`.
fn dims(problem: &TransposeProblem) -> Option<SwappedDims> {
    let form = &problem.form;
    let rank = form.dims.len();
    let (short, long) = (rank - 1, *form.permutation.last()?);
    let complex = problem.moved.iter().any(|moved| moved.access_bytes != moved.bytes);
    let most = if complex { MOST_ELEMENTS / 2 } else { MOST_ELEMENTS };
    let fits = |at: &SwappedDims| form.dims[at.thin] <= most && form.dims[at.points] >= LEAST_POINTS;
    let of_operand = (long + 1 == short).then_some(SwappedDims { thin: short, points: long });
    let of_result = (form.permutation[rank - 2] == short).then_some(SwappedDims { thin: long, points: short });
    of_operand.filter(fits).or(of_result.filter(fits))
}

/// # Errors
/// If the schedule does not support a problem.
pub fn check(problem: &TransposeProblem, _: &DeviceDescription) -> Result<(), Decline> {
    if dims(problem).is_none() {
        return Err(Decline::new(
            "no dimension that moves is both short and adjacent to the dimension that it changes places with",
        ));
    }
    let count = problem.epilogue_operations;
    if count > MOST_COPIED_OPERATIONS {
        let reason = format!("{count} operations after the transpose are too many to be copied for each element");
        return Err(Decline::new(reason));
    }
    Ok(())
}

/// Chooses the loops.
///
/// # Errors
/// If the schedule does not support the problem, or a knob has an impossible value.
pub fn looped(
    problem: &TransposeProblem,
    device: &DeviceDescription,
    configuration: &Configuration,
) -> Result<TransposeSchedule, EmitError> {
    let Some(at) = dims(problem) else {
        return Err(EmitError::new("no dimension that moves is short"));
    };
    let form = &problem.form;
    let (thin, size) = (form.dims[at.thin], form.dims[at.points]);
    let wanted = Balance::OfTiles.blocks(device);
    let batch = (form.element_count() / (thin * size).max(1)).max(1);
    let largest = TILE_BYTES / (thin * problem.bytes_together());
    let even = ceil_div(size, ceil_div(wanted, batch)).max(1024);
    let points = match configuration.knob("points", 1..=size)? {
        Some(points) => points,
        None => largest.min(even).clamp(1, size),
    };
    let mut tile = vec![1; form.dims.len()];
    tile[at.thin] = thin;
    tile[at.points] = points;
    let grid = OperandGrid { dims: form.dims.clone(), tile };
    let mut map = map_over(1, grid.blocks(), &[("point", points), ("element", thin)]);
    let mut within = vec![Expr::constant(0); form.dims.len()];
    within[at.points] = Expr::range(0);
    within[at.thin] = Expr::range(1);
    map.results = grid.index(&within);
    map.constraints = grid.constraints(&map.results);
    let knobs = Configuration::from([("points", points)]);
    let others = [points / 2, points * 2].into_iter().filter(|points| (1..=size).contains(points));
    Ok(TransposeSchedule {
        writing: vec![TileNest::new(map, vec![1])],
        alternatives: knobs.others(others.map(|points| knobs.with("points", points))),
        notes: vec![format!("{points} points of {thin} elements at a time")],
        ..TransposeSchedule::of(LaunchDimensions { blocks: grid.blocks() as u64, threads_per_block: 1 }, knobs)
    })
}
