//! Distribution of a group's work over blocks.

use fusebox_core::analysis::{ReductionGroup, ReductionKind, ReductionProblem};
use fusebox_core::cost::{arithmetic_bytes, first_array};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{Instruction, Op};
use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, Variable, ceil_div};
use fusebox_core::launch::{Balance, Cost, blocks_for};

use super::cascade;

/// Number of columns. Columns are split over blocks only at multiples of this number. This number
/// of columns fills whole cache lines for every element type.
const CUT: i64 = 64;
/// Maximum number of columns that the kernel reduces one after the other. Vector operations can
/// deinterleave this number of adjacent elements.
const FEW: i64 = 8;
/// Number of rows of one column that an iteration reduces before it continues with the next column.
/// The data of these rows stays in the first-level cache.
const ROWS_OF_A_COLUMN: i64 = 256;
/// Number of lanes of a tile if the accumulators take at most four bytes. A kernel for short rows
/// reduces this number of rows side by side.
pub const LANES: i64 = 32;
/// Minimum number of tiles per block with which the emitter rounds the rows of a block up to whole
/// tiles. With fewer tiles, rounding would leave noticeably less work for the last block than for
/// other blocks.
const MANY_TILES: i64 = 32;
/// Possible numbers of lanes of a vector, in descending order.
const VECTORS: [i64; 3] = [16, 8, 4];
/// Maximum number of vectors of accumulators that a kernel keeps in registers.
const ACCUMULATING: i64 = 16;
/// Maximum number of bytes of accumulators for a block's columns. Accumulators up to this size stay
/// in the first-level cache.
const TILE_BYTES: i64 = 8 << 10;
/// Like [`TILE_BYTES`], for arrays that are read from memory. These accumulators stay in the
/// second-level cache. A block reads longer pieces of rows, so the processor's prefetchers, which
/// start anew at each piece, wait for memory less often. On a processor with two cores of AMD's
/// Zen 4, kernels that read 50 to 100 MB took 0.7 to 1.0 of the time, and kernels whose arrays the
/// third-level cache holds took 1.0 to 1.2 of the time.
const FAR_TILE_BYTES: i64 = 32 << 10;
/// Arrays are read from memory if they are this many times as large as the private caches of all
/// cores. Smaller arrays often stay in a cache that the cores share.
const FAR: u64 = 8;
/// Largest arithmetic cost per point with which one iteration of the loop over rows reads several
/// rows. The cost excludes the reduction and is measured in bytes. This cost allows at most one
/// function such as `exp`.
const CHEAP: i64 = 30;

/// Distribution of a group's work over blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiling {
    pub problem: ReductionProblem,
    /// Number of blocks that have work.
    pub blocks: i64,
    pub work: BlockWork,
    /// Whether the computation of the elements contains functions such as `exp`.
    pub holds_functions: bool,
}

/// The work of one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockWork {
    /// Rows of a row problem. The field is the number of rows per block.
    Rows(i64),
    /// A tile of columns.
    Columns(ColumnWork),
}

/// The work of one block in a column problem `[majors, rows, columns]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnWork {
    /// Number of majors (indices of the first dimension) of a block. The number is one if the
    /// columns are split over blocks.
    pub majors: i64,
    /// Number of columns of a block.
    pub width: i64,
    /// Number of blocks over which the columns at one index of the first dimension are split.
    pub cuts: i64,
    /// Number of rows per iteration of the loop over rows.
    pub rows_per_turn: i64,
    /// Whether the kernel sums the rows of an iteration separately and then adds this sum to the
    /// accumulators. If the accumulators stay in registers, no registers remain for the separate
    /// sum.
    pub is_turn_apart: bool,
    /// Number of rows that have accumulators in separate lanes. The number is more than one if
    /// there are few columns.
    pub rows_abreast: i64,
    /// Number of columns of one line of the reduced array. Present only if the kernel also reads an
    /// array that repeats for each line. With a separate loop for each line, the kernel reads the
    /// repeated array in vectors too.
    pub line: Option<i64>,
}

impl Tiling {
    /// Chooses the tiling of a group whose accumulators take `state_bytes` per result. `wanted` is
    /// the number of blocks, if a knob sets it.
    pub fn new(
        fusion: &Fusion,
        group: &ReductionGroup,
        state_bytes: i64,
        device: &DeviceDescription,
        wanted: Option<i64>,
    ) -> Self {
        let cost = cost(fusion, group);
        let problem = group.problem;
        let tile_bytes = if device.exceeds_core_caches(cost.bytes as u64 / FAR) { FAR_TILE_BYTES } else { TILE_BYTES };
        let holds_functions = cascade::holds_functions(fusion.computation(), group, |_| false);
        let wanted_blocks = wanted.unwrap_or_else(|| blocks_for(cost, device));
        match problem.kind {
            ReductionKind::Row => {
                let rows = problem.dims[1];
                let rows_per_block = whole_tiles(ceil_div(rows, wanted_blocks).max(1));
                Tiling {
                    problem,
                    blocks: ceil_div(rows, rows_per_block),
                    work: BlockWork::Rows(rows_per_block),
                    holds_functions,
                }
            }
            ReductionKind::Column => {
                let cores = Balance::OfTiles.blocks(device);
                let wanted_blocks = wanted.unwrap_or(wanted_blocks.min(cores.max(problem.dims[0])));
                let mut columns =
                    ColumnWork::new(problem, (state_bytes, tile_bytes), wanted_blocks, arithmetic_per_point(fusion));
                if columns.width * state_bytes <= ACCUMULATING * i64::from(device.vector_bytes) {
                    (columns.rows_per_turn, columns.is_turn_apart) = (1, false);
                }
                if columns.rows_abreast > 1
                    && columns.width <= FEW
                    && group.large_arrays(fusion.computation()).is_empty()
                {
                    columns.one_by_one(problem);
                }
                columns.line = line(fusion, group).filter(|&line| columns.is_made_of_lines(problem, line));
                let blocks = ceil_div(problem.dims[0], columns.majors) * columns.cuts;
                Tiling { problem, blocks, work: BlockWork::Columns(columns), holds_functions }
            }
        }
    }

    /// Returns the map `(th, bl)[…] -> kept coordinates`.
    pub fn kept(&self) -> IndexingMap {
        match &self.work {
            BlockWork::Rows(rows_per_block) => {
                let mut map = self.map_of(vec![Variable::named("row", *rows_per_block)]);
                let row = Expr::dim(1) * *rows_per_block + Expr::range(0);
                self.limit(&mut map, &row, self.blocks * rows_per_block, self.problem.dims[1]);
                map.results = vec![row];
                map
            }
            BlockWork::Columns(columns) => {
                let (mut map, major, column) = self.columns(columns);
                map.ranges.truncate(2);
                map.results = vec![major, column];
                map
            }
        }
    }

    /// Returns the map `(th, bl)[…] -> coordinates` of the elements that a block reads.
    pub fn read(&self) -> IndexingMap {
        let dims = self.problem.dims;
        match &self.work {
            BlockWork::Rows(_) => {
                let mut map = self.kept();
                let row = map.results[0].clone();
                map.ranges.extend([Variable::named("major", dims[0]), Variable::named("minor", dims[2])]);
                map.results = vec![Expr::range(1), row, Expr::range(2)];
                map
            }
            BlockWork::Columns(columns) => {
                let (mut map, major, column) = self.columns(columns);
                map.ranges.push(Variable::named("row", dims[1]));
                map.results = vec![major, Expr::range(2), column];
                map
            }
        }
    }

    /// Returns the map of [`read`](Self::read), but with the range variables in the order of a
    /// block's loops. The loops visit elements in the order of memory.
    pub fn visited(&self) -> IndexingMap {
        let BlockWork::Columns(columns) = &self.work else { return self.read() };
        let (mut map, major, column) = self.columns(columns);
        let along = map.ranges.pop();
        map.ranges.push(Variable::named("row", self.problem.dims[1]));
        map.ranges.extend(along);
        let swapped = [Expr::range(0), Expr::range(2)];
        map.results = vec![major, Expr::range(1), column.substitute(&[Expr::dim(0), Expr::dim(1)], &swapped, &[])];
        for constraint in &mut map.constraints {
            constraint.expr = constraint.expr.substitute(&[Expr::dim(0), Expr::dim(1)], &swapped, &[]);
        }
        map
    }

    fn map_of(&self, ranges: Vec<Variable>) -> IndexingMap {
        let dims = vec![Variable::named("th", 1), Variable::named("bl", self.blocks)];
        IndexingMap { dims, ranges, ..IndexingMap::default() }
    }

    /// Adds a constraint if the blocks extend past the last point.
    fn limit(&self, map: &mut IndexingMap, expr: &Expr, reach: i64, size: i64) {
        if reach > size {
            map.constraints.push(Constraint { expr: expr.clone(), bounds: Interval::from_size(size) });
        }
    }

    /// Returns a map without results, and the expressions for the first index (major) and for the
    /// column.
    fn columns(&self, columns: &ColumnWork) -> (IndexingMap, Expr, Expr) {
        let [majors, _, width] = self.problem.dims;
        let mut map =
            self.map_of(vec![Variable::named("major", columns.majors), Variable::named("column", columns.width)]);
        let (of_majors, cut) = (Expr::dim(1).floor_div(columns.cuts), Expr::dim(1).modulo(columns.cuts));
        let major = of_majors * columns.majors + Expr::range(0);
        let column = cut * columns.width + Expr::range(1);
        self.limit(&mut map, &major, ceil_div(majors, columns.majors) * columns.majors, majors);
        self.limit(&mut map, &column, columns.cuts * columns.width, width);
        (map, major, column)
    }
}

impl ColumnWork {
    /// Distributes columns over blocks. The accumulators of one column take `state_bytes`. The
    /// accumulators of a block take at most `tile_bytes`. `arithmetic` is the arithmetic cost per
    /// point in bytes.
    fn new(
        problem: ReductionProblem,
        (state_bytes, tile_bytes): (i64, i64),
        wanted_blocks: i64,
        arithmetic: i64,
    ) -> ColumnWork {
        let [majors, rows, columns] = problem.dims;
        let rows_per_turn = if arithmetic <= CHEAP { 4 } else { 1 };
        let cuts = ceil_div(wanted_blocks, majors).max(ceil_div(columns * state_bytes, tile_bytes));
        let width = (ceil_div(ceil_div(columns, cuts), CUT) * CUT).min(columns);
        let cuts = ceil_div(columns, width);
        let majors_per_block = if cuts > 1 { 1 } else { ceil_div(majors, wanted_blocks).max(1) };
        let rows_abreast = if cuts == 1 && columns < CUT / 2 { abreast(columns).min(rows).max(1) } else { 1 };
        let rows_per_turn = if rows_abreast > 1 { 1 } else { rows_per_turn.min(rows).max(1) };
        let is_turn_apart = rows_per_turn > 1;
        ColumnWork { majors: majors_per_block, width, cuts, rows_per_turn, is_turn_apart, rows_abreast, line: None }
    }

    /// Whether every block has several whole lines of `line` columns, and each line fills at least
    /// a vector.
    fn is_made_of_lines(&self, problem: ReductionProblem, line: i64) -> bool {
        self.rows_abreast == 1
            && (VECTORS[0]..self.width).contains(&line)
            && self.width % line == 0
            && problem.dims[2] % self.width == 0
    }

    /// Makes the kernel reduce the block's columns one after the other. An iteration reduces many
    /// rows of a column. Reducing one column at a time suits operands that have fewer elements than
    /// the problem has points. If each lane reduced a different column, the kernel would gather
    /// elements, because several columns read the same element. If the lanes reduce different rows
    /// of one column, the kernel reads vectors.
    fn one_by_one(&mut self, problem: ReductionProblem) {
        (self.rows_abreast, self.rows_per_turn) = (1, ROWS_OF_A_COLUMN.min(problem.dims[1]).max(1));
        self.is_turn_apart = true;
    }
}

/// Rounds a number of rows per block up to whole tiles, if there are many tiles. If all blocks have
/// whole tiles, a kernel for short rows needs no loop over remaining rows.
fn whole_tiles(rows: i64) -> i64 {
    if rows < MANY_TILES * LANES { rows } else { ceil_div(rows, LANES) * LANES }
}

/// Returns the length of the reduced array's lines, if the fusion broadcasts an array.
fn line(fusion: &Fusion, group: &ReductionGroup) -> Option<i64> {
    let computation = fusion.computation();
    let repeats = |it: &Instruction| {
        matches!(it.op, Op::Broadcast { .. })
            && it
                .operands
                .iter()
                .any(|&of| first_array(computation.instruction(of)).is_some_and(|of| of.element_count() > 1))
    };
    let dims = group.heroes.first()?.operand_dims(computation);
    dims.last().copied().filter(|_| computation.instructions.iter().any(repeats))
}

/// Returns the number of rows with separate lanes if a block has `columns` columns. All these rows
/// together have about `CUT / 2` lanes. If the rows can fill whole vectors with at most [`CUT`]
/// lanes, the number of lanes is a multiple of a vector's number of lanes. The kernel would process
/// the lanes of a partial vector one by one.
fn abreast(columns: i64) -> i64 {
    let fitting = VECTORS.iter().map(|lanes| lanes / gcd(columns, *lanes)).find(|rows| rows * columns <= CUT);
    let enough = CUT / 2 / columns;
    fitting.map_or(enough, |rows| (enough / rows * rows).max(rows))
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Returns the number of bytes that a kernel reads and writes, and the arithmetic cost of all
/// points. The unit of both numbers is one byte.
fn cost(fusion: &Fusion, group: &ReductionGroup) -> Cost {
    let bytes = group.large_arrays(fusion.computation()).iter().fold(0i64, |sum, a| sum.saturating_add(a.byte_size()));
    Cost { bytes, arithmetic: group.problem.element_count().saturating_mul(arithmetic_per_point(fusion)) }
}

/// Estimates the cost of the arithmetic per point. The estimate excludes the reduction, because the
/// cost of reading a point includes the cost of reducing the point.
fn arithmetic_per_point(fusion: &Fusion) -> i64 {
    let computation = fusion.computation();
    let counts = |it: &&Instruction| !matches!(it.op, Op::Reduce { .. } | Op::Iota { .. });
    computation.instructions.iter().filter(counts).map(|it| arithmetic_bytes(computation, it)).sum()
}
