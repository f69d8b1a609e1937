//! Sizes of blocks, chunks and register tiles, and the plan.
//!
//! ```text
//! block            `rows` rows of the result by `features` features of one group
//! chunk            `outer` input rows for each row of the result; sums are kept between chunks
//! register tile    `height` by `vectors` registers, whose lanes are features or positions
//! ```

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, EmitError, LaunchDimensions, Plan, Visit, Work};
use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, Variable, ceil_div, delinearize};
use fusebox_core::launch::Balance;

use super::DirectProblem;
use crate::chain::ProductChain;
use crate::input_row::{InputRow, InputRowBuilder};
use crate::operand::Operand;
use crate::problem::{ProductRoots, VECTOR_OF_PRODUCTS};
use crate::results::written;

/// Names of the knobs: rows and features of a block.
const ROWS: &str = "rows";
const FEATURES: &str = "features";
/// Largest number of alternative configurations in a plan.
const MOST_ALTERNATIVES: usize = 6;
/// Largest number of bytes of input rows that the block's memory holds at a time. The limit is
/// `NEAR_INPUT_BYTES` if neighbouring positions are contiguous in a row: the steps of one position
/// are then far apart, and the kernel reads the rows again for the next positions.
const INPUT_BYTES: i64 = 64 << 10;
const NEAR_INPUT_BYTES: i64 = 32 << 10;
/// Cycles to pack an element of the convolution kernel, if steps are contiguous in memory.
const TURNED: f64 = 4.0;
/// Cycles to start copying a run of the input.
const OF_RUN: f64 = 60.0;
/// Largest number of registers in a row of the register tile.
const MOST_VECTORS: i64 = 4;
/// Largest number of parts for which the search tries every split of the rows and of the features.
/// Above `FEW_PARTS`, the search tries only powers of two, the device's usual number of blocks, and
/// one part per row or per register tile.
const FEW_PARTS: i64 = 8;
/// Number of values that the search tries for the number of input rows per chunk. Each number of
/// rows that the search tries is half of the previous number.
const MOST_HALVINGS: usize = 6;
/// Least number of products for which waking all cores pays.
const PRODUCTS_FOR_ALL_CORES: i64 = 1 << 20;

/// The sizes that the emitter chooses.
#[derive(Clone, Debug)]
pub struct DirectSizes {
    /// Number of elements of a register.
    pub lanes: i64,
    pub height: i64,
    pub vectors: i64,
    /// Whether lanes of a register are positions, not features.
    pub by_positions: bool,
    /// Numbers of result rows and of features per block.
    pub rows: i64,
    pub features: i64,
    /// Number of input rows per chunk.
    pub outer: i64,
    /// Size of the chains of products, if there are several chains.
    pub chain: Option<ProductChain>,
    /// Numbers of blocks along groups, along rows and along features.
    pub grid: [i64; 3],
    /// Bytes of a sum.
    bytes: i64,
}

/// Returns the time, in half cycles, that one step takes in a register tile of `height` by
/// `vectors` registers.
fn of_step(height: i64, vectors: i64) -> i64 {
    // The time is the largest of three times: for the products, for the reads of both operands, and
    // for the latency of an addition (four cycles).
    (height * vectors).max(height + vectors).max(8)
}

/// Returns the number of cores to use: all cores, or one core if waking the other cores does not
/// pay.
fn cores(problem: &DirectProblem, device: &DeviceDescription) -> i64 {
    if problem.products() < PRODUCTS_FOR_ALL_CORES { 1 } else { i64::from(device.core_count.max(1)) }
}

impl DirectSizes {
    /// Chooses the fastest sizes that the knobs allow.
    ///
    /// # Errors
    /// If a row with its buffers does not fit in the block's memory, or no block has the sizes that
    /// the knobs set.
    pub fn new(
        problem: &DirectProblem,
        device: &DeviceDescription,
        knobs: &Configuration,
    ) -> Result<DirectSizes, EmitError> {
        let mut all = DirectSizes::fitting(problem, device)?;
        for (name, size) in [(ROWS, DirectSizes::rows as fn(&DirectSizes) -> i64), (FEATURES, DirectSizes::features)] {
            let allowed: BTreeSet<i64> = all.iter().map(size).collect();
            let wanted = || format!("one of {allowed:?}");
            if let Some(wanted) = knobs.checked_knob(name, wanted, |value| allowed.contains(&value))? {
                all.retain(|sizes| size(sizes) == wanted);
            }
        }
        let cores = cores(problem, device);
        let least = all.into_iter().map(|sizes| (sizes.time(problem, cores), sizes)).min_by(|a, b| a.0.total_cmp(&b.0));
        least.map(|(_, sizes)| sizes).ok_or_else(|| EmitError::new("no block size has these knobs"))
    }

    /// Returns all sizes that fit in the block's memory, or an error if no sizes fit.
    fn fitting(problem: &DirectProblem, device: &DeviceDescription) -> Result<Vec<DirectSizes>, EmitError> {
        let bytes = problem.sum.byte_size() as i64;
        let lanes = (i64::from(device.register_bytes.max(16)) / bytes).max(1);
        let registers = i64::from(device.registers.max(16));
        let axis = &problem.geometry.places[problem.axis];
        let are_neighbours = axis.stride * problem.inner_size() == 1 && problem.along_row.len() == 1;
        let by_positions = problem.by_positions && are_neighbours && problem.positions() * 2 > lanes;
        let (long, wide) = if by_positions {
            (problem.features(), problem.positions())
        } else {
            (problem.positions(), problem.features())
        };
        let all = (1..=MOST_VECTORS).flat_map(|vectors| (1..=registers / vectors).map(move |height| (height, vectors)));
        let fits = |&(height, vectors): &(i64, i64)| height * vectors + vectors < registers;
        let cost = |&(height, vectors): &(i64, i64)| {
            // The added 1 is the overhead of a register tile.
            ceil_div(long, height) * ceil_div(wide, vectors * lanes) * (of_step(height, vectors) + 1)
        };
        let (height, vectors) = all.filter(fits).min_by_key(cost).unwrap_or((1, 1));
        let limit = i64::from(device.shared_bytes_per_block);
        let row_bytes = problem.places().saturating_mul(problem.inner_size()).saturating_mul(bytes);
        let too_large = || {
            let elements = row_bytes / bytes;
            EmitError::new(format!("rows of {elements} elements with their buffers do not fit a block's {limit} bytes"))
        };
        if row_bytes > limit {
            return Err(too_large());
        }
        let is_read_across = problem.along_row.len() > 1;
        let most = if by_positions || is_read_across { NEAR_INPUT_BYTES } else { INPUT_BYTES };
        let outer = (most / row_bytes.max(1)).clamp(1, problem.outer().max(1));
        let chain = ProductChain::of([problem.outer(), problem.steps()], outer, problem.sum);
        let whole = |outer: i64| chain.map_or(outer, |chain| chain.whole_rows(outer));
        let sizes = DirectSizes {
            lanes,
            height,
            vectors,
            by_positions,
            rows: problem.rows(),
            features: problem.features(),
            outer: whole(ceil_div(problem.outer(), ceil_div(problem.outer(), outer))),
            chain,
            grid: [problem.batches(), 1, 1],
            bytes,
        };
        // With fewer input rows at a time, the packed convolution kernel takes less memory.
        let fewer = |sizes: &DirectSizes| {
            let outer = whole(ceil_div(sizes.outer, 2));
            (outer < sizes.outer).then(|| DirectSizes { outer, ..sizes.clone() })
        };
        let all = std::iter::successors(Some(sizes), fewer).take(MOST_HALVINGS);
        let parted = all.flat_map(|sizes| sizes.parted(problem, cores(problem, device)));
        let fitting: Vec<DirectSizes> = parted.filter(|sizes| sizes.bytes_of(problem) <= limit).collect();
        if fitting.is_empty() { Err(too_large()) } else { Ok(fitting) }
    }

    fn rows(&self) -> i64 {
        self.rows
    }

    fn features(&self) -> i64 {
        self.features
    }

    /// Returns configurations for the fastest block sizes other than the chosen block size.
    fn alternatives(&self, problem: &DirectProblem, device: &DeviceDescription) -> Vec<Configuration> {
        let cores = cores(problem, device);
        let all = DirectSizes::fitting(problem, device).unwrap_or_default();
        let mut all: Vec<(f64, DirectSizes)> =
            all.into_iter().map(|sizes| (sizes.time(problem, cores), sizes)).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Knobs do not set the number of input rows. If several sizes have equal knobs, the knobs
        // select the first of these sizes.
        let mut seen = HashSet::from([(self.rows, self.features)]);
        let others = all.iter().filter(|(_, sizes)| seen.insert((sizes.rows, sizes.features)));
        others.take(MOST_ALTERNATIVES).map(|(_, sizes)| sizes.configuration()).collect()
    }

    fn configuration(&self) -> Configuration {
        Configuration::from([(ROWS, self.rows), (FEATURES, self.features)])
    }

    /// Returns variants of these sizes with different numbers of rows and features per block.
    fn parted(&self, problem: &DirectProblem, cores: i64) -> Vec<DirectSizes> {
        let (rows, panels) = (problem.rows(), ceil_div(problem.features(), self.unit()));
        let candidates = |all: i64| {
            let most = all.min(cores * Balance::OfTasks.blocks_per_core());
            let doubled = (0..62).map(|power| 1i64 << power).filter(move |&parts| parts > FEW_PARTS && parts < all);
            (1..=most.min(FEW_PARTS)).chain(doubled).chain([most, all])
        };
        let parts = candidates(rows).flat_map(|across| candidates(panels).map(move |along| (across, along)));
        let sized = parts.map(|(across, along)| {
            let (rows, features) = (ceil_div(rows, across), ceil_div(panels, along) * self.unit());
            let grid = [problem.batches(), ceil_div(problem.rows(), rows), ceil_div(problem.features(), features)];
            DirectSizes { rows, features, grid, ..self.clone() }
        });
        sized.collect()
    }

    /// Returns the predicted number of cycles until all cores finish.
    fn time(&self, problem: &DirectProblem, cores: i64) -> f64 {
        let steps = (problem.outer() * problem.steps()) as f64;
        let [_, long, wide] = DirectSizes { outer: problem.outer(), ..self.clone() }.sum_dims(problem);
        let tiles = (long / self.height * (wide / self.width()) * self.rows) as f64;
        // If the steps are split into chains or chunks, the kernel reads and writes the sums for
        // each part.
        let kept = match self.chain {
            Some(chain) => chain.parts([problem.outer(), problem.steps()]),
            None if self.keeps_sums(problem) => ceil_div(problem.outer(), self.outer),
            None => 0,
        } as f64;
        let of_sums = 2.0 * kept * (self.height * self.vectors) as f64;
        let products = tiles * (steps * (of_step(self.height, self.vectors) + 1) as f64 / 2.0 + of_sums);
        // Copying an element from a far cache takes a cycle. Copying from a near cache takes much
        // less.
        let copied = (self.rows * problem.outer() * self.row_size(problem)) as f64;
        let runs = (self.rows * problem.outer()) as f64 * problem.runs_of_row() as f64;
        let of_input = copied.min(problem.input_size() as f64) + 2.0 * copied / self.lanes as f64 + runs * OF_RUN;
        let each = if problem.kernel.runs_along_steps { TURNED } else { 1.0 };
        let of_kernel = self.features as f64 * steps * each;
        let turns = ceil_div(self.blocks(), cores) as f64;
        // With few blocks per core, the other cores wait for a slow core.
        (products + of_input + of_kernel) * turns * (1.0 + 0.25 / turns)
    }

    /// Whether the sums of all rows are kept between chunks.
    pub fn keeps_sums(&self, problem: &DirectProblem) -> bool {
        self.outer < problem.outer()
    }

    /// Returns the number of features of a register tile.
    pub fn unit(&self) -> i64 {
        if self.by_positions { self.height } else { self.width() }
    }

    /// Returns the number of positions of a register tile.
    pub fn unit_of_positions(&self) -> i64 {
        if self.by_positions { self.width() } else { self.height }
    }

    fn width(&self) -> i64 {
        self.vectors * self.lanes
    }

    /// Returns the number of elements of an input row.
    pub fn row_size(&self, problem: &DirectProblem) -> i64 {
        problem.places() * problem.inner_size()
    }

    /// Returns the dimensions of the tensor of input rows, with room for positions beyond the end
    /// of a row.
    pub fn input_dims(&self, problem: &DirectProblem) -> [i64; 1] {
        let stride = problem.geometry.places[problem.axis].stride;
        let beyond = self.unit_of_positions() * stride * problem.inner_size() + self.lanes;
        [self.outer * self.row_size(problem) + beyond]
    }

    /// Returns the dimensions of the packed convolution kernel, `[register tile, step, feature]`.
    /// With one extra step, the distance between register tiles is no power of two.
    pub fn kernel_dims(&self, problem: &DirectProblem) -> [i64; 3] {
        [ceil_div(self.features, self.unit()), self.outer * problem.steps() + 1, self.unit()]
    }

    /// Returns the dimensions of the buffer for one line of the convolution kernel. If steps are
    /// contiguous, each line is copied to the buffer before the line is packed.
    pub fn line_dims(&self, problem: &DirectProblem) -> [i64; 1] {
        [if problem.kernel.runs_along_steps { self.outer * problem.steps() } else { 1 }]
    }

    /// Returns the dimensions of the sums, `[row of the result, position, feature]` or `[row,
    /// feature, position]`.
    pub fn sum_dims(&self, problem: &DirectProblem) -> [i64; 3] {
        let up = |size: i64, unit: i64| ceil_div(size, unit) * unit;
        let rows = if self.keeps_sums(problem) { self.rows } else { 1 };
        let (positions, features) = (up(problem.positions(), self.unit_of_positions()), up(self.features, self.unit()));
        if self.by_positions { [rows, features, positions] } else { [rows, positions, features] }
    }

    fn bytes_of(&self, problem: &DirectProblem) -> i64 {
        let count = |dims: &[i64]| dims.iter().fold(1, |n: i64, &size| n.saturating_mul(size));
        let all = [
            count(&self.input_dims(problem)),
            count(&self.kernel_dims(problem)),
            count(&self.line_dims(problem)),
            count(&self.sum_dims(problem)),
        ];
        all.into_iter().fold(0, i64::saturating_add).saturating_mul(self.bytes)
    }

    /// Returns the input as an operand whose batch, line and step are `(group, row of the result,
    /// [row of the input, place, element at the place])`. `place` is the position in the input row.
    pub fn input(&self, problem: &DirectProblem) -> Arc<Operand> {
        problem.inputs.of(self.row_size(problem), || self.new_input(problem))
    }

    /// Creates the operand of [`input`](Self::input). The sizes determine only the length of an
    /// input row.
    fn new_input(&self, problem: &DirectProblem) -> Operand {
        let geometry = &problem.geometry;
        let mut row_builder = InputRowBuilder::new(geometry, problem.axis, problem.batches());
        geometry.set(&mut row_builder.point, &geometry.batch, 0);
        problem.of_row.iter().for_each(|&coordinate| row_builder.set(coordinate));
        row_builder.begin_steps();
        problem.outer_steps.iter().for_each(|&coordinate| row_builder.set(coordinate));
        let (inner, sizes) = (problem.inner_size(), geometry.sizes_of(&problem.inner));
        let is_one = problem.runs_of_row() == 1;
        let (at, position) = if is_one {
            let run = row_builder.variable(self.row_size(problem));
            (run.clone().floor_div(inner), run.modulo(inner))
        } else {
            (row_builder.variable(problem.places()), row_builder.variable(inner))
        };
        for (&coordinate, part) in problem.inner.iter().zip(delinearize(&position, &sizes)) {
            row_builder.point[coordinate] = part;
        }
        let row =
            InputRow { first: Expr::constant(0), place: at, inner: is_one.then_some(inner), may_stick_out: false };
        row_builder.finish(&row, problem.input, problem.element)
    }

    fn blocks(&self) -> i64 {
        self.grid.iter().product()
    }

    /// Returns the map `(block) -> (group, first row, first feature)`.
    pub fn place(&self) -> IndexingMap {
        let results = self.place_of(Expr::dim(0)).to_vec();
        IndexingMap::from_tensor_sizes(results, &[self.blocks()], &[]).simplify()
    }

    fn place_of(&self, block: Expr) -> [Expr; 3] {
        let [_, rows, features] = self.grid;
        [
            block.clone().floor_div(rows * features),
            block.clone().floor_div(features).modulo(rows) * self.rows,
            block.modulo(features) * self.features,
        ]
    }

    /// Returns the map from `(row, position, feature)` to all arguments of
    /// [`DirectProblem::result_at`] except the first argument, the group.
    pub fn in_result(problem: &DirectProblem) -> IndexingMap {
        let mut parts = delinearize(&Expr::dim(0), &problem.geometry.sizes_of(&problem.of_row));
        parts.extend([Expr::dim(1), Expr::dim(2)]);
        let sizes = [problem.rows(), problem.positions(), problem.features()];
        IndexingMap::from_tensor_sizes(parts, &sizes, &[]).simplify()
    }

    /// Returns the plan.
    pub fn plan(&self, problem: &DirectProblem, device: &DeviceDescription) -> Plan {
        let launch = LaunchDimensions { blocks: self.blocks() as u64, threads_per_block: 1 };
        let (outputs, visits) = written(&problem.roots, problem.convolution, |roots| self.written(problem, roots));
        let (of_long, of_wide) = if self.by_positions { ("features", "positions") } else { ("positions", "features") };
        let input = self.input(problem);
        Plan {
            shared_bytes: self.bytes_of(problem) as u32,
            visits: self.reads(problem, &input).into_iter().chain(visits).collect(),
            work: self.work(problem, &input),
            configuration: self.configuration(),
            alternatives: self.alternatives(problem, device),
            notes: vec![format!(
                "{} rows and {} features of the result in a block, {} of the input at a time, {} {of_long} by {} {of_wide} \
                 in registers",
                self.rows,
                self.features,
                self.outer,
                self.height,
                self.width()
            )],
            ..Plan::new(launch, outputs)
        }
    }

    /// Returns the cost of computing the products and of copying the operands. The cost counts
    /// vectors with as many lanes as the type of the sums allows. The cost includes products for
    /// positions and features beyond the end.
    fn work(&self, problem: &DirectProblem, input: &Operand) -> Work {
        let [_, long, wide] = self.sum_dims(problem);
        let rows = (problem.batches() * problem.rows() * self.grid[2]) as f64;
        let steps = (problem.outer() * problem.steps()) as f64;
        let slow = of_step(self.height, self.vectors) as f64 / (self.height * self.vectors) as f64;
        let copied =
            rows * (problem.outer() * self.row_size(problem)) as f64 + (self.blocks() * self.features) as f64 * steps;
        let input = input
            .runs
            .as_ref()
            .map_or(0.0, |runs| runs.overhead(rows * (problem.outer() * self.row_size(problem)) as f64, 1));
        Work {
            additions: input + rows * steps * (long * wide) as f64 / self.lanes as f64 * VECTOR_OF_PRODUCTS * slow,
            tile_bytes: copied * self.bytes as f64,
            ..Work::default()
        }
    }

    /// Returns the visits of the copied operands.
    fn reads(&self, problem: &DirectProblem, input: &Operand) -> [Visit; 2] {
        let [group, row, feature] = self.place_of(Expr::dim(1));
        let size = self.row_size(problem);
        let point = [group.clone(), row + Expr::range(0), Expr::range(1) * size + Expr::range(2)];
        let ranges = [("row", self.rows), ("outer", problem.outer()), ("place", size)];
        let input = self.over_blocks(&input.at, &point, &ranges);
        let steps = problem.outer() * problem.steps();
        let (line, step) = if problem.kernel.runs_along_steps { (0, 1) } else { (1, 0) };
        let point = [group, feature + Expr::range(line), Expr::range(step)];
        let (lines, steps) = (("feature", self.features.min(problem.features())), ("step", steps));
        let ranges = if line == 0 { [lines, steps] } else { [steps, lines] };
        let kernel = self.over_blocks(&problem.kernel.at, &point, &ranges);
        let visit = |map, instruction| Visit { map, values: vec![instruction], given: Vec::new() };
        [visit(input, problem.input), visit(kernel, problem.kernel.instruction)]
    }

    /// Returns a map `(th, bl)[ranges] -> …` with the results of `map` at `point`. `point` depends
    /// on the block and the ranges.
    fn over_blocks(&self, map: &IndexingMap, point: &[Expr], ranges: &[(&str, i64)]) -> IndexingMap {
        let of_point = |expr: &Expr| expr.substitute(point, &[], &[]);
        let constraints = map.constraints.iter();
        IndexingMap {
            dims: vec![Variable::named("th", 1), Variable::named("bl", self.blocks())],
            ranges: ranges.iter().map(|&(name, size)| Variable::named(name, size)).collect(),
            results: map.results.iter().map(of_point).collect(),
            constraints: constraints.map(|it| Constraint::new(of_point(&it.expr), it.bounds)).collect(),
            ..IndexingMap::default()
        }
    }

    /// Returns the map `(th, bl)[row, position, feature] -> index of the results`.
    fn written(&self, problem: &DirectProblem, roots: &ProductRoots) -> IndexingMap {
        let [group, row, feature] = self.place_of(Expr::dim(1));
        let (position, of_feature) = if self.by_positions { (2, 1) } else { (1, 2) };
        let (row, feature) = (row + Expr::range(0), feature + Expr::range(of_feature));
        let in_result = [row.clone(), Expr::range(position), feature.clone()];
        let place = Self::in_result(problem).results.iter().map(|expr| expr.substitute(&in_result, &[], &[])).collect();
        let point = [vec![group], place].concat();
        let [positions, features] =
            [("position", problem.positions()), ("feature", self.features.min(problem.features()))];
        let [second, third] = if self.by_positions { [features, positions] } else { [positions, features] };
        let mut map = self.over_blocks(&roots.at, &point, &[("row", self.rows), second, third]);
        for (parts, of_part, expr, size) in
            [(self.grid[1], self.rows, row, problem.rows()), (self.grid[2], self.features, feature, problem.features())]
        {
            if parts > 1 && parts * of_part > size {
                map.constraints.push(Constraint::new(expr, Interval::from_size(size)));
            }
        }
        map.simplify()
    }
}
