//! The schedule for blocks of one thread: each block takes a contiguous part, row by row, so that the
//! innermost loop runs along the minor dimension without divisions.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, EmitError, Fusion, LaunchDimensions};
use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, Variable, ceil_div, delinearize};

use crate::roots::{Group, arithmetic_per_point, is_elementwise, output_shapes, parameter_shapes};

/// What a block should touch at least, arithmetic included: below it, handing out costs more than it saves.
const BYTES_PER_BLOCK: i64 = 128 << 10;
/// Enough blocks per core that an unlucky one does not matter.
const BLOCKS_PER_CORE: i64 = 16;
/// A row is cut at multiples of this many points: whole cache lines for every element type.
const CUT: i64 = 64;
/// An elementwise fusion with rows shorter than this is treated as one row.
const SHORT_ROW: i64 = 64;

/// Points dealt to blocks.
pub struct Slabs {
    /// Blocks aimed at.
    wanted_blocks: i64,
    most_blocks: i64,
    /// Blocks of which at least one group makes use.
    blocks: i64,
    /// One per group.
    tilings: Vec<Tiling>,
}

/// A group's part of the schedule.
pub struct Tiling {
    /// Dimensions that count rows.
    pub outer: Vec<i64>,
    /// Their product.
    pub rows: i64,
    /// Points in a row.
    pub row: i64,
    /// What a block takes.
    pub share: Share,
}

/// What a block takes of a group.
pub enum Share {
    /// So many rows.
    Rows(i64),
    /// A part of one row: `length` points, `parts` parts to a row.
    Part {
        /// Points.
        length: i64,
        /// Parts.
        parts: i64,
    },
}

impl Slabs {
    /// Chooses what the configuration leaves open.
    pub fn new(
        fusion: &Fusion,
        groups: &[Group],
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Self, EmitError> {
        let points = groups.iter().map(Group::element_count).max().unwrap_or(0);
        let shapes = output_shapes(fusion).into_iter().chain(parameter_shapes(fusion));
        let bytes = shapes.fold(0i64, |sum, shape| sum.saturating_add(shape.byte_size()));
        let work = bytes.saturating_add(points.saturating_mul(arithmetic_per_point(fusion)));
        let most_blocks = (i64::from(device.core_count) * BLOCKS_PER_CORE).min(points.max(1));
        let wanted_blocks = match configuration.knob("blocks", 1..=points.max(1))? {
            Some(blocks) => blocks,
            None => (work / BYTES_PER_BLOCK).clamp(1, most_blocks),
        };
        let single_row = groups.len() == 1 && is_elementwise(fusion);
        let tilings: Vec<Tiling> = groups.iter().map(|group| Tiling::new(group, wanted_blocks, single_row)).collect();
        let blocks = tilings.iter().map(Tiling::blocks).max().unwrap_or(1).max(1);
        Ok(Slabs { wanted_blocks, most_blocks, blocks, tilings })
    }

    /// The grid.
    pub fn launch(&self) -> LaunchDimensions {
        LaunchDimensions { blocks: self.blocks as u64, threads_per_block: 1 }
    }

    /// The groups' parts.
    pub fn tilings(&self) -> &[Tiling] {
        &self.tilings
    }

    /// `(th, bl)[row, point] -> index`, or `(th, bl)[point] -> index` where rows are cut.
    pub fn map(&self, group: usize, dims: &[i64]) -> IndexingMap {
        let tiling = &self.tilings[group];
        let mut map = IndexingMap {
            dims: vec![Variable::named("th", 1), Variable::named("bl", self.blocks)],
            ..IndexingMap::default()
        };
        let (row, point) = match tiling.share {
            Share::Rows(rows) => {
                map.ranges = vec![Variable::named("row", rows), Variable::named("point", tiling.row)];
                (Expr::dim(1) * rows + Expr::range(0), Expr::range(1))
            }
            Share::Part { length, parts } => {
                map.ranges = vec![Variable::named("point", length)];
                let point = Expr::dim(1).modulo(parts) * length + Expr::range(0);
                (Expr::dim(1).floor_div(parts), point)
            }
        };
        // What the blocks could reach, beyond what there is.
        let (reach_of_rows, reach_in_row) = match tiling.share {
            Share::Rows(rows) => (self.blocks * rows, tiling.row),
            Share::Part { length, parts } => (ceil_div(self.blocks, parts), length * parts),
        };
        if reach_of_rows > tiling.rows {
            map.constraints.push(Constraint { expr: row.clone(), bounds: Interval::from_size(tiling.rows) });
        }
        if reach_in_row > tiling.row {
            map.constraints.push(Constraint { expr: point.clone(), bounds: Interval::from_size(tiling.row) });
        }
        map.results = tiling.index(&row, &point, dims);
        map
    }

    /// The knobs' values.
    pub fn configuration(&self) -> Configuration {
        configuration(self.wanted_blocks)
    }

    /// Other numbers of blocks.
    pub fn alternatives(&self) -> Vec<Configuration> {
        let wanted = self.wanted_blocks;
        let mut others = vec![wanted / 2, (wanted * 2).min(self.most_blocks), self.most_blocks, 1];
        others.retain(|&blocks| blocks > 0 && blocks != wanted);
        others.sort_unstable();
        others.dedup();
        others.into_iter().map(configuration).collect()
    }
}

impl Tiling {
    fn new(group: &Group, wanted_blocks: i64, single_row: bool) -> Self {
        let (outer, row) = match group.dims.split_last() {
            None => (Vec::new(), 1),
            Some((&minor, _)) if single_row && minor < SHORT_ROW => (Vec::new(), group.element_count()),
            Some((&minor, outer)) => (outer.to_vec(), minor),
        };
        let rows: i64 = outer.iter().product();
        let share = if rows >= wanted_blocks || row <= CUT {
            Share::Rows(ceil_div(rows, wanted_blocks).max(1))
        } else {
            let parts = ceil_div(wanted_blocks, rows.max(1));
            let length = ceil_div(ceil_div(row, parts), CUT) * CUT;
            Share::Part { length, parts: ceil_div(row, length) }
        };
        Tiling { outer, rows, row, share }
    }

    /// Blocks that have something to do.
    fn blocks(&self) -> i64 {
        match self.share {
            Share::Rows(rows) => ceil_div(self.rows, rows),
            Share::Part { parts, .. } => self.rows * parts,
        }
    }

    /// Whether the group's dimensions are taken as one row.
    pub fn is_single_row(&self, dims: &[i64]) -> bool {
        dims.len() > 1 && self.outer.is_empty()
    }

    /// Index of a point of a row.
    pub fn index(&self, row: &Expr, point: &Expr, dims: &[i64]) -> Vec<Expr> {
        match dims.len() {
            0 => Vec::new(),
            _ if self.is_single_row(dims) => delinearize(point, dims),
            _ => [delinearize(row, &self.outer), vec![point.clone()]].concat(),
        }
    }
}

fn configuration(blocks: i64) -> Configuration {
    Configuration([("blocks".to_owned(), blocks)].into())
}
