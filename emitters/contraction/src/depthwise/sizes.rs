//! Sizes of blocks, tasks and register tiles, and the input rows that a task needs.
//!
//! ```text
//! block    `tasks_per_block` tasks, one after another
//! task     a stretch of `positions` of one row of the result, for `features` output features
//! sums     `height` positions by a register of features, or `height` registers of positions of one feature
//! ```

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{EmitError, LaunchDimensions, Plan, Visit, Work};
use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, Variable, ceil_div, delinearize};
use fusebox_core::launch::Balance;

use super::DepthwiseProblem;
use crate::chain::ProductChain;
use crate::convolution::{FEATURE, GROUP, place};
use crate::input_row::{InputRow, InputRowBuilder};
use crate::operand::Operand;
use crate::problem::{ProductRoots, VECTOR_OF_PRODUCTS};
use crate::results::written;

/// Largest number of bytes of input rows that the block's memory holds at a time. The kernel reads
/// the input rows again for each window position, so the rows must stay in a near cache.
const ROW_BYTES: i64 = 16 << 10;
/// Largest size, in bytes, of the features that a task computes for one position.
const FEATURE_BYTES: i64 = 4 << 10;
/// Least and largest number of registers of sums. `LEAST_HEIGHT` registers of sums hide the latency
/// of an addition. Beside `MOST_HEIGHT` registers of sums, enough registers remain for operands.
const LEAST_HEIGHT: i64 = 6;
const MOST_HEIGHT: i64 = 12;
/// Least number of products for which waking all cores pays.
const PRODUCTS_FOR_ALL_CORES: i64 = 1 << 18;

/// The sizes that the emitter chooses.
#[derive(Debug)]
pub struct DepthwiseSizes {
    /// Number of elements of a register.
    pub lanes: i64,
    /// Number of registers of sums.
    pub height: i64,
    /// Numbers of positions and of features per task.
    pub positions: i64,
    pub features: i64,
    /// Number of input rows that the kernel copies together, before it adds the products of these
    /// rows.
    pub rows: i64,
    /// Size of the chains of products, if there are several chains.
    pub chain: Option<ProductChain>,
    /// Number of positions that a task reads from an input row.
    pub places: i64,
    /// Sizes of the coordinates that identify a task: the coordinates of its row, its range of
    /// positions, and its part of the features.
    pub tasks: Vec<i64>,
    /// Number of tasks per block.
    pub tasks_per_block: i64,
    /// Bytes of a sum.
    bytes: i64,
}

impl DepthwiseSizes {
    /// Chooses the sizes.
    ///
    /// # Errors
    /// If the rows do not fit in the block's memory.
    pub fn new(problem: &DepthwiseProblem, device: &DeviceDescription) -> Result<DepthwiseSizes, EmitError> {
        let bytes = problem.sum.byte_size() as i64;
        let lanes = (i64::from(device.register_bytes.max(16)) / bytes).max(1);
        let all = problem.features();
        let features = if problem.along_features {
            (1..=all.min(FEATURE_BYTES / bytes)).rev().find(|part| all % part == 0).unwrap_or(1)
        } else {
            1
        };
        let axis = &problem.geometry.places[problem.axis];
        let window = (problem.window() - 1) * axis.window_dilation + 1;
        let most = (ROW_BYTES / bytes / features - window) / axis.stride.max(1);
        let stretches = ceil_div(problem.positions(), most.max(lanes.max(MOST_HEIGHT)));
        let positions = ceil_div(problem.positions(), stretches);
        let places = (positions - 1) * axis.stride + window;
        let fit = (ROW_BYTES / bytes / places / features).clamp(1, problem.rows().max(1));
        let height =
            if problem.along_features { height(positions) } else { ceil_div(positions, lanes).min(MOST_HEIGHT) };
        let chain = ProductChain::of([problem.rows(), problem.window()], fit, problem.sum);
        let rows = ceil_div(problem.rows(), ceil_div(problem.rows(), fit));
        let rows = chain.map_or(rows, |chain| chain.whole_rows(rows).min(problem.rows()));
        let mut tasks = problem.geometry.sizes_of(&problem.of_row);
        tasks.extend([stretches, all / features]);
        let count: i64 = tasks.iter().product();
        let blocks =
            if problem.products() < PRODUCTS_FOR_ALL_CORES { 1 } else { count.min(Balance::OfTasks.blocks(device)) };
        let rows = DepthwiseSizes {
            lanes,
            height,
            positions,
            features,
            rows,
            chain,
            places,
            tasks_per_block: ceil_div(count, blocks.max(1)),
            tasks,
            bytes,
        };
        match rows.bytes_of(problem) {
            needed if needed > i64::from(device.shared_bytes_per_block) => Err(EmitError::new(format!(
                "rows of {features} features and {places} places take {needed} bytes, a block has {}",
                device.shared_bytes_per_block
            ))),
            _ => Ok(rows),
        }
    }

    /// Returns the input as an operand whose batch, line and step are `(0, task, [row, place,
    /// feature])`. `place` is the position in the row.
    pub fn input(&self, problem: &DepthwiseProblem) -> Operand {
        let (geometry, distance) = (&problem.geometry, &problem.distance);
        let axis = &geometry.places[problem.axis];
        let mut row_builder = InputRowBuilder::new(geometry, problem.axis, 1);
        problem.of_row.iter().for_each(|&coordinate| row_builder.set(coordinate));
        let [stretches, parts] = [self.tasks[problem.of_row.len()], self.tasks[problem.of_row.len() + 1]];
        let (stretch, part) = (row_builder.variable(stretches), row_builder.variable(parts));
        row_builder.begin_steps();
        problem.outer_steps.iter().for_each(|&coordinate| row_builder.set(coordinate));
        // If features are contiguous and each feature reads a different channel, the positions of a
        // row and their features form one contiguous run.
        let distance_between = distance[place(problem.axis)] / axis.window_dilation as f64;
        let is_one = self.features == 1
            || geometry.sizes[FEATURE] == 1
                && distance[GROUP] > 0.0
                && distance_between == distance[GROUP] * self.features as f64
                && axis.base_dilation == 1;
        let (at, feature) = if is_one {
            let run = row_builder.variable(self.row_size());
            (run.clone().floor_div(self.features), run.modulo(self.features))
        } else {
            (row_builder.variable(self.places), row_builder.variable(self.features))
        };
        problem.with_feature(&mut row_builder.point, &(part * self.features + feature));
        let row = InputRow {
            first: stretch * self.positions,
            place: at,
            inner: is_one.then_some(self.features),
            may_stick_out: stretches * self.positions > problem.positions(),
        };
        row_builder.finish(&row, problem.operands[0], problem.elements[0])
    }

    /// Returns the number of all tasks.
    pub fn count(&self) -> i64 {
        self.tasks.iter().product()
    }

    fn blocks(&self) -> i64 {
        ceil_div(self.count(), self.tasks_per_block)
    }

    /// Returns the number of elements of an input row.
    pub fn row_size(&self) -> i64 {
        self.places * self.features
    }

    /// Returns the number of steps of the convolution kernel that belong to the input rows in
    /// memory.
    pub fn kernel_steps(&self, problem: &DepthwiseProblem) -> i64 {
        self.rows * problem.window()
    }

    /// Rounds a count up to a multiple of a register's lanes.
    pub fn in_registers(&self, count: i64) -> i64 {
        ceil_div(count, self.lanes) * self.lanes
    }

    /// Returns the dimensions of the tensor of input rows, with room for register tiles that extend
    /// beyond the row.
    pub fn input_dims(&self, problem: &DepthwiseProblem) -> [i64; 1] {
        let stride = problem.geometry.places[problem.axis].stride;
        let beyond = if problem.along_features { self.height * stride * self.features } else { self.width() * stride };
        [self.rows * self.row_size() + beyond + self.lanes]
    }

    /// Returns the number of positions in a register tile, if the lanes are positions.
    pub fn width(&self) -> i64 {
        self.height * self.lanes
    }

    /// Returns the dimensions of the copied convolution kernel, `[0, step, feature]`.
    pub fn kernel_dims(&self, problem: &DepthwiseProblem) -> [i64; 3] {
        let features = if problem.along_features { self.in_registers(self.features) } else { 1 };
        [1, self.kernel_steps(problem), features]
    }

    /// Returns the dimensions of the sums, `[position, feature]` or `[0, position]`.
    pub fn sum_dims(&self, problem: &DepthwiseProblem) -> [i64; 2] {
        if problem.along_features {
            [ceil_div(self.positions, self.height) * self.height, self.in_registers(self.features)]
        } else {
            [1, ceil_div(self.positions, self.width()) * self.width()]
        }
    }

    fn bytes_of(&self, problem: &DepthwiseProblem) -> i64 {
        let count = |dims: &[i64]| dims.iter().product::<i64>();
        let all = count(&self.input_dims(problem)) + count(&self.kernel_dims(problem)) + count(&self.sum_dims(problem));
        all * self.bytes
    }

    /// Returns the plan.
    pub fn plan(&self, problem: &DepthwiseProblem) -> Plan {
        let launch = LaunchDimensions { blocks: self.blocks() as u64, threads_per_block: 1 };
        let (outputs, visits) = written(&problem.roots, problem.convolution, |roots| self.written(problem, roots));
        let kind = if problem.along_features { "features" } else { "positions" };
        Plan {
            shared_bytes: self.bytes_of(problem) as u32,
            visits: [self.read(problem)].into_iter().chain(visits).collect(),
            work: self.work(problem),
            notes: vec![format!("rows of {} positions and {} features, along {kind}", self.positions, self.features)],
            ..Plan::new(launch, outputs)
        }
    }

    /// Returns the cost of copying input rows and of computing the products. The cost of the
    /// products includes loading their operands into registers.
    fn work(&self, problem: &DepthwiseProblem) -> Work {
        let [down, across] = self.sum_dims(problem).map(|size| size as f64);
        let steps = (problem.rows() * problem.window()) as f64;
        let stride = problem.geometry.places[problem.axis].stride;
        // If the elements of a register are not contiguous, the kernel reads them one by one.
        let reads = if problem.along_features || stride == 1 { 1.0 } else { self.lanes as f64 };
        let copied = (self.count() * problem.rows() * self.row_size()) as f64;
        let begun = self.input(problem).runs.map_or(0.0, |runs| runs.overhead(copied, 1));
        Work {
            additions: begun
                + self.count() as f64 * down * across * steps * reads / self.lanes as f64 * VECTOR_OF_PRODUCTS,
            tile_bytes: copied * self.bytes as f64,
            ..Work::default()
        }
    }

    /// Returns the visit of the copied input.
    fn read(&self, problem: &DepthwiseProblem) -> Visit {
        let at = self.input(problem).at;
        let point = [Expr::constant(0), self.task_of_block(), Expr::range(1) * self.row_size() + Expr::range(2)];
        let of_point = |expr: &Expr| expr.substitute(&point, &[], &[]);
        let mut input = self.over_tasks(at.results.iter().map(of_point).collect());
        let constraints = at.constraints.iter();
        input.constraints.extend(constraints.map(|it| Constraint::new(of_point(&it.expr), it.bounds)));
        input.ranges.push(Variable::named("row", problem.rows()));
        input.ranges.push(Variable::named("place", self.row_size()));
        Visit { map: input, values: vec![problem.operands[0]], given: Vec::new() }
    }

    fn task_of_block(&self) -> Expr {
        Expr::dim(1) * self.tasks_per_block + Expr::range(0)
    }

    /// Returns the map `(th, bl)[task] -> results` over all tasks of all blocks.
    fn over_tasks(&self, results: Vec<Expr>) -> IndexingMap {
        let mut map = IndexingMap {
            dims: vec![Variable::named("th", 1), Variable::named("bl", self.blocks())],
            ranges: vec![Variable::named("task", self.tasks_per_block)],
            results,
            ..IndexingMap::default()
        };
        if self.blocks() * self.tasks_per_block > self.count() {
            map.constraints.push(Constraint::new(self.task_of_block(), Interval::from_size(self.count())));
        }
        map
    }

    /// Returns the map from `(task, position, feature)` to the coordinates of the row, the position
    /// in the row, and the output feature. `position` and `feature` are relative to the task.
    pub fn place(&self) -> IndexingMap {
        let results = self.place_of(Expr::dim(0), Expr::dim(1), Expr::dim(2));
        IndexingMap::from_tensor_sizes(results, &[self.count(), self.positions, self.features], &[]).simplify()
    }

    fn place_of(&self, task: Expr, position: Expr, feature: Expr) -> Vec<Expr> {
        let mut parts = delinearize(&task, &self.tasks);
        let part = parts.pop().unwrap_or_else(|| Expr::constant(0));
        let stretch = parts.pop().unwrap_or_else(|| Expr::constant(0));
        parts.extend([stretch * self.positions + position, part * self.features + feature]);
        parts
    }

    /// Returns the map `(th, bl)[task, position, feature] -> index of the results`.
    fn written(&self, problem: &DepthwiseProblem, roots: &ProductRoots) -> IndexingMap {
        let (position, feature) = if problem.along_features { (1, 2) } else { (2, 1) };
        let place = self.place_of(self.task_of_block(), Expr::range(position), Expr::range(feature));
        let results = roots.at.results.iter().map(|expr| expr.substitute(&place, &[], &[])).collect();
        let mut map = self.over_tasks(results);
        let [positions, features] = [("position", self.positions), ("feature", self.features)];
        let order = if problem.along_features { [positions, features] } else { [features, positions] };
        map.ranges.extend(order.map(|(name, size)| Variable::named(name, size)));
        let stretches = self.tasks[self.tasks.len() - 2];
        if stretches * self.positions > problem.positions() {
            let position = place[place.len() - 2].clone();
            map.constraints.push(Constraint::new(position, Interval::from_size(problem.positions())));
        }
        map.simplify()
    }
}

/// Returns the number of positions whose sums the kernel holds in registers at the same time. The
/// returned number is large enough to hide the latency of an addition, and makes the last register
/// tile extend only a few positions beyond the end.
fn height(positions: i64) -> i64 {
    let cost = |height: &i64| ceil_div(positions, *height) * (height + 1);
    (LEAST_HEIGHT..=MOST_HEIGHT).min_by_key(cost).unwrap_or(LEAST_HEIGHT).min(positions.max(1))
}
