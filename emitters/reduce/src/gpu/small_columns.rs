//! Schedules for column problems with few columns: `c` is at most the number of threads of a warp.
//! A block reads all rows with one index `d0` as one line.
//!
//! ```text
//! element = (step * A + th) * V + lane      d1 = element div c, d2 = element mod c
//! ```
//!
//! V is the number of elements per read. The emitter chooses the number A of threads that read, so
//! that c divides A * V. Then a lane of a thread always reads the same column, and a block has A *
//! V / c partial results of each column.

use fusebox_core::emitter::{Configuration, EmitError};
use fusebox_core::indexing::{Constraint, Expr, Interval, Variable, ceil_div};

use super::axis::ThreadedAxis;
use super::banks::padded;
use super::limits::GroupLimits;
use super::schedule::{GroupSchedule, PartialsTile, block, demand, lane, power_of_two, thread, thread_map};

/// Maximum number of threads of a block, unless a knob sets the number.
const BLOCK: i64 = 256;
/// Number of vectors that one thread reads, if the line is long enough.
const MOST_UNITS: i64 = 8;

struct SmallColumnParameters {
    vector: i64,
    /// Number of threads of the block, a multiple of the warp.
    threads: i64,
    /// Number of threads of the block that read elements.
    active: i64,
    unroll: i64,
}

/// Returns the reason why the form does not suit a group, or `None` if the form suits the group.
pub fn refusal(limits: &GroupLimits) -> Option<String> {
    let problem = limits.group.problem;
    let [_, b, c] = problem.dims;
    if c > limits.warp {
        return Some(format!("{problem}: there are more columns than a warp has threads"));
    }
    (b * c < limits.warp).then(|| format!("{problem}: the columns of a block are shorter than a warp"))
}

/// Whether each block reads enough elements for this form to suit the group.
pub fn is_natural(limits: &GroupLimits) -> bool {
    let [_, b, c] = limits.group.problem.dims;
    refusal(limits).is_none() && b * c >= 4 * limits.warp * limits.vector_of(b * c, limits.lanes)
}

/// Chooses the schedule.
pub fn schedule(limits: &GroupLimits, configuration: &Configuration) -> Result<GroupSchedule, EmitError> {
    Ok(SmallColumnParameters::new(limits, configuration)?.schedule(limits))
}

impl SmallColumnParameters {
    fn new(limits: &GroupLimits, configuration: &Configuration) -> Result<Self, EmitError> {
        let [_, b, c] = limits.group.problem.dims;
        let widest = limits.vector_of(b * c, limits.lanes);
        let wanted = format!("a power of two up to {widest}");
        let vector = configuration.checked_knob("vector", || &wanted, |v| v >= 1 && v <= widest && v & (v - 1) == 0)?;
        let vector = vector.unwrap_or(widest);
        let most = limits.most_threads;
        let wanted = format!("a multiple of {} up to {most}", limits.warp);
        let threads =
            configuration.checked_knob("threads", || &wanted, |v| v >= 1 && v <= most && v % limits.warp == 0)?;
        let threads = threads
            .unwrap_or_else(|| power_of_two(ceil_div(b * c / vector, MOST_UNITS)).clamp(limits.warp, BLOCK.min(most)));
        let unroll = configuration.checked_knob("unroll", || "1 to 16", |v| (1..=16).contains(&v))?;
        let unroll = unroll.unwrap_or_else(|| limits.unroll(vector));
        let mut numbers = SmallColumnParameters { vector, threads, active: active(threads, vector, c), unroll };
        while numbers.threads > limits.warp
            && numbers.tile_elements(c) * limits.accumulator_bytes() > limits.shared_bytes
        {
            numbers.threads = ceil_div(numbers.threads / 2, limits.warp) * limits.warp;
            numbers.active = active(numbers.threads, vector, c);
        }
        Ok(numbers)
    }

    /// Returns the maximum number of elements of the tile. The maximum includes the largest pad,
    /// because the emitter chooses the tile's pitch later.
    fn tile_elements(&self, c: i64) -> i64 {
        c * (self.active * self.vector / c + 32)
    }

    fn knobs(&self) -> Vec<(&'static str, i64)> {
        vec![("threads", self.threads), ("unroll", self.unroll), ("vector", self.vector)]
    }

    fn schedule(&self, limits: &GroupLimits) -> GroupSchedule {
        let [a, b, c] = limits.group.problem.dims;
        let SmallColumnParameters { vector, threads, active, unroll } = *self;
        let mut walk = thread_map(threads, a);
        let mut unrolled = Vec::new();
        demand(&mut walk, &thread(), active, threads);
        let unit = ThreadedAxis::new(b * c / vector, active, unroll).walk(&mut walk, &mut unrolled, "along", thread());
        let element = unit * vector + lane(&mut walk, vector);
        walk.results = vec![block(), element.clone().floor_div(c), element.modulo(c)];
        let tile = self.tile(limits, a, c);
        let mut kept = thread_map(threads, a);
        kept.ranges.clone_from(&tile.read.ranges);
        if tile.readers > 1 {
            kept.constraints.push(Constraint::new(thread().modulo(tile.readers), Interval::point(0)));
        }
        let column = tile.read.results[0].clone();
        demand(&mut kept, &column, c, tile.passes() * (threads / tile.readers));
        kept.results = vec![block(), column];
        GroupSchedule {
            threads,
            blocks: a,
            lanes: vector,
            vector,
            walk,
            unrolled,
            shuffled: 1,
            tile: Some(tile),
            kept,
            knobs: self.knobs(),
            alternatives: self.alternatives(limits),
            note: format!("{}: {active} of {threads} threads read {vector} elements each", limits.group.problem),
        }
    }

    fn tile(&self, limits: &GroupLimits, blocks: i64, c: i64) -> PartialsTile {
        let SmallColumnParameters { vector, threads, active, .. } = *self;
        let partials = active * vector / c;
        let readers = power_of_two(partials).min(limits.warp);
        let mut write = thread_map(threads, blocks);
        demand(&mut write, &thread(), active, threads);
        let place = thread() * vector + lane(&mut write, vector);
        write.results = vec![place.clone().modulo(c), place.floor_div(c)];
        let at_once = threads / readers;
        let passes = ceil_div(c, at_once);
        let mut read = thread_map(threads, blocks);
        let mut column = thread().floor_div(readers);
        if passes > 1 {
            read.ranges.push(Variable::named("pass", passes));
            column = Expr::range(0) * at_once + column;
        }
        read.results = vec![column, thread().modulo(readers)];
        let reading = threads.min(ceil_div(c * readers, limits.warp) * limits.warp);
        let tile = PartialsTile { columns: c, partials, pitch: partials, write, readers, read, reading };
        padded(tile, limits.warp - 1, limits.warp, &limits.accumulator_sizes())
    }

    fn alternatives(&self, limits: &GroupLimits) -> Vec<Vec<(&'static str, i64)>> {
        let c = limits.group.problem.dims[2];
        let most = limits.most_threads;
        let threads = [self.threads / 2, self.threads * 2].into_iter();
        let threads = threads.filter(|t| *t >= limits.warp && *t <= most && t % limits.warp == 0);
        let threads =
            threads.map(|threads| SmallColumnParameters { threads, active: active(threads, self.vector, c), ..*self });
        let threads = threads.filter(|n| n.tile_elements(c) * limits.accumulator_bytes() <= limits.shared_bytes);
        let unrolls = [self.unroll / 2, self.unroll * 2].into_iter().filter(|u| (1..=16).contains(u));
        let mut all: Vec<_> = threads.map(|numbers| numbers.knobs()).collect();
        all.extend(unrolls.map(|unroll| SmallColumnParameters { unroll, ..*self }.knobs()));
        all
    }
}

/// Returns the largest number of threads, at most `threads`, whose vectors together fill whole
/// rows.
fn active(threads: i64, vector: i64, c: i64) -> i64 {
    let step = c / gcd(c, vector);
    threads / step * step
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
