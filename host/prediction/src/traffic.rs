//! Counts the cache lines that threads touch at a few neighbouring points, and extrapolates to all
//! points.
//!
//! ```text
//! group   points accessed together: lanes of a warp's threads, or iterations of the innermost loop
//! steps   successive groups of the next loop; they show which lines are still cached from earlier ones
//! ```

use std::collections::BTreeSet;

use fusebox_core::cost::CACHED_BYTES;
use rustc_hash::FxHashSet;

use crate::extent::Extent;
use crate::machine::{Group, Machine};
use crate::positions::{Array, At, Loop, Positions};
use crate::reached::{Reached, SHORT_LOOP};
use crate::touched::Touched;

/// Largest number of iterations of a loop that are simulated. Chosen to bound the time of a
/// prediction; a cache line has 16 elements of `f32`.
pub const MOST_TURNS: i64 = 32;

/// Computes the cache lines that reading or writing an array at a place touches.
pub fn touched(extent: &Extent, reached: &Reached, place: usize, array: &Array, machine: &dyn Machine) -> Touched {
    let mut positions = Positions::new(extent, reached, place, array, machine.draws_indices());
    let (base, mut loops) = start(extent, reached, place);
    let is_window = machine.unrolls_windows() && reached.places[place].is_of_window;
    let unrolled = if is_window { positions.unrolled(&base, &mut loops) } else { Vec::new() };
    let stride = positions.stride(&base, loops.last().map(|&(variable, _)| variable));
    let shuffled = accesses_per_vector(&mut positions, &base, &loops, stride, array.element);
    let group = machine.group(extent.dims[0].size(), &mut loops, &unrolled, array.element);
    let line = machine.line_bytes();
    let sample = Sample::new(&mut positions, &base, &group, loops.last().copied(), line);
    let is_row = stride == array.element && unrolled.is_empty();
    let of_point = sample.first.len() as f64 / (group.threads * group.points()) as f64;
    let near = machine.near_lines(of_point, is_row.then_some(array.element));
    // The next group finds the lines of the previous group in the cache if the cache is large
    // enough.
    let held = machine.held_bytes(near, &group);
    let stays = held <= machine.device().core_cache_bytes as f64 / 2.0;
    let new = near * sample.new_lines().min(1.0);
    let missed = match CACHED_BYTES as f64 {
        nearest if array.bytes <= nearest => 0.0,
        nearest if held <= nearest => new,
        _ => near,
    };
    Touched {
        near,
        far: if stays { new } else { near },
        missed,
        active: sample.active,
        lanes: machine.lanes_of_access(&sample.of_thread, array.element),
        pieces: sample.first.len() as f64,
        is_fixed: sample.positions.len() <= 1 && group.is_fixed_alone,
        shuffled,
        element: array.element,
    }
}

/// Returns the first point, and the list of the loops with several iterations. The outermost loop
/// comes first in the list.
fn start(extent: &Extent, reached: &Reached, place: usize) -> (At, Vec<(Loop, i64)>) {
    // A plan may state any size by mistake, even one that does not fit into 64 bits.
    let ranges = &extent.map.ranges;
    let turns = ranges.iter().map(|range| i64::try_from(range.bounds.size()).unwrap_or(i64::MAX));
    let of_visit = turns.enumerate().map(|(number, size)| (Loop::Range(number), size));
    let inner = &reached.places[place].loops;
    let of_place = inner.iter().enumerate().map(|(number, &size)| (Loop::Inner(number), size));
    let base = At {
        dims: extent.dims.map(|interval| interval.lower),
        ranges: ranges.iter().map(|range| range.bounds.lower).collect(),
        inner: vec![0; inner.len()],
    };
    (base, of_visit.chain(of_place).filter(|&(_, size)| size > 1).collect())
}

/// Returns the number of accesses per vector, see [`Touched::shuffled`].
fn accesses_per_vector(positions: &mut Positions, base: &At, loops: &[(Loop, i64)], stride: i64, element: i64) -> f64 {
    let around = loops.len().checked_sub(2).map(|before| loops[before].0);
    match loops.last() {
        _ if stride == element => 1.0,
        // A short loop of `size` iterations loads `size` vectors and shuffles them into `size`
        // other vectors in `log2(size)` rounds.
        Some(&(_, size)) if size <= SHORT_LOOP && positions.stride(base, around) == element => {
            1.0 + (size as f64).log2()
        }
        _ => 0.0,
    }
}

/// The accesses of a few successive groups.
struct Sample {
    /// The lines of the first group.
    first: FxHashSet<i64>,
    /// The number of lines of all groups.
    lines: usize,
    /// The offsets that the first group accesses, and the offsets that the first thread of the
    /// first group accesses.
    positions: FxHashSet<i64>,
    of_thread: BTreeSet<i64>,
    /// Number of groups.
    steps: i64,
    /// Fraction of the points that constraints do not exclude.
    active: f64,
}

impl Sample {
    /// Simulates successive groups along the loop `next`.
    fn new(positions: &mut Positions, base: &At, group: &Group, next: Option<(Loop, i64)>, line: i64) -> Sample {
        let steps = next.map_or(1, |(_, size)| size.min(group.most_steps));
        // Cache lines are numbered from the first accessed byte, as if a line started there. The
        // real offset of this byte in its line is not typical of other accesses.
        let origin = positions.of(base, false).unwrap_or(0);
        let (mut first, mut all, mut found) = (FxHashSet::default(), FxHashSet::default(), 0);
        let (mut of_first, mut of_thread) = (FxHashSet::default(), BTreeSet::new());
        for step in 0..steps {
            let of_step = base.plus(next.map(|(variable, _)| variable), step);
            for lane in 0..group.points() {
                let of_lane = group.point(&of_step, lane);
                for thread in 0..group.threads {
                    let mut at = of_lane.clone();
                    at.dims[0] = at.dims[0].wrapping_add(thread);
                    let Some(position) = positions.of(&at, true) else { continue };
                    found += 1;
                    let number = position.wrapping_sub(origin).div_euclid(line);
                    all.insert(number);
                    if step == 0 {
                        first.insert(number);
                        of_first.insert(position);
                        if thread == 0 {
                            of_thread.insert(position);
                        }
                    }
                }
            }
        }
        let of_group = (group.threads * group.points()) as f64;
        let active = found as f64 / (of_group * steps as f64);
        Sample { first, lines: all.len(), positions: of_first, of_thread, steps, active }
    }

    /// Returns the fraction of a group's lines that earlier groups have not accessed.
    fn new_lines(&self) -> f64 {
        self.lines as f64 / (self.first.len().max(1) as f64 * self.steps as f64)
    }
}
