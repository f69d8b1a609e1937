//! Distribution of the lines over blocks.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, EmitError, LaunchDimensions, OutputPlan, Plan, Task, Visit, Work};
use fusebox_core::indexing::{Expr, IndexingMap, Interval, Variable, ceil_div};
use fusebox_core::launch::Balance;

use crate::problem::{Scan, ScanSizes};

/// Number of steps of a chunk. The kernel combines the steps of a chunk with each other before it
/// combines the chunk with earlier steps. Rounding errors of sums grow with the length of a chunk
/// and with the number of groups of chunks. Rounding errors are not proportional to the number of
/// steps.
pub const CHUNK: i64 = 32;

/// Returns the number of steps of a group. The kernel combines the chunks of a group with each
/// other before it combines the group with earlier groups. The number of groups is about equal to
/// the number of chunks in a group.
pub fn group(steps: i64) -> i64 {
    CHUNK * ceil_div(steps, CHUNK).isqrt().max(1)
}

/// Number of lines that are scanned together if steps are contiguous. This number equals the
/// latency of an addition in cycles. If the length of lines is a power of two, the reads and writes
/// of more lines would exceed the associativity of the nearest cache.
pub const LINES: i64 = 4;
/// Least number of lines that `column-scan` scans together, one step of all lines at a time.
pub const LEAST_COLUMNS: i64 = 64;
/// Largest number of lines that `column-scan` scans together. With this number, the tiles stay in
/// the nearest cache.
const MOST_COLUMNS: i64 = 1024;
/// Number of tiles with an element per line: one for combinations within the chunk, and three for
/// combinations before the chunk.
const TILES: i64 = 4;
/// Cost of an addition that waits for the previous addition, as a number of independent additions.
/// The cost holds if `LINES` lines are scanned together.
const WAITING: f64 = 1.0;
/// Name of the knob for the number of lines of a block, if a block scans a few lines at a time.
const LINES_KNOB: &str = "lines";
/// Name of the knob for the number of lines of a block, if a block processes a step of all its
/// lines at a time.
const COLUMNS_KNOB: &str = "columns";

/// Distribution of the lines over blocks that scan a few lines at a time.
pub struct LinePlan {
    /// Number of lines of a block.
    pub lines: i64,
    blocks: i64,
}

/// Distribution of the lines over blocks that process one step of all their lines at a time. Lines
/// form a group if the lines' elements at one step are contiguous in memory. If a group would have
/// too few lines, all lines form one group.
pub struct ColumnPlan {
    /// Number of lines of a block.
    pub columns: i64,
    /// Number of blocks over which a group is distributed.
    pub cuts: i64,
    /// Number of lines of a group.
    pub width: i64,
    /// Map from `(group, line of the group)` to `(outer, inner)`.
    pub place: IndexingMap,
    blocks: i64,
}

fn wanted_blocks(device: &DeviceDescription) -> i64 {
    Balance::OfTasks.blocks(device)
}

impl LinePlan {
    /// Chooses the blocks.
    ///
    /// # Errors
    /// If a knob's value is impossible.
    pub fn new(task: &Task<Scan>, knobs: &Configuration) -> Result<Self, EmitError> {
        let lines = task.problem.lines();
        let chosen = ceil_div(ceil_div(lines, wanted_blocks(task.device)), LINES) * LINES;
        let lines_per_block = knobs.knob(LINES_KNOB, 1..=lines.max(LINES))?.unwrap_or(chosen);
        Ok(LinePlan { lines: lines_per_block, blocks: ceil_div(lines, lines_per_block) })
    }

    pub fn plan(&self, task: &Task<Scan>) -> Plan {
        let scan = task.problem;
        let ScanSizes { steps, inner, .. } = scan.sizes;
        let line = Expr::dim(1) * self.lines + Expr::range(0);
        let point = [line.clone().floor_div(inner), Expr::range(1), line.clone().modulo(inner)];
        let ranges = vec![Variable::named("line", self.lines), Variable::named("step", steps)];
        let limits = [(line, scan.lines(), self.blocks * self.lines)];
        let work = scan.elements() as f64 * 2.0 * scan.combination.max(WAITING);
        let knobs = Configuration::from([(LINES_KNOB, self.lines)]);
        let others =
            [self.lines / 2, self.lines * 2].into_iter().filter(|&lines| (LINES..=scan.lines()).contains(&lines));
        let others = knobs.others(others.map(|lines| knobs.with(LINES_KNOB, lines)));
        let launch = LaunchDimensions { blocks: self.blocks as u64, threads_per_block: 1 };
        let notes = vec![format!("{} lines of {steps} steps, {LINES} at once", scan.lines())];
        Plan { alternatives: others, configuration: knobs, notes, ..plan(scan, launch, ranges, &point, limits, work) }
    }
}

impl ColumnPlan {
    /// Chooses the blocks.
    ///
    /// # Errors
    /// If a knob's value is impossible.
    pub fn new(task: &Task<Scan>, knobs: &Configuration) -> Result<Self, EmitError> {
        let ScanSizes { outer, inner, .. } = task.problem.sizes;
        let (groups, width) = if inner < LEAST_COLUMNS { (1, outer * inner) } else { (outer, inner) };
        let cuts = ceil_div(wanted_blocks(task.device), groups);
        let chosen = ceil_div(ceil_div(width, cuts), LEAST_COLUMNS) * LEAST_COLUMNS;
        let chosen = chosen.clamp(LEAST_COLUMNS, MOST_COLUMNS).min(width);
        let columns = knobs.knob(COLUMNS_KNOB, 1..=MOST_COLUMNS)?.unwrap_or(chosen);
        let cuts = ceil_div(width, columns);
        let line = Expr::dim(0) * width + Expr::dim(1);
        let place = vec![line.clone().floor_div(inner), line.modulo(inner)];
        let place = IndexingMap::from_tensor_sizes(place, &[groups, width], &[]).simplify();
        Ok(ColumnPlan { columns, cuts, width, place, blocks: groups * cuts })
    }

    pub fn plan(&self, task: &Task<Scan>) -> Plan {
        let scan = task.problem;
        let steps = scan.sizes.steps;
        let column = Expr::dim(1).modulo(self.cuts) * self.columns + Expr::range(1);
        let place = [Expr::dim(1).floor_div(self.cuts), column.clone()];
        let [outer, inner] = [0, 1].map(|result| self.place.results[result].substitute(&place, &[], &[]));
        let point = [outer, Expr::range(0), inner];
        let ranges = vec![Variable::named("step", steps), Variable::named("column", self.columns)];
        let limits = [(column, self.width, self.cuts * self.columns)];
        let bytes = scan.element.byte_size() as i64;
        let lanes = (i64::from(task.device.register_bytes) / bytes.max(1)).max(1);
        let work = scan.elements() as f64 * 2.0 * scan.combination / lanes as f64;
        let knobs = Configuration::from([(COLUMNS_KNOB, self.columns)]);
        let fits = |columns: &i64| (LEAST_COLUMNS..=self.width.min(MOST_COLUMNS)).contains(columns);
        let others = [self.columns / 2, self.columns * 2].into_iter().filter(fits);
        let others = knobs.others(others.map(|columns| knobs.with(COLUMNS_KNOB, columns)));
        let launch = LaunchDimensions { blocks: self.blocks as u64, threads_per_block: 1 };
        Plan {
            shared_bytes: (TILES * self.columns * bytes) as u32,
            alternatives: others,
            configuration: knobs,
            notes: vec![format!("{} lines of {steps} steps, {} at once", scan.lines(), self.columns)],
            ..plan(scan, launch, ranges, &point, limits, work)
        }
    }
}

/// Returns the plan. The kernel reads every element once, at the point where it writes the
/// element's result. Each limit consists of an expression, the number of its valid values, and the
/// number of values that the loops visit.
fn plan(
    scan: &Scan,
    launch: LaunchDimensions,
    ranges: Vec<Variable>,
    point: &[Expr],
    limits: [(Expr, i64, i64); 1],
    additions: f64,
) -> Plan {
    let at = |map: &IndexingMap| {
        let of_block = IndexingMap {
            dims: vec![Variable::named("th", 1), Variable::named("bl", launch.blocks as i64)],
            ranges: ranges.clone(),
            results: map.results.iter().map(|expr| expr.substitute(point, &[], &[])).collect(),
            ..IndexingMap::default()
        };
        let needed = limits.iter().filter(|(_, size, covered)| covered > size);
        needed
            .fold(of_block, |map, (expr, size, _)| map.with_constraint(expr.clone(), Interval::from_size(*size)))
            .simplify()
    };
    let mut outputs: Vec<(usize, OutputPlan)> = Vec::new();
    for roots in &scan.roots {
        outputs.extend(roots.outputs.iter().map(|&output| (output, OutputPlan::unique(at(&roots.at)))));
    }
    outputs.sort_by_key(|(output, _)| *output);
    let operand = Visit { map: at(&scan.at), values: vec![scan.operand], given: Vec::new() };
    let results = scan.roots.iter().map(|roots| Visit {
        map: at(&roots.at),
        values: roots.instructions.clone(),
        given: vec![scan.hero],
    });
    Plan {
        visits: std::iter::once(operand).chain(results).collect(),
        work: Work { additions, ..Work::default() },
        ..Plan::new(launch, outputs.into_iter().map(|(_, output)| output).collect())
    }
}
