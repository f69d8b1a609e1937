//! A schedule for blocks of one thread, for results whose rows are whole cache lines. The kernel
//! copies small tiles to the stack row by row, then transposes the tiles in registers, so that each
//! store writes a whole cache line. See README.md for the picture.

use fusebox_core::builder::{FunctionBuilder, Value};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Decline, EmitError, LaunchDimensions};
use fusebox_core::indexing::{Constraint, Expr, Interval, ceil_div, delinearize};

use crate::grid::{OperandGrid, TileNest, map_over};
use crate::problem::TransposeProblem;
use crate::rows_turn;
use crate::schedule::TransposeSchedule;

/// Number of cache lines along a tile's rows and columns. Processors fetch lines in pairs. If the
/// distance between rows is a power of two, more lines would conflict in the sets of the
/// first-level cache.
const LINES: i64 = 2;
/// Number of adjacent bytes within which one instruction shuffles elements of any size, for every
/// vector width.
const LANE_BYTES: i64 = 16;

/// A unit of `line` rows by `lane` columns. The kernel transposes a unit in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterUnit {
    /// Number of elements in [`LANE_BYTES`].
    pub lane: i64,
    /// Number of elements of a cache line.
    pub line: i64,
}

impl RegisterUnit {
    /// Returns the unit that fits a problem. All arrays must have one element size that vectors
    /// support. The results must be the transposes themselves, with rows of whole cache lines.
    fn of(problem: &TransposeProblem, device: &DeviceDescription) -> Result<RegisterUnit, Decline> {
        rows_turn(problem)?;
        let form = &problem.form;
        let bytes = problem.widest();
        let (lane, line) = (LANE_BYTES / bytes, i64::from(device.cache_line_bytes) / bytes);
        let powers = [lane, line].iter().all(|&count| count > 1 && (count as u64).is_power_of_two());
        let vectors = problem.moved.iter().all(|moved| moved.bytes == bytes && moved.fits_vectors());
        if !powers || lane > line || !vectors {
            return Err(Decline::new("the moved elements do not have one common size that vectors support"));
        }
        let long = form.permutation.last().map_or(1, |&dim| form.dims[dim]);
        if long % line != 0 || !problem.results_are_lines(line) {
            let reason =
                format!("the results are not plain transposes whose rows are whole cache lines of {line} elements");
            return Err(Decline::new(reason));
        }
        Ok(RegisterUnit { lane, line })
    }

    /// Returns the columns of a unit. Each column is a vector that fills one cache line. The unit's
    /// first element is at index `place` of a tile.
    ///
    /// At first, lane `l` of register `k` holds row `k + l * lane` of the unit. Each iteration
    /// interleaves the first half of the registers with the second half, within each lane (a
    /// perfect shuffle). After `log2(lane)` iterations, register `k` holds column `k` with its rows
    /// in order.
    pub fn columns(&self, b: &mut FunctionBuilder, tile: Value, place: &[Value]) -> Vec<Value> {
        let (lane, line) = (self.lane, self.line);
        let mut registers: Vec<Value> = (0..lane).map(|first| self.rows(b, tile, place, first)).collect();
        let half = |second: bool| -> Vec<i64> {
            let within = if second { lane / 2..lane } else { 0..lane / 2 };
            let lanes = (0..line / lane).map(|number| number * lane);
            lanes.flat_map(|start| within.clone().flat_map(move |at| [start + at, line + start + at])).collect()
        };
        let halves = [half(false), half(true)];
        for _ in 0..lane.ilog2() {
            let (first, second) = registers.split_at(registers.len() / 2);
            let pairs = first.iter().zip(second);
            registers = pairs.flat_map(|(&x, &y)| halves.each_ref().map(|half| b.vector_shuffle(x, y, half))).collect();
        }
        registers
    }

    /// Returns the rows `first`, `first + lane`, … of a unit, each in one lane of a vector.
    fn rows(&self, b: &mut FunctionBuilder, tile: Value, place: &[Value], first: i64) -> Value {
        let row = |b: &mut FunctionBuilder, number: i64| {
            let offset = b.index(number);
            let row = b.addi(place[0], offset);
            b.vector_read(tile, &[row, place[1]], self.lane)
        };
        let numbers = (first..self.line).step_by(self.lane as usize);
        let mut parts: Vec<Value> = numbers.map(|number| row(b, number)).collect();
        let mut width = self.lane;
        while parts.len() > 1 {
            width *= 2;
            let all: Vec<i64> = (0..width).collect();
            parts = parts.chunks(2).map(|pair| b.vector_shuffle(pair[0], pair[1], &all)).collect();
        }
        parts[0]
    }
}

/// # Errors
/// If the schedule does not support a problem.
pub fn check(problem: &TransposeProblem, device: &DeviceDescription) -> Result<(), Decline> {
    RegisterUnit::of(problem, device).map(drop)
}

/// Chooses the loops.
///
/// # Errors
/// If the schedule does not support the problem, or a knob has an impossible value.
pub fn looped(
    problem: &TransposeProblem,
    device: &DeviceDescription,
    configuration: &Configuration,
) -> Result<TransposeSchedule, EmitError> {
    let unit = RegisterUnit::of(problem, device)?;
    let dims = &problem.form.dims;
    let short = dims.len() - 1;
    let long = problem.form.permutation[short];
    let (lane, line) = (unit.lane, unit.line);
    // Number of elements of the widest vector that divides the operand's rows, at most a cache
    // line.
    let vector = 1 << dims[short].trailing_zeros().min(line.ilog2());
    let step = lane.max(vector);
    let most = |size: i64, step: i64| (ceil_div(size, step) * step).min(64 * line);
    let columns = configuration.knob("columns", 1..=most(dims[short], step))?.unwrap_or(LINES * line);
    let rows = configuration.knob("rows", 1..=most(dims[long], line))?.unwrap_or(LINES * line);
    let columns = (ceil_div(columns, step) * step).min(most(dims[short], step));
    let rows = (ceil_div(rows, line) * line).min(most(dims[long], line));
    let mut tile = vec![1; dims.len()];
    (tile[short], tile[long]) = (columns, rows);
    let tiles = LineTileSchedule { grid: OperandGrid { dims: dims.clone(), tile }, short, long, unit };
    let as_vectors = vector >= lane && problem.moved.iter().all(|moved| moved.is_parameter);
    let knobs = Configuration::from([("columns", columns), ("rows", rows)]);
    let others = [(columns / 2, rows), (columns * 2, rows), (columns, rows / 2), (columns, rows * 2)];
    let others = others.into_iter().filter(|&(columns, rows)| {
        let fits = |size: i64, step: i64, dim: usize| size > 0 && size % step == 0 && size <= most(dims[dim], step);
        fits(columns, step, short) && fits(rows, line, long)
    });
    let past_caches = device.exceeds_core_caches(problem.traffic());
    let past = if past_caches { ", past the caches" } else { "" };
    Ok(TransposeSchedule {
        reading: vec![tiles.reading(if as_vectors { vector } else { 1 })],
        writing: tiles.writing(),
        tile: Some(vec![rows, columns]),
        unit: Some(unit),
        past_caches,
        lanes: line,
        alternatives: knobs.others(others.map(|(columns, rows)| knobs.with("columns", columns).with("rows", rows))),
        notes: vec![format!("tiles of {rows} rows by {columns} columns, written as lines of {line} elements{past}")],
        ..TransposeSchedule::of(LaunchDimensions { blocks: tiles.grid.blocks() as u64, threads_per_block: 1 }, knobs)
    })
}

struct LineTileSchedule {
    grid: OperandGrid,
    /// The operand's minor dimension.
    short: usize,
    /// The operand's dimension that is minor in the result.
    long: usize,
    unit: RegisterUnit,
}

impl LineTileSchedule {
    /// Returns the loops that read all rows of a tile, along the operand's rows.
    fn reading(&self, vector: i64) -> TileNest {
        let (rows, columns) = (self.grid.tile[self.long], self.grid.tile[self.short]);
        let loops = [("row", rows), ("vector", columns / vector), ("lane", vector)];
        let mut map = map_over(1, self.grid.blocks(), &loops);
        let (row, column) = (Expr::range(0), Expr::range(1) * vector);
        map.results = self.grid.index(&self.within(&row, &column));
        map.constraints = self.grid.constraints(&map.results);
        map.results[self.short] = map.results[self.short].clone() + Expr::range(2);
        map.results.extend([row, column + Expr::range(2)]);
        TileNest { map, unroll: Vec::new(), along_rows: vector > 1 }
    }

    /// Returns the loops over all units of a tile. The last two range variables are positions in a
    /// unit. The columns that remain after the full units form a narrower unit of the last tile.
    fn writing(&self) -> Vec<TileNest> {
        let columns = self.grid.dims[self.short];
        let (full, remaining) = (columns / self.unit.lane, columns % self.unit.lane);
        let panels = (self.grid.tile[self.short] / self.unit.lane).min(full);
        let mut nests = Vec::new();
        if panels > 0 {
            let places = Interval::new(0, columns - self.unit.lane);
            nests.push(self.units(panels, self.unit.lane, 0, places));
        }
        if remaining > 0 {
            let start = full * self.unit.lane;
            let first = start % self.grid.tile[self.short];
            nests.push(self.units(1, remaining, first, Interval::point(start)));
        }
        nests
    }

    /// Returns the loop over `panels` adjacent units of `width` columns, from the tile's column
    /// `first` on. Visits only units whose first column is in the range `places` of the operand's
    /// columns.
    ///
    /// The loop visits all units along the result's rows before it moves on to the next columns. It
    /// is a single loop, because LLVM would unroll a short inner loop.
    fn units(&self, panels: i64, width: i64, first: i64, places: Interval) -> TileNest {
        let line = self.unit.line;
        let lines = self.grid.tile[self.long] / line;
        let mut map = map_over(1, self.grid.blocks(), &[("unit", panels * lines), ("column", width), ("row", line)]);
        let within = delinearize(&Expr::range(0), &[panels, lines]);
        let (row, column) = (within[1].clone() * line, within[0].clone() * self.unit.lane + first);
        map.results = self.grid.index(&self.within(&row, &column));
        let start = map.results[self.short].clone();
        let (columns, rows) = (self.grid.dims[self.short], self.grid.dims[self.long]);
        if self.grid.counts()[self.short] > 1 && columns % self.grid.tile[self.short] != 0 {
            map.constraints.push(Constraint::new(start, places));
        }
        if rows % self.grid.tile[self.long] != 0 {
            map.constraints.push(Constraint::new(map.results[self.long].clone(), Interval::from_size(rows)));
        }
        map.results[self.short] = map.results[self.short].clone() + Expr::range(1);
        map.results[self.long] = map.results[self.long].clone() + Expr::range(2);
        map.results.extend([row + Expr::range(2), column + Expr::range(1)]);
        TileNest::new(map, Vec::new())
    }

    /// Returns the position of a row and a column in the tile.
    fn within(&self, row: &Expr, column: &Expr) -> Vec<Expr> {
        let mut within = vec![Expr::constant(0); self.grid.dims.len()];
        within[self.short] = column.clone();
        within[self.long] = row.clone();
        within
    }
}
