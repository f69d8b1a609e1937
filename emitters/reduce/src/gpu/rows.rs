//! Schedules for row problems `[a, b, c] -> [b]`, for the forms row, multi-row and scalar.
//!
//! ```text
//! th = (row in block, across, along)      T = Ta * Tc threads for a row, all powers of two
//! d0 = step * Ta + across                 the major reduced dimension is distributed, too
//! d1 = (bl * R + row in block) * k + j    k rows per thread where rows are shorter than a vector
//! d2 = (step * Tc + along) * V + v
//! ```

use fusebox_core::emitter::{Configuration, EmitError};
use fusebox_core::indexing::{Constraint, Expr, Interval, Variable, ceil_div};

use super::ReductionForm;
use super::axis::ThreadedAxis;
use super::limits::GroupLimits;
use super::schedule::{GroupSchedule, PartialsTile, block, demand, lane, power_of_two, thread, thread_map};

/// Usual number of threads of a block with several rows.
const BLOCK: i64 = 256;
/// Usual number of vectors that one thread reads. A thread reads fewer vectors if otherwise too few
/// threads would be busy.
const MOST_UNITS: i64 = 8;
/// Number of adjacent bytes that a group of threads should read at once: a cache line.
const LINE: i64 = 128;
/// Number of bytes. If one thread reads several rows together, the size of these rows is a multiple
/// of this number.
const TOGETHER: i64 = 16;

/// Numbers that determine a row schedule.
struct RowParameters {
    /// Number of elements per vector access.
    vector: i64,
    /// Number of rows that one thread reduces alone, with separate accumulators.
    together: i64,
    /// Number of threads of a row.
    threads: i64,
    /// Number of rows of a block. If one thread reduces several rows alone, the field counts groups
    /// of these rows.
    rows: i64,
    /// Number of vectors that a thread reads concurrently.
    unroll: i64,
}

/// Returns the form (scalar, multi-row or row) that suits a group.
pub fn natural_form(limits: &GroupLimits) -> ReductionForm {
    let [_, b, c] = limits.group.problem.dims;
    match natural_threads(limits, limits.vector_of(c, i64::MAX)) {
        _ if b == 1 => ReductionForm::Scalar,
        threads if threads < limits.warp => ReductionForm::MultiRow,
        _ => ReductionForm::Row,
    }
}

/// Returns the reason why a form does not suit a group, or `None` if the form suits the group.
pub fn refusal(form: ReductionForm, limits: &GroupLimits) -> Option<String> {
    let problem = limits.group.problem;
    let [a, b, c] = problem.dims;
    let units = a * (c / limits.vector_of(c, i64::MAX));
    match form {
        // The kernel would be equal to the kernel of [`ReductionForm::Scalar`].
        ReductionForm::Row | ReductionForm::MultiRow if b == 1 => {
            Some(format!("{problem}: the only result needs a single block"))
        }
        ReductionForm::Scalar if b > 1 => Some(format!("{problem}: there are {b} results, but this form computes one")),
        ReductionForm::MultiRow if units > limits.warp * MOST_UNITS => {
            Some(format!("{problem}: a row is long enough for a warp"))
        }
        ReductionForm::Row | ReductionForm::MultiRow | ReductionForm::Scalar => None,
        ReductionForm::Column | ReductionForm::SmallColumn => {
            Some(format!("{problem}: the minor dimension is reduced"))
        }
    }
}

/// Chooses the schedule.
pub fn schedule(
    form: ReductionForm,
    limits: &GroupLimits,
    configuration: &Configuration,
) -> Result<GroupSchedule, EmitError> {
    let numbers = RowParameters::new(form, limits, configuration)?;
    Ok(numbers.schedule(limits))
}

/// Returns the number of threads of a row. Each thread has several vectors. A thread has fewer
/// vectors if otherwise half the device would be idle.
fn natural_threads(limits: &GroupLimits, vector: i64) -> i64 {
    let [a, b, c] = limits.group.problem.dims;
    let units = c / vector;
    let work = a.saturating_mul(units);
    let mut each = MOST_UNITS;
    while each > 1 && b.saturating_mul(work) / each < limits.device_threads / 2 {
        each /= 2;
    }
    if rows_together(limits, b, c) > 1 {
        return 1;
    }
    let line = power_of_two(ceil_div(LINE, vector * limits.element_bytes())).min(power_of_two(units));
    nearest_power_of_two(work / each).max(line).min(limits.most_threads)
}

/// Rounds `value` to a power of two: up if `value` is at least 3/4 of the next power of two, else
/// down. An extra thread costs as much as an extra step.
fn nearest_power_of_two(value: i64) -> i64 {
    let up = power_of_two(value);
    if 4 * value >= 3 * up { up } else { (up / 2).max(1) }
}

impl RowParameters {
    fn new(form: ReductionForm, limits: &GroupLimits, configuration: &Configuration) -> Result<Self, EmitError> {
        let [a, b, c] = limits.group.problem.dims;
        let widest = limits.vector_of(c, i64::MAX);
        let vector = configuration
            .checked_knob(
                "vector",
                || format!("a power of two up to {widest}"),
                |v| v >= 1 && v <= widest && v & (v - 1) == 0,
            )?
            .unwrap_or(widest);
        let units = c / vector;
        let most = power_of_two(a) * power_of_two(units);
        let allowed = match form {
            ReductionForm::MultiRow => 1..=(limits.warp / 2).min(most).max(1),
            _ => limits.warp..=limits.most_threads,
        };
        let natural = natural_threads(limits, vector).clamp(*allowed.start(), *allowed.end());
        let wanted = format!("a power of two from {} to {}", allowed.start(), allowed.end());
        let threads =
            configuration.checked_knob("threads", || &wanted, |v| allowed.contains(&v) && v & (v - 1) == 0)?;
        let threads = threads.unwrap_or(natural);
        let together = match threads {
            1 => rows_together(limits, b, c),
            _ => 1,
        };
        let most_rows = (limits.most_threads / threads).max(1);
        let rows = configuration
            .checked_knob("rows", || format!("1 to {most_rows}"), |v| v >= 1 && v <= most_rows)?
            .unwrap_or_else(|| natural_rows(limits, threads, ceil_div(b, together)));
        let unroll = configuration
            .checked_knob("unroll", || "1 to 16", |v| (1..=16).contains(&v))?
            .unwrap_or_else(|| limits.unroll(vector));
        Ok(RowParameters { vector, together, threads, rows, unroll })
    }

    fn knobs(&self) -> Vec<(&'static str, i64)> {
        vec![("rows", self.rows), ("threads", self.threads), ("unroll", self.unroll), ("vector", self.vector)]
    }

    fn schedule(&self, limits: &GroupLimits) -> GroupSchedule {
        let [a, b, c] = limits.group.problem.dims;
        let RowParameters { vector, together, threads, rows, unroll } = *self;
        let blocks = ceil_div(b, rows * together);
        let along = power_of_two(c / vector).min(threads);
        let across = threads / along;
        let minor = ThreadedAxis::new(c / vector, along, unroll);
        let major = ThreadedAxis::new(a, across, ceil_div(unroll, minor.unroll()));

        let mut walk = thread_map(rows * threads, blocks);
        let mut unrolled = Vec::new();
        let in_row = thread().modulo(threads);
        let row = block() * rows + thread().floor_div(threads);
        demand(&mut walk, &row, b / together, blocks * rows);
        let d0 = major.walk(&mut walk, &mut unrolled, "across", in_row.clone().floor_div(along));
        let unit = minor.walk(&mut walk, &mut unrolled, "along", in_row.modulo(along));
        let mut d2 = unit * vector;
        if vector > 1 {
            unrolled.push(walk.ranges.len());
            d2 = d2 + Expr::range(walk.ranges.len() as u32);
            walk.ranges.push(Variable::named("v", vector));
        }
        let mut d1 = row;
        if together > 1 {
            d1 = d1 * together + lane(&mut walk, together);
        }
        walk.results = vec![d0, d1, d2];

        let warps = threads / limits.warp;
        let tile = (warps > 1).then(|| tile(limits.warp, rows, warps, blocks));
        let readers = if tile.is_some() { warps } else { threads };
        let mut kept = thread_map(rows * threads, blocks);
        let group = thread().floor_div(readers);
        let row = block() * rows + group.clone();
        demand(&mut kept, &group, rows, rows * threads / readers);
        demand(&mut kept, &row, b / together, blocks * rows);
        if readers > 1 {
            kept.constraints.push(Constraint::new(thread().modulo(readers), Interval::point(0)));
        }
        let mut d1 = row;
        if together > 1 {
            d1 = d1 * together + lane(&mut kept, together);
        }
        kept.results = vec![d1];
        GroupSchedule {
            threads: rows * threads,
            blocks,
            lanes: together,
            vector: vector * together,
            walk,
            unrolled,
            shuffled: threads.min(limits.warp),
            tile,
            kept,
            knobs: self.knobs(),
            alternatives: self.alternatives(limits),
            note: format!(
                "{}: {threads} threads for a row, {} rows in a block, {vector} elements a read",
                limits.group.problem,
                rows * together
            ),
        }
    }

    fn alternatives(&self, limits: &GroupLimits) -> Vec<Vec<(&'static str, i64)>> {
        let [a, _, c] = limits.group.problem.dims;
        let short = self.threads < limits.warp;
        let most = if short {
            (limits.warp / 2).min(power_of_two(a) * power_of_two(c / self.vector))
        } else {
            limits.most_threads
        };
        let least = if short { 1 } else { limits.warp };
        let mut all = Vec::new();
        for threads in [self.threads / 2, self.threads * 2].into_iter().filter(|t| (least..=most).contains(t)) {
            let rows = natural_rows(limits, threads, limits.group.problem.dims[1]);
            all.push(RowParameters { threads, rows, ..*self }.knobs());
        }
        for unroll in [self.unroll / 2, self.unroll * 2].into_iter().filter(|u| (1..=16).contains(u)) {
            all.push(RowParameters { unroll, ..*self }.knobs());
        }
        if self.vector > 1 {
            all.push(RowParameters { vector: self.vector / 2, ..*self }.knobs());
        }
        all
    }
}

/// Returns the tile through which the warps of a row combine their results. The tile has one column
/// per row of the block, and one partial result per warp in each column. A block has at most as
/// many warps as a warp has threads, so one warp can read the whole tile.
pub fn tile(warp: i64, rows: i64, warps: i64, blocks: i64) -> PartialsTile {
    let threads = rows * warps * warp;
    let mut write = thread_map(threads, blocks);
    write.constraints.push(Constraint::new(thread().modulo(warp), Interval::point(0)));
    let number = thread().floor_div(warp);
    write.results = vec![number.clone().floor_div(warps), number.modulo(warps)];
    let mut read = thread_map(threads, blocks);
    read.results = vec![thread().floor_div(warps), thread().modulo(warps)];
    let reading = ceil_div(rows * warps, warp) * warp;
    PartialsTile { columns: rows, partials: warps, pitch: warps, write, readers: warps, read, reading }
}

/// Returns the number of adjacent rows that one thread reads together. The rows that one thread
/// reads together fill whole vectors.
fn rows_together(limits: &GroupLimits, b: i64, c: i64) -> i64 {
    let bytes = c * limits.element_bytes();
    let fits = |&k: &i64| k * bytes <= 4 * TOGETHER && k <= limits.lanes && b % k == 0;
    let wanted = (1..=8).filter(fits).find(|k| k * bytes % TOGETHER == 0);
    match wanted {
        Some(k) if bytes < TOGETHER && b / k >= limits.device_threads / 4 => k,
        _ => 1,
    }
}

/// Returns the number of rows that fill a block of the usual size. Returns a smaller number if some
/// cores would otherwise have no block. A block has at least a warp of threads.
fn natural_rows(limits: &GroupLimits, threads: i64, b: i64) -> i64 {
    let mut rows = (BLOCK / threads).max(1);
    while rows > 1 && rows * threads > limits.warp && ceil_div(b, rows) < limits.cores {
        rows /= 2;
    }
    while rows > 1 && rows / 2 >= b {
        rows /= 2;
    }
    rows
}
