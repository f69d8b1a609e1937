//! How a group is dealt to blocks.

use fusebox_core::analysis::{ReductionGroup, ReductionKind, ReductionProblem};
use fusebox_core::cost::{arithmetic_bytes, first_array};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{Instruction, Op};
use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, Variable, ceil_div};
use fusebox_core::launch::{Cost, blocks_for};

use super::cascade;

/// Blocks per core that columns are cut for: more of them would make short pieces of rows.
const COLUMN_BLOCKS_PER_CORE: i64 = 4;
/// Columns are cut at multiples of this many: whole cache lines of every element type.
const CUT: i64 = 64;
/// Columns that are read one after the other in vectors: neighbours in memory are few enough to be taken apart.
const FEW: i64 = 8;
/// Rows of one column in a turn, before the next column is taken: what is read of them stays in the first-level cache.
const ROWS_OF_A_COLUMN: i64 = 256;
/// Lanes of vectors, the widest first.
const VECTORS: [i64; 3] = [16, 8, 4];
/// Vectors of accumulators that stay in registers.
const ACCUMULATING: i64 = 16;
/// Bytes of accumulators of a block's columns; they stay in the first-level cache.
const TILE_BYTES: i64 = 8 << 10;
/// What the arithmetic in front of the reduction weighs, in bytes, up to which several rows of columns are taken in one turn: a
/// function at most.
const CHEAP: i64 = 30;

/// A group's share of the work per block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiling {
    pub problem: ReductionProblem,
    /// Blocks that have something to do.
    pub blocks: i64,
    pub share: Share,
    /// Whether functions compute what is reduced.
    pub holds_functions: bool,
}

/// What a block takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Share {
    /// So many results of a row problem.
    Rows(i64),
    /// A tile of columns.
    Columns(Columns),
}

/// What a block takes of a column problem `[majors, rows, columns]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Majors of a block. One, if the columns are cut.
    pub majors: i64,
    /// Columns of a block.
    pub width: i64,
    /// Blocks that share the columns of a major.
    pub cuts: i64,
    /// Rows taken in one turn of the loop over rows.
    pub rows_per_turn: i64,
    /// Whether the rows of a turn are summed before they are added to the accumulators. Where these
    /// are so few that they stay in registers, there are none left for it.
    pub is_turn_apart: bool,
    /// Rows whose elements stand side by side in the accumulators: more than one where columns are few.
    pub rows_abreast: i64,
    /// Columns that follow one another in a line of the array, where something is read that repeats for each line: with a loop for
    /// each line it is read in vectors, too.
    pub line: Option<i64>,
}

impl Tiling {
    /// Chooses for a group whose accumulators take `state_bytes` for a result. `wanted`: number of blocks, if given.
    pub fn new(
        fusion: &Fusion,
        group: &ReductionGroup,
        state_bytes: i64,
        device: &DeviceDescription,
        wanted: Option<i64>,
    ) -> Self {
        let cost = cost(fusion, group);
        let problem = group.problem;
        let holds_functions = cascade::holds_functions(fusion.computation(), group, |_| false);
        let wanted_blocks = wanted.unwrap_or_else(|| blocks_for(cost, device));
        match problem.kind {
            ReductionKind::Row => {
                let rows = problem.dims[1];
                let share = ceil_div(rows, wanted_blocks).max(1);
                Tiling { problem, blocks: ceil_div(rows, share), share: Share::Rows(share), holds_functions }
            }
            ReductionKind::Column => {
                let cores = i64::from(device.core_count) * COLUMN_BLOCKS_PER_CORE;
                let wanted_blocks = wanted.unwrap_or(wanted_blocks.min(cores.max(problem.dims[0])));
                let mut columns = Columns::new(problem, state_bytes, wanted_blocks, arithmetic_per_point(fusion));
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
                Tiling { problem, blocks, share: Share::Columns(columns), holds_functions }
            }
        }
    }

    /// `(th, bl)[…] -> kept coordinates`.
    pub fn kept(&self) -> IndexingMap {
        match &self.share {
            Share::Rows(share) => {
                let mut map = self.map_of(vec![Variable::named("row", *share)]);
                let row = Expr::dim(1) * *share + Expr::range(0);
                self.limit(&mut map, &row, self.blocks * share, self.problem.dims[1]);
                map.results = vec![row];
                map
            }
            Share::Columns(columns) => {
                let (mut map, major, column) = self.columns(columns);
                map.ranges.truncate(2);
                map.results = vec![major, column];
                map
            }
        }
    }

    /// `(th, bl)[…] -> coordinates` of the elements that a block reads.
    pub fn read(&self) -> IndexingMap {
        let dims = self.problem.dims;
        match &self.share {
            Share::Rows(_) => {
                let mut map = self.kept();
                let row = map.results[0].clone();
                map.ranges.extend([Variable::named("major", dims[0]), Variable::named("minor", dims[2])]);
                map.results = vec![Expr::range(1), row, Expr::range(2)];
                map
            }
            Share::Columns(columns) => {
                let (mut map, major, column) = self.columns(columns);
                map.ranges.push(Variable::named("row", dims[1]));
                map.results = vec![major, Expr::range(2), column];
                map
            }
        }
    }

    /// The same in the order in which a block reads them: along memory.
    pub fn visited(&self) -> IndexingMap {
        let Share::Columns(columns) = &self.share else { return self.read() };
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

    /// A constraint, if the blocks reach further than there are points.
    fn limit(&self, map: &mut IndexingMap, expr: &Expr, reach: i64, size: i64) {
        if reach > size {
            map.constraints.push(Constraint { expr: expr.clone(), bounds: Interval::from_size(size) });
        }
    }

    /// The map so far, major and column.
    fn columns(&self, columns: &Columns) -> (IndexingMap, Expr, Expr) {
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

impl Columns {
    fn new(problem: ReductionProblem, state_bytes: i64, wanted_blocks: i64, arithmetic: i64) -> Columns {
        let [majors, rows, columns] = problem.dims;
        let rows_per_turn = if arithmetic <= CHEAP { 4 } else { 1 };
        let cuts = ceil_div(wanted_blocks, majors).max(ceil_div(columns * state_bytes, TILE_BYTES));
        let width = (ceil_div(ceil_div(columns, cuts), CUT) * CUT).min(columns);
        let cuts = ceil_div(columns, width);
        let majors_per_block = if cuts > 1 { 1 } else { ceil_div(majors, wanted_blocks).max(1) };
        let rows_abreast = if cuts == 1 && columns < CUT / 2 { abreast(columns).min(rows).max(1) } else { 1 };
        let rows_per_turn = if rows_abreast > 1 { 1 } else { rows_per_turn.min(rows).max(1) };
        let is_turn_apart = rows_per_turn > 1;
        Columns { majors: majors_per_block, width, cuts, rows_per_turn, is_turn_apart, rows_abreast, line: None }
    }

    /// Whether a block has several whole lines of so many columns, each at least a vector, and all blocks the same.
    fn is_made_of_lines(&self, problem: ReductionProblem, line: i64) -> bool {
        self.rows_abreast == 1
            && (VECTORS[0]..self.width).contains(&line)
            && self.width % line == 0
            && problem.dims[2] % self.width == 0
    }

    /// Takes few columns one after the other, many rows of each in a turn. What is read then is smaller than the problem, so that
    /// side by side an element of it would be gathered for several columns; rows of one column are vectors of its own.
    fn one_by_one(&mut self, problem: ReductionProblem) {
        (self.rows_abreast, self.rows_per_turn) = (1, ROWS_OF_A_COLUMN.min(problem.dims[1]).max(1));
        self.is_turn_apart = true;
    }
}

/// Length of the lines of what is reduced, if anything is computed that repeats an array.
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

/// Rows of so many columns whose elements stand side by side: half a cut of lanes and, if a cut has room for them, as many that
/// whole vectors of them are made, since what is left of a vector would be added one by one.
fn abreast(columns: i64) -> i64 {
    let fitting = VECTORS.iter().map(|lanes| lanes / gcd(columns, *lanes)).find(|rows| rows * columns <= CUT);
    let enough = CUT / 2 / columns;
    fitting.map_or(enough, |rows| (enough / rows * rows).max(rows))
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Bytes that are read and written, and for every point of the problem what the arithmetic on it weighs against them.
fn cost(fusion: &Fusion, group: &ReductionGroup) -> Cost {
    let bytes = group.large_arrays(fusion.computation()).iter().fold(0i64, |sum, a| sum.saturating_add(a.byte_size()));
    Cost { bytes, arithmetic: group.problem.element_count().saturating_mul(arithmetic_per_point(fusion)) }
}

/// About how much arithmetic a point takes; the reduction itself is one with reading it.
fn arithmetic_per_point(fusion: &Fusion) -> i64 {
    let computation = fusion.computation();
    let counts = |it: &&Instruction| !matches!(it.op, Op::Reduce { .. } | Op::Iota { .. });
    computation.instructions.iter().filter(counts).map(|it| arithmetic_bytes(computation, it)).sum()
}
