//! A schedule for blocks of one thread, for results whose rows are whole cache lines. The kernel
//! copies small tiles to the stack row by row, then transposes the tiles in registers, so that each
//! store writes a whole cache line. See README.md for the picture.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Decline, EmitError, LaunchDimensions};
use fusebox_core::indexing::{Constraint, Expr, Interval, ceil_div, delinearize};

use crate::grid::{OperandGrid, TileNest, map_over};
use crate::problem::TransposeProblem;
use crate::schedule::TransposeSchedule;
use crate::units::RegisterUnit;

/// Number of cache lines along a tile's rows and columns. Processors fetch lines in pairs. If the
/// distance between rows is a power of two, more lines would conflict in the sets of the
/// first-level cache.
const LINES: i64 = 2;

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
    /// The loop visits all units along the result's rows before it moves on to the next columns.
    /// The map has a single loop, because LLVM would unroll a short inner loop.
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
