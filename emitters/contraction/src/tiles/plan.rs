//! Computation of the plan from the sizes: visits, outputs and costs.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, LaunchDimensions, Plan, Visit, Work};
use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, Variable, ceil_div};

use super::{LeftForm, TILE_K, TILE_M, TILE_N, TileSizes};
use crate::micro::MicroKernel;
use crate::problem::{ProductProblem, ProductRoots, ProductSizes, VECTOR_OF_PRODUCTS};
use crate::results::written;

/// In the time of an addition (half a cycle), tile registers compute
/// `PRODUCTS_PER_TILE_STEP * steps` products, where `steps` is the number of steps that a tile
/// register holds. In vector registers, each lane computes one product in the time of an addition.
const PRODUCTS_PER_TILE_STEP: i64 = 8;

impl TileSizes {
    /// Returns the plan.
    pub fn plan(&self, problem: &ProductProblem, device: &DeviceDescription) -> Plan {
        let ProductSizes { batch, rows, columns, steps } = self.sizes;
        let (outputs, visits) = written(&problem.roots, problem.dot, |roots| self.written(roots));
        let launch = LaunchDimensions { blocks: self.blocks() as u64, threads_per_block: 1 };
        Plan {
            shared_bytes: self.shared_bytes() as u32,
            visits: [self.reads(problem), visits].concat(),
            work: self.work(problem),
            configuration: self.configuration(),
            alternatives: self.alternatives(problem, device),
            notes: vec![format!(
                "{batch} products of {rows} by {steps} by {columns}, {} by {} sums in {}",
                self.height,
                self.width(),
                match self.micro.kernel {
                    MicroKernel::Vectors => "registers",
                    MicroKernel::Words => "registers, words at a time",
                    MicroKernel::Tiles => "tile registers",
                }
            )],
            ..Plan::new(launch, outputs)
        }
    }

    /// Returns the visits of the operands. Every tile packs its lines of both operands.
    fn reads(&self, problem: &ProductProblem) -> Vec<Visit> {
        let steps = Variable::named("step", self.sizes.steps);
        let sides = [[1, 0], [0, 1]].into_iter().zip(&problem.operands).map(|([down, across], operand)| {
            // The dimension that is contiguous in memory is the innermost loop.
            let (line, step) = if operand.runs_along_steps { (1, 2) } else { (2, 1) };
            let [batch, row, column] = self.place_of(Self::tile_of_block(self.tiles_per_block));
            let point = [batch, row * down + column * across + Expr::range(line), Expr::range(step)];
            let of_point = |expr: &Expr| expr.substitute(&point, &[], &[]);
            let mut map = self.over_tiles(|_| operand.at.results.iter().map(of_point).collect());
            let ProductSizes { rows, columns, .. } = self.sizes;
            let lines = if down == 1 { self.tile_m.min(rows) } else { self.tile_n.min(columns) };
            let constraints = operand.at.constraints.iter();
            map.constraints.extend(constraints.map(|it| Constraint::new(of_point(&it.expr), it.bounds)));
            map.ranges.push(Variable::named("line", lines));
            map.ranges.insert(step as usize, steps.clone());
            Visit { map, values: vec![operand.instruction], given: Vec::new() }
        });
        sides.collect()
    }

    /// Returns the cost of computing the products and of packing. The cost counts vectors with as
    /// many lanes as the type of the sums allows.
    fn work(&self, problem: &ProductProblem) -> Work {
        let ProductSizes { batch, rows, columns, steps } = self.sizes;
        // The kernel also multiplies rows and columns of register tiles beyond the end.
        let multiplied = (batch * steps) as f64
            * (ceil_div(rows, self.height) * self.height) as f64
            * (ceil_div(columns, self.width()) * self.width()) as f64;
        let packed = self.tiles() as f64 * self.packed_lines() as f64 * self.sizes.steps as f64;
        let at_once = match self.micro.kernel {
            MicroKernel::Vectors | MicroKernel::Words => self.lanes * self.micro.group(),
            MicroKernel::Tiles => self.micro.tile_steps() * PRODUCTS_PER_TILE_STEP,
        };
        let sides = problem.operands.iter().zip([(self.tile_m, self.height), (self.tile_n, self.width())]);
        let runs = sides.filter_map(|(operand, (lines, together))| {
            let copied = self.tiles() as f64 * lines as f64 * steps as f64;
            operand.runs.as_ref().map(|runs| runs.overhead(copied, together))
        });
        Work {
            // A product of complex numbers takes four products of real numbers.
            additions: multiplied * self.micro.planes.pow(2) as f64 / at_once as f64 * VECTOR_OF_PRODUCTS
                + runs.sum::<f64>(),
            tile_bytes: packed * self.planes(self.micro.bytes()) as f64,
            ..Work::default()
        }
    }

    /// Returns the number of lines of both operands that a tile packs.
    fn packed_lines(&self) -> i64 {
        let left = if self.left == LeftForm::InPlace { 0 } else { self.tile_m };
        let right = if self.is_unpacked { 0 } else { self.tile_n };
        left + right
    }

    fn configuration(&self) -> Configuration {
        Configuration::from([(TILE_M, self.tile_m), (TILE_N, self.tile_n), (TILE_K, self.tile_k)])
    }

    /// Returns configurations with tiles of half and of twice the size, if these tiles fit.
    fn alternatives(&self, problem: &ProductProblem, device: &DeviceDescription) -> Vec<Configuration> {
        let own = self.configuration();
        let (height, width) = (self.height, self.width());
        let scaled = |size: i64, unit: i64, most: i64, (by, of): (i64, i64)| {
            (ceil_div(size * by, of * unit) * unit).min(ceil_div(most, unit) * unit)
        };
        let ProductSizes { rows, columns, .. } = self.sizes;
        let others = [(1, 2), (2, 1)].into_iter().flat_map(|by| {
            [
                own.with(TILE_M, scaled(self.tile_m, height, rows, by)),
                own.with(TILE_N, scaled(self.tile_n, width, columns, by)),
                own.with(TILE_K, scaled(self.tile_k, self.whole_steps(1), self.most_together(problem), by)),
            ]
        });
        let fits = |other: &Configuration| TileSizes::new(problem, device, other).is_ok();
        own.others(others.filter(fits))
    }

    /// Returns the map `(th, bl)[tile, row, column] -> index of the results`.
    fn written(&self, roots: &ProductRoots) -> IndexingMap {
        let ProductSizes { rows, columns, .. } = self.sizes;
        let tile = Self::tile_of_block(self.tiles_per_block);
        let [_, row, column] = self.place_of(tile.clone());
        let (row, column) = (row + Expr::range(1), column + Expr::range(2));
        let mut map = self.over_tiles(|[batch, ..]| {
            let point = [batch, row.clone(), column.clone()];
            roots.at.results.iter().map(|expr| expr.substitute(&point, &[], &[])).collect()
        });
        map.ranges.push(Variable::named("row", self.tile_m.min(rows)));
        map.ranges.push(Variable::named("column", self.tile_n.min(columns)));
        let limits = [
            (self.blocks() * self.tiles_per_block > self.tiles(), tile, self.tiles()),
            (self.grid[0] * self.tile_m > rows && self.grid[0] > 1, row, rows),
            (self.grid[1] * self.tile_n > columns && self.grid[1] > 1, column, columns),
        ];
        let limits = limits.into_iter().filter(|(is_needed, ..)| *is_needed);
        map.constraints.extend(limits.map(|(_, expr, size)| Constraint::new(expr, Interval::from_size(size))));
        map.simplify()
    }

    fn tile_of_block(tiles_per_block: i64) -> Expr {
        Expr::dim(1) * tiles_per_block + Expr::range(0)
    }

    /// Returns a map `(th, bl)[tile] -> …` over all tiles of all blocks. `results` computes the
    /// map's results from the tile's batch, first row and first column.
    fn over_tiles(&self, results: impl FnOnce([Expr; 3]) -> Vec<Expr>) -> IndexingMap {
        IndexingMap {
            dims: vec![Variable::named("th", 1), Variable::named("bl", self.blocks())],
            ranges: vec![Variable::named("tile", self.tiles_per_block)],
            results: results(self.place_of(Self::tile_of_block(self.tiles_per_block))),
            ..IndexingMap::default()
        }
    }
}
