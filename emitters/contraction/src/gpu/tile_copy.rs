//! Copies of an operand's tiles from memory through registers to shared memory. The kernel loads
//! the next part of the steps while it multiplies the current part.
//!
//! Each thread copies groups of elements that are contiguous in memory. A tile may extend beyond
//! the end of the operand. Beyond the end, threads read the operand's last line or step again, so
//! that no thread branches. Threads replace the values of steps beyond the end by zero, and never
//! write results for lines beyond the end.

use fusebox_core::builder::{FunctionBuilder, IntPredicate, KernelBuilder, Scalar, Subgraph, Value};
use fusebox_core::emitter::{Fusion, Visit};
use fusebox_core::hlo::{ElementType, Op};
use fusebox_core::indexing::{Constraint, Expr, ExprKind, IndexingMap, Interval, ceil_div};

use super::grid::ResultGrid;
use crate::convert::convert;
use crate::operand::Operand;
use crate::problem::ProductProblem;

/// Layout of a tile in shared memory.
pub trait SharedTileLayout {
    /// Returns the dimensions of one tile.
    fn dims(&self) -> Vec<i64>;
    /// Returns the index of an element.
    fn place(&self, line: Expr, step: Expr) -> Vec<Expr>;
    /// Whether neighbouring elements in shared memory are steps of one line; if false, they are
    /// lines of one step.
    fn runs_along_steps(&self) -> bool;
}

/// Distribution of the copies of a tile over threads.
#[derive(Clone, Copy, Debug)]
pub struct TileCopy {
    /// Numbers of lines and steps of a tile.
    pub lines: i64,
    pub steps: i64,
    /// Number of elements of a group. The elements of a group are contiguous in memory.
    pub group: i64,
    /// Whether a group consists of steps of one line; if false, a group consists of lines, each
    /// with the `pack` steps of a word.
    pub along_steps: bool,
    /// Number of steps per word.
    pub pack: i64,
    /// Number of adjacent threads that copy from the same position of the contiguous dimension. At
    /// one position, `across` threads copy different lines if `along_steps`, and otherwise
    /// different words of steps. The next `across` threads copy from the next position of the
    /// contiguous dimension.
    pub across: i64,
    pub threads: i64,
}

impl TileCopy {
    fn groups(&self) -> i64 {
        self.lines * self.steps / self.group / if self.along_steps { 1 } else { self.pack }
    }

    /// Returns the number of groups that a thread copies.
    pub fn per_thread(&self) -> i64 {
        ceil_div(self.groups(), self.threads)
    }

    /// Whether some threads have no group in the last iteration.
    fn is_partial(&self) -> bool {
        self.groups() % self.threads != 0
    }

    /// Returns the line and the step at which a thread's group begins in the tile.
    fn first(&self, thread: Expr, turn: Expr) -> [Expr; 2] {
        let number = turn * self.threads + thread;
        // Threads without a group read the group of another thread, which is in a cache.
        let number = if self.is_partial() { number.modulo(self.groups()) } else { number };
        let along = if self.along_steps { self.steps } else { self.lines } / self.group;
        let (block, within) = (number.clone().floor_div(self.across * along), number.modulo(self.across * along));
        let other = block * self.across + within.clone().modulo(self.across);
        let own = within.floor_div(self.across) * self.group;
        if self.along_steps { [other, own] } else { [own, other * self.pack] }
    }

    /// Returns the map `(th, turn) -> (line, step)` of a group's first element in the tile.
    fn map(&self) -> IndexingMap {
        let results = self.first(Expr::dim(0), Expr::dim(1)).to_vec();
        IndexingMap::from_tensor_sizes(results, &[self.threads, self.per_thread()], &[]).simplify()
    }

    /// Returns the map `(th)[turn, element] -> place in shared memory`. A thread writes a group at
    /// once if the group is contiguous in shared memory too, and otherwise element by element.
    pub fn writes(&self, layout: &dyn SharedTileLayout) -> IndexingMap {
        let together = self.along_steps == layout.runs_along_steps();
        let [line, step] = self.first(Expr::dim(0), Expr::range(0));
        let elements = if together { 1 } else { self.group };
        let element = Expr::range(1);
        let [line, step] = if self.along_steps { [line, step + element] } else { [line + element, step] };
        IndexingMap::from_tensor_sizes(
            layout.place(line, step),
            &[self.threads.min(self.groups())],
            &[self.per_thread(), elements],
        )
    }
}

/// One operand, and everything that is needed to copy its tiles to shared memory.
pub struct TileSource<'a> {
    grid: &'a ResultGrid,
    operand: &'a Operand,
    /// Index of the operand: 0 for the left operand, whose lines are rows, and 1 for the right
    /// operand.
    side: usize,
    fill: TileCopy,
    function: Subgraph,
    /// If the operand is a parameter in which groups are contiguous: this parameter.
    in_place: Option<Value>,
    /// Type to which the elements are converted.
    factor: ElementType,
}

/// Elements of a group, held in registers from their load to their store.
pub enum LoadedElements {
    /// A vector of the elements in the order in which they are written.
    Vector(Value),
    /// Single elements.
    Elements(Vec<Value>),
}

/// If the operand is a parameter in which groups are contiguous, returns the number of this
/// parameter.
fn in_place(fusion: &Fusion, operand: &Operand, fill: &TileCopy, size: i64) -> Option<usize> {
    let computation = fusion.computation();
    let Op::Parameter { .. } = computation.instruction(operand.instruction).op else { return None };
    let last = operand.at.results.last()?;
    let run = Expr::dim(if fill.along_steps { 2 } else { 1 });
    let is_run = *last == run
        || matches!(last.kind(), ExprKind::Mod(whole, by) if *whole == run
            && by.as_constant().is_some_and(|by| by % fill.group == 0));
    let number = computation.parameters().iter().position(|&parameter| parameter == operand.instruction);
    number.filter(|_| is_run && size % fill.group == 0)
}

impl<'a> TileSource<'a> {
    pub fn new(
        kernel: &mut KernelBuilder,
        (fusion, problem): (&Fusion, &'a ProductProblem),
        (grid, side): (&'a ResultGrid, usize),
        fill: TileCopy,
        factor: ElementType,
    ) -> TileSource<'a> {
        let operand = &problem.operands[side];
        let size = if fill.along_steps { grid.sizes.steps } else { [grid.sizes.rows, grid.sizes.columns][side] };
        let in_place = in_place(fusion, operand, &fill, size).map(|number| kernel.parameters()[number]);
        let function = kernel.values(&[operand.instruction]);
        TileSource { grid, operand, side, fill, function, in_place, factor }
    }

    fn lines(&self) -> i64 {
        [self.grid.sizes.rows, self.grid.sizes.columns][self.side]
    }

    /// Reads the thread's groups for one part of the steps. `first` is `(batch, first line, first
    /// step)` of the tile.
    pub fn load(&self, b: &mut FunctionBuilder, thread: Value, first: [Value; 3]) -> Vec<LoadedElements> {
        (0..self.fill.per_thread())
            .map(|turn| {
                let turn = b.index(turn);
                let at = b.apply_indexing(&self.fill.map(), &[thread, turn]);
                let (line, step) = (b.addi(first[1], at[0]), b.addi(first[2], at[1]));
                self.packed(b, [first[0], line, step])
            })
            .collect()
    }

    /// Reads the elements of a group. If lines are contiguous, reads all steps of a word for each
    /// line.
    fn packed(&self, b: &mut FunctionBuilder, [batch, line, step]: [Value; 3]) -> LoadedElements {
        let rows = if self.fill.along_steps { 1 } else { self.fill.pack };
        let points: Vec<[Value; 3]> = (0..rows)
            .map(|row| {
                let row = b.index(row);
                [batch, line, b.addi(step, row)]
            })
            .collect();
        if self.in_place.is_some() && self.operand.element == self.factor {
            let rows: Vec<Value> = points.iter().filter_map(|&point| self.vector(b, point)).collect();
            return LoadedElements::Vector(interleaved(b, &rows));
        }
        let rows: Vec<Vec<Value>> = points.iter().map(|&point| self.group(b, point)).collect();
        let elements = (0..self.fill.group as usize).flat_map(|lane| rows.iter().map(move |row| row[lane]));
        LoadedElements::Elements(elements.collect())
    }

    /// Reads the elements of a group as a vector, if they are contiguous in memory.
    fn vector(&self, b: &mut FunctionBuilder, [batch, line, step]: [Value; 3]) -> Option<Value> {
        let tensor = self.in_place?;
        let TileCopy { group, along_steps, lines: of_tile, steps: at_once, .. } = self.fill;
        let (lines, steps) = (self.lines(), self.grid.sizes.steps);
        let (few_lines, few_steps) = (lines % of_tile != 0, steps % at_once != 0);
        let (of_line, of_step) = if along_steps { (1, group) } else { (group, 1) };
        let at = [batch, within(b, line, lines, of_line, few_lines), within(b, step, steps, of_step, few_steps)];
        let index = b.apply_indexing(&self.operand.at, &at);
        let elements = b.vector_read(tensor, &index, group);
        if !few_steps {
            return Some(elements);
        }
        // Each group is either entirely within the operand's steps or entirely beyond their end.
        let ty = b.type_of(elements).clone();
        let (zero, steps) = (b.zero(&ty), b.index(steps));
        let is_step = b.cmpi(IntPredicate::Slt, step, steps);
        Some(b.select(is_step, elements, zero))
    }

    /// Reads the elements of the group that begins at a point.
    pub fn group(&self, b: &mut FunctionBuilder, [batch, line, step]: [Value; 3]) -> Vec<Value> {
        let TileCopy { group, along_steps, lines: of_tile, steps: at_once, .. } = self.fill;
        let (lines, steps) = (self.lines(), self.grid.sizes.steps);
        let (few_lines, few_steps) = (lines % of_tile != 0, steps % at_once != 0);
        if let Some(elements) = self.vector(b, [batch, line, step]) {
            return (0..group)
                .map(|lane| {
                    let element = b.vector_extract(elements, lane);
                    convert(b, self.operand.element, self.factor, element)
                })
                .collect();
        }
        let zero = b.zero(&Scalar::of_element(self.factor).into());
        let counted = |b: &mut FunctionBuilder, step: Value, value: Value| {
            if few_steps {
                let steps = b.index(steps);
                let is_step = b.cmpi(IntPredicate::Slt, step, steps);
                b.select(is_step, value, zero)
            } else {
                value
            }
        };
        (0..group)
            .map(|lane| {
                let lane = b.index(lane);
                let (line, step) = if along_steps { (line, b.addi(step, lane)) } else { (b.addi(line, lane), step) };
                let at = [batch, within(b, line, lines, 1, few_lines), within(b, step, steps, 1, few_steps)];
                let index = b.apply_indexing(&self.operand.at, &at);
                let element = b.call_subgraph(&self.function, &index, &[])[0];
                let element = convert(b, self.operand.element, self.factor, element);
                counted(b, step, element)
            })
            .collect()
    }

    /// Writes loaded elements to tile number `buffer`, one of two tiles.
    pub fn store(
        &self,
        b: &mut FunctionBuilder,
        thread: Value,
        buffer: Value,
        loaded: &[LoadedElements],
        (layout, tensor): (&dyn SharedTileLayout, Value),
    ) -> Value {
        let write = |b: &mut FunctionBuilder| {
            let map = super::ranges_as_dims(&self.fill.writes(layout));
            let together = self.fill.along_steps == layout.runs_along_steps();
            loaded.iter().enumerate().fold(tensor, |tensor, (turn, loaded)| {
                let turn = b.index(turn as i64);
                let at = |b: &mut FunctionBuilder, element: usize| {
                    let element = b.index(element as i64);
                    let place = b.apply_indexing(&map, &[thread, turn, element]);
                    [&[buffer], place.as_slice()].concat()
                };
                if together {
                    let vector = match loaded {
                        LoadedElements::Vector(vector) => *vector,
                        LoadedElements::Elements(elements) => b.vector_from_elements(elements),
                    };
                    let place = at(b, 0);
                    return b.vector_write(vector, tensor, &place);
                }
                (0..self.fill.group).fold(tensor, |tensor, number| {
                    let element = match loaded {
                        LoadedElements::Vector(vector) => b.vector_extract(*vector, number),
                        LoadedElements::Elements(elements) => elements[number as usize],
                    };
                    let place = at(b, number as usize);
                    b.insert(element, tensor, &place)
                })
            })
        };
        if !self.fill.is_partial() {
            return write(b);
        }
        let groups = b.index(self.fill.groups());
        let has_group = b.cmpi(IntPredicate::Slt, thread, groups);
        let types = b.types_of(&[tensor]);
        b.scf_if(has_group, &types, |b| vec![write(b)], |_| vec![tensor])[0]
    }
}

/// Interleaves one, two or four vectors of equal length: the first elements of all vectors, then
/// the second elements, and so on.
fn interleaved(b: &mut FunctionBuilder, rows: &[Value]) -> Value {
    if let [row] = rows {
        return *row;
    }
    let halves = [0, 1].map(|odd| {
        let half: Vec<Value> = rows.iter().skip(odd).step_by(2).copied().collect();
        interleaved(b, &half)
    });
    let lanes = b.type_of(halves[0]).dims().iter().product::<i64>();
    let order: Vec<i64> = (0..lanes).flat_map(|lane| [lane, lanes + lane]).collect();
    b.vector_shuffle(halves[0], halves[1], &order)
}

/// Returns the smaller of `position` and the position of the last group. Positions are multiples of
/// `group`.
fn within(b: &mut FunctionBuilder, position: Value, size: i64, group: i64, is_needed: bool) -> Value {
    if !is_needed {
        return position;
    }
    let last = b.index(size / group - 1);
    if group == 1 {
        return b.minsi(position, last);
    }
    // Clamps the number of the group, so that the compiler sees the alignment of the position.
    let by = b.index(group);
    let number = b.floordivsi(position, by);
    let number = b.minsi(number, last);
    b.muli(number, by)
}

/// Returns the visit of an operand, with the map `(th, bl)[part, turn, row, element] -> index`.
pub fn visit(grid: &ResultGrid, problem: &ProductProblem, side: usize, fill: &TileCopy) -> Visit {
    let operand = &problem.operands[side];
    let place = grid.place(&Expr::dim(1));
    let [line, step] = fill.first(Expr::dim(0), Expr::range(1));
    let (row, element) = (Expr::range(2), Expr::range(3));
    let [line, step] = if fill.along_steps { [line, step + element] } else { [line + element, step + row] };
    let (line, step) = (place[1 + side].clone() + line, Expr::range(0) * fill.steps + step);
    let point = [place[0].clone(), line.clone(), step.clone()];
    let results = operand.at.results.iter().map(|expr| expr.substitute(&point, &[], &[])).collect();
    let parts = ceil_div(grid.sizes.steps, fill.steps);
    let rows = if fill.along_steps { 1 } else { fill.pack };
    let ranges = [("part", parts), ("turn", fill.per_thread()), ("row", rows), ("element", fill.group)];
    let mut map = grid.over(fill.threads, &ranges, results);
    let lines = [grid.sizes.rows, grid.sizes.columns][side];
    if lines % fill.lines != 0 {
        map.constraints.push(Constraint::new(line, Interval::from_size(lines)));
    }
    if grid.sizes.steps % fill.steps != 0 {
        map.constraints.push(Constraint::new(step, Interval::from_size(grid.sizes.steps)));
    }
    Visit { map, values: vec![operand.instruction], given: Vec::new() }
}
