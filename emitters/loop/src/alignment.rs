//! Finds fusions in which a thread cannot read the elements for adjacent points as a vector,
//! because a pad, a window or a shifted slice makes the thread read rows from unaligned positions.

use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{InstrId, Op};
use fusebox_core::indexing::{Indexing, Reading, maps_from};

use crate::factors::position;
use crate::roots::{RootGroup, is_elementwise};

/// Number of positions in the array at which the emitter compares the reads of adjacent points.
const SAMPLES: i64 = 3;

/// Returns the largest number of lanes, at most `lanes`, with which a thread can read the large
/// arrays of a fusion as vectors. If a thread computes adjacent points, but reads each of them by a
/// separate instruction, the threads of a warp read with gaps. A vector starts at a multiple of its
/// length, so the function returns 1 if the kernel reads adjacent elements that do not start at
/// such a multiple. Reads of elements that are not adjacent do not limit the number of lanes.
pub fn lanes_of_reads(fusion: &Fusion, groups: &[RootGroup], lanes: i64) -> i64 {
    let shifts = |group: &RootGroup| {
        !is_elementwise(fusion, group) && group.instructions.iter().any(|&root| is_shifted(fusion, root, group, lanes))
    };
    if lanes > 1 && groups.iter().any(shifts) { 1 } else { lanes }
}

/// Whether the values of `root` at `lanes` adjacent points read adjacent elements of a large
/// parameter that do not start at a multiple of `lanes`.
fn is_shifted(fusion: &Fusion, root: InstrId, group: &RootGroup, lanes: i64) -> bool {
    let computation = fusion.computation();
    let points = group.element_count();
    let maps = maps_from(&fusion.module, fusion.entry(), root, 0);
    let large = computation.ids().zip(&maps.instructions).filter(|&(id, _)| {
        let instruction = computation.instruction(id);
        let elements = instruction.shape.as_array().map_or(0, |array| array.element_count());
        matches!(instruction.op, Op::Parameter { .. }) && elements >= points / 2
    });
    let is_shifted = |(id, reads): (InstrId, &Indexing)| {
        let readings = reads.known().unwrap_or_default().iter();
        readings.into_iter().any(|reading| starts_elsewhere(fusion, id, reading, group, lanes))
    };
    large.into_iter().any(is_shifted)
}

/// Compares, at a few positions in the array, the positions that adjacent points read. The
/// comparison assumes that each loop around the read is at its second iteration, and that each
/// number that is known only at run time is odd.
fn starts_elsewhere(fusion: &Fusion, id: InstrId, reading: &Reading, group: &RootGroup, lanes: i64) -> bool {
    let Some(position) = position(fusion.computation(), id, &reading.map) else { return false };
    let points = group.element_count();
    let ranges: Vec<i64> = reading.map.ranges.iter().map(|range| range.bounds.upper.min(1)).collect();
    let runtime = vec![1; reading.map.runtime.len()];
    let at = |point: i64| {
        let index = index_of(point, &group.dims);
        let leaves = |sizes: &[i64]| sizes.iter().map(|&value| value.into()).collect::<Vec<_>>();
        position.substitute(&leaves(&index), &leaves(&ranges), &leaves(&runtime)).as_constant()
    };
    (1..=SAMPLES).any(|sample| {
        let first = points / (SAMPLES + 1) * sample / lanes * lanes;
        let (Some(start), Some(second), Some(last)) = (at(first), at(first + 1), at(first + lanes - 1)) else {
            return false;
        };
        (second - start).abs() == 1 && start.min(last).rem_euclid(lanes) != 0
    })
}

/// Returns the index of the element at a position in row-major order.
fn index_of(position: i64, dims: &[i64]) -> Vec<i64> {
    let mut rest = position;
    let mut index: Vec<i64> = dims
        .iter()
        .rev()
        .map(|&size| {
            let digit = rest % size.max(1);
            rest /= size.max(1);
            digit
        })
        .collect();
    index.reverse();
    index
}
