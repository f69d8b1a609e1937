//! A schedule for blocks of one thread, for transposes that move the minor dimension. The kernel
//! copies a tile row by row into panels, then writes the results panel by panel. See README.md for
//! the picture.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Decline, EmitError, LaunchDimensions};
use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, ceil_div};
use fusebox_core::launch::Balance;

use crate::grid::{OperandGrid, TileNest, map_over};
use crate::problem::TransposeProblem;
use crate::rows_turn;
use crate::schedule::TransposeSchedule;

/// Number of columns of a panel. LLVM's vectoriser deinterleaves this number of columns with one
/// group of loads.
const PANEL: i64 = 8;
/// Number of rows that are read together.
const ROWS_TOGETHER: i64 = 8;
/// Maximum number of operations in an epilogue that the kernel duplicates for each column of a
/// panel.
const MOST_COPIED_OPERATIONS: usize = 3;
/// Number of contiguous bytes that the kernel reads for a tile. With this number, the prefetchers
/// of all cache levels start. The kernel writes twice as many contiguous bytes as it reads.
const RUN_BYTES: i64 = 1024;
/// Number of runs of [`RUN_BYTES`] bytes that the kernel writes for one tile. The number applies if
/// rows of the result are shorter than a run, so that a tile contains several of the result's rows.
const SPAN_RUNS: i64 = 2;
/// Bytes of padding after each panel. Without padding, the distance between panels could be a power
/// of two, so that panels would map to the same cache sets.
const SKEW_BYTES: i64 = 64;
/// Number of bytes up to which the emitter does not split a tile further, because scheduling
/// another block would cost more than the split saves.
const LEAST_TILE_BYTES: i64 = 32 << 10;

/// # Errors
/// If the schedule does not support a problem.
pub fn check(problem: &TransposeProblem, _: &DeviceDescription) -> Result<(), Decline> {
    rows_turn(problem)
}

/// Chooses the loops.
///
/// # Errors
/// If a knob has an impossible value.
pub fn schedule(
    problem: &TransposeProblem,
    device: &DeviceDescription,
    configuration: &Configuration,
) -> Result<TransposeSchedule, EmitError> {
    let mut schedule = PanelSchedule::new(problem, device, configuration)?.schedule(problem);
    // An alternative that enlarges one side of a tile may need more memory than a block has.
    schedule.alternatives.retain(|other| PanelSchedule::new(problem, device, other).is_ok());
    Ok(schedule)
}

/// Tiles of `columns` (along the operand's minor dimension) times `rows` (along the dimension that
/// is minor in the result). A tile is stored as panels of [`PANEL`] columns: element `(row,
/// column)` is at `[column / 8][row][column % 8]`.
struct PanelSchedule {
    grid: OperandGrid,
    /// The operand's dimension that is minor in the result.
    long: usize,
    /// The second minor dimension of the result. Set only if a tile has several positions along
    /// this dimension.
    span: Option<usize>,
    /// Number of columns of a panel.
    width: i64,
    knobs: Configuration,
    /// Number of unused rows between panels.
    skew: i64,
}

impl PanelSchedule {
    /// Chooses all sizes that the configuration does not set.
    fn new(
        problem: &TransposeProblem,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Self, EmitError> {
        let form = &problem.form;
        let short = form.dims.len() - 1;
        let long = form.permutation[short];
        let complex = problem.moved.iter().any(|moved| moved.access_bytes != moved.bytes);
        let width = if complex { PANEL / 2 } else { PANEL };
        let narrowest = problem.moved.iter().map(|moved| moved.bytes).min().unwrap_or(1);
        let skew = ceil_div(SKEW_BYTES, width * narrowest);
        let budget = i64::from(device.shared_bytes_per_block) / problem.bytes_together();
        let (columns, rows) = extents(problem, device, (form.dims[short], form.dims[long]), width, skew);
        let most_columns = (budget / (1 + skew)).max(width);
        let columns = match configuration.knob("columns", 1..=most_columns)? {
            Some(columns) => ceil_div(columns, width) * width,
            None => columns,
        };
        // In addition to the full panels, two panels are necessary: one for the remaining columns,
        // and one for the small tile.
        let panels = columns / width + 2;
        let most_rows = (budget / (panels * width) - skew).max(1);
        let rows = match configuration.knob("rows", 1..=most_rows)? {
            Some(rows) => rows,
            None => rows.min(most_rows),
        };
        let mut tile = vec![1; form.dims.len()];
        tile[short] = columns;
        tile[long] = rows;
        let span = Some(form.permutation[short - 1]).filter(|&dim| dim != short && rows == form.dims[long]);
        let span = span.filter(|&dim| {
            let fits = (most_rows + skew) / (rows + skew);
            let count =
                (SPAN_RUNS * RUN_BYTES / problem.widest() / rows).min(fits).min(spare_blocks(problem, device, &tile));
            tile[dim] = count.clamp(1, form.dims[dim]);
            tile[dim] > 1
        });
        let turned = match configuration.knob("turned", 0..=1)? {
            Some(turned) => turned,
            None => i64::from(problem.epilogue_operations > MOST_COPIED_OPERATIONS),
        };
        let knobs = Configuration::from([("columns", columns), ("rows", rows), ("turned", turned)]);
        // The remaining columns of a row belong to the last tile. The grid counts only full panels.
        let mut dims = form.dims.clone();
        dims[short] = (dims[short] / width * width).max(1);
        Ok(PanelSchedule { grid: OperandGrid { dims, tile }, long, span, width, knobs, skew })
    }

    /// Chooses the loops.
    fn schedule(&self, problem: &TransposeProblem) -> TransposeSchedule {
        let short = self.grid.dims.len() - 1;
        let (columns, rows) = (self.knobs.0["columns"], self.knobs.0["rows"]);
        let half = ceil_div(columns / 2, self.width) * self.width;
        let others = [(columns, rows / 2), (half, rows), (columns * 2, rows / 2), (half, rows * 2)];
        let fits = |&(columns, rows): &(i64, i64)| {
            columns >= self.width && rows > 0 && columns <= self.grid.dims[short] && rows <= self.grid.dims[self.long]
        };
        let others = others.into_iter().filter(fits);
        TransposeSchedule {
            reading: self.nests(problem, true),
            writing: self.nests(problem, false),
            tile: Some(self.panel_dims(problem)),
            transposed_tile: (self.knobs.0["turned"] == 1).then_some([self.width, rows]),
            alternatives: self.knobs.others(
                others
                    .map(|(columns, rows)| self.knobs.with("columns", columns).with("rows", rows))
                    .chain([self.knobs.with("turned", 1 - self.knobs.0["turned"])]),
            ),
            notes: vec![format!(
                "tiles of {columns} columns and {} times {rows} rows, as panels of {} columns",
                self.spans(),
                self.width
            )],
            ..TransposeSchedule::of(
                LaunchDimensions { blocks: self.blocks() as u64, threads_per_block: 1 },
                self.knobs.clone(),
            )
        }
    }

    fn blocks(&self) -> i64 {
        self.grid.blocks()
    }

    /// Returns the dimensions of one array's panels.
    fn panel_dims(&self, problem: &TransposeProblem) -> Vec<i64> {
        let remains = i64::from(self.remaining(problem) > 0);
        vec![self.full_panels(problem) + remains, self.spans() * self.grid.tile[self.long] + self.skew, self.width]
    }

    /// Returns the number of full panels of a tile.
    fn full_panels(&self, problem: &TransposeProblem) -> i64 {
        let short = self.grid.dims.len() - 1;
        self.grid.tile[short].min(self.full_columns(problem)) / self.width
    }

    fn full_columns(&self, problem: &TransposeProblem) -> i64 {
        let short = self.grid.dims.len() - 1;
        problem.form.dims[short] / self.width * self.width
    }

    fn remaining(&self, problem: &TransposeProblem) -> i64 {
        let short = self.grid.dims.len() - 1;
        problem.form.dims[short] % self.width
    }

    fn nests(&self, problem: &TransposeProblem, by_rows: bool) -> Vec<TileNest> {
        let full = self.full_columns(problem) > 0;
        let full = full.then(|| if by_rows { self.panels_by_rows(problem) } else { self.panels_by_columns(problem) });
        let remaining = (self.remaining(problem) > 0).then(|| self.last_columns(problem, by_rows));
        full.into_iter().chain(remaining).collect()
    }

    /// Returns the number of positions of a tile along the result's second minor dimension.
    fn spans(&self) -> i64 {
        self.span.map_or(1, |dim| self.grid.tile[dim])
    }

    /// Returns the loops that write all full panels, one panel at a time, along the result's rows.
    fn panels_by_columns(&self, problem: &TransposeProblem) -> TileNest {
        let loops = [
            ("panel", self.full_panels(problem)),
            ("span", self.spans()),
            ("row", self.grid.tile[self.long]),
            ("column", self.width),
        ];
        let map = map_over(1, self.blocks(), &loops);
        TileNest::new(self.placed(map, Expr::range(0), Expr::range(1), Expr::range(2)), vec![3])
    }

    /// Returns the loops that read the full panels. The loops read a few rows at a time, so that
    /// they write whole cache lines of a panel.
    fn panels_by_rows(&self, problem: &TransposeProblem) -> TileNest {
        let rows = self.grid.tile[self.long];
        let together = ROWS_TOGETHER.min(rows);
        let groups = ceil_div(rows, together);
        let loops = [
            ("span", self.spans()),
            ("rows", groups),
            ("panel", self.full_panels(problem)),
            ("row", together),
            ("column", self.width),
        ];
        let mut map = map_over(1, self.blocks(), &loops);
        let row = Expr::range(1) * together + Expr::range(3);
        if groups * together > rows {
            map.constraints.push(Constraint::new(row.clone(), Interval::from_size(rows)));
        }
        let map = self.placed(map, Expr::range(2), Expr::range(0), row);
        TileNest { map, unroll: Vec::new(), along_rows: true }
    }

    /// Adds results to a map: an element's index in the operand, and the element's position in the
    /// tile. The arguments are the element's panel, span and row, and the map's last range variable
    /// is the element's column.
    fn placed(&self, mut map: IndexingMap, panel: Expr, span: Expr, row: Expr) -> IndexingMap {
        let short = self.grid.dims.len() - 1;
        let column = Expr::range(map.ranges.len() as u32 - 1);
        map.results = self.grid.index(&self.within(panel.clone() * self.width, &span, &row));
        map.constraints.extend(self.grid.constraints(&map.results));
        map.results[short] = map.results[short].clone() + column.clone();
        map.results.extend([panel, self.row_of_panel(span, row), column]);
        map
    }

    /// Returns the loops over the remaining columns at the end of the operand's rows. The remaining
    /// columns form an additional panel of the last tile.
    fn last_columns(&self, problem: &TransposeProblem, by_rows: bool) -> TileNest {
        let short = self.grid.dims.len() - 1;
        let loops = [("span", self.spans()), ("row", self.grid.tile[self.long]), ("column", self.remaining(problem))];
        let mut map = map_over(1, self.blocks(), &loops);
        let tiles = self.grid.counts()[short];
        if tiles > 1 {
            let last = self.grid.tile_of_block()[short].clone();
            map.constraints.push(Constraint::new(last, Interval::point(tiles - 1)));
        }
        let (span, row) = (Expr::range(0), Expr::range(1));
        let mut index = self.grid.index(&self.within(Expr::constant(0), &span, &row));
        // The grid does not include these columns, so only rows and spans can extend beyond the
        // array.
        index[short] = Expr::constant(0);
        let constraints = self.grid.constraints(&index).into_iter();
        map.constraints.extend(constraints.filter(|constraint| constraint.expr.as_constant().is_none()));
        index[short] = Expr::constant(self.full_columns(problem)) + Expr::range(2);
        let panel = Expr::constant(self.panel_dims(problem)[0] - 1);
        map.results = [index, vec![panel, self.row_of_panel(span, row), Expr::range(2)]].concat();
        TileNest::new(map, if by_rows { Vec::new() } else { vec![2] })
    }

    /// Returns the position of a column, span and row in the tile.
    fn within(&self, column: Expr, span: &Expr, row: &Expr) -> Vec<Expr> {
        let mut within = vec![Expr::constant(0); self.grid.dims.len()];
        if let Some(dim) = self.span {
            within[dim] = span.clone();
        }
        within[self.grid.dims.len() - 1] = column;
        within[self.long] = row.clone();
        within
    }

    fn row_of_panel(&self, span: Expr, row: Expr) -> Expr {
        span * self.grid.tile[self.long] + row
    }
}

/// Returns the factor by which a tile can grow so that every core still has enough blocks.
fn spare_blocks(problem: &TransposeProblem, device: &DeviceDescription, tile: &[i64]) -> i64 {
    let blocks = OperandGrid { dims: problem.form.dims.clone(), tile: tile.to_vec() }.blocks();
    blocks / Balance::OfTiles.blocks(device)
}

/// Returns the numbers of columns and rows of a tile. In both directions, a tile has runs of
/// [`RUN_BYTES`], if the operand is large enough and the panels fit into a block's memory.
fn extents(
    problem: &TransposeProblem,
    device: &DeviceDescription,
    (short, long): (i64, i64),
    width: i64,
    skew: i64,
) -> (i64, i64) {
    let run = (RUN_BYTES / problem.widest()).max(width);
    let together = problem.bytes_together();
    let budget = i64::from(device.shared_bytes_per_block) / together;
    let full = (short / width * width).max(width);
    // If one side of the operand is short, the other side of the tile is longer.
    let mut columns = (2 * run * run / long.min(2 * run)).min(full).clamp(width, 4 * run) / width * width;
    let mut rows = (2 * run * run / columns).min(long).min(8 * run);
    while (columns + 2 * width) * (rows + skew) > budget && (rows > run || columns > width) {
        if rows > run {
            rows = ceil_div(rows, 2).max(run);
        } else {
            columns = ceil_div(columns / 2, width) * width;
        }
    }
    rows = rows.min((budget / (columns + 2 * width) - skew).max(1));
    let wanted = Balance::OfTiles.blocks(device);
    let batch = problem.form.element_count() / (short * long).max(1);
    let blocks = |columns: i64, rows: i64| batch * ceil_div(full, columns) * ceil_div(long, rows);
    while blocks(columns, rows) < wanted && columns * rows * together > LEAST_TILE_BYTES {
        if columns >= rows && columns > width {
            columns = ceil_div(columns / 2, width) * width;
        } else {
            rows = ceil_div(rows, 2);
        }
    }
    (columns, rows)
}
