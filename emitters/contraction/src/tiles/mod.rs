//! Sizes of tiles, blocks and knobs.
//!
//! ```text
//! block            `share` tiles of the result, one after another
//! tile             `tile_m` rows times `tile_n` columns, over all steps, `tile_k` of them at a time
//! register tile    `height` rows times `vectors` registers of columns
//! ```

mod plan;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, EmitError};
use fusebox_core::indexing::{Expr, IndexingMap, ceil_div};

use crate::micro::{Micro, MicroKernel, TILE_LINES};
use crate::problem::{Problem, Sizes};
use crate::runs::common_divisor;
use crate::turn::Squares;

const TILE_M: &str = "tile_m";
const TILE_N: &str = "tile_n";
const TILE_K: &str = "tile_k";
/// Fewest lanes of a vector.
const LEAST_LANES: i64 = 4;
/// Registers of a row of the register tile where there are many rows, and where each of them is packed step by step.
const VECTORS: i64 = 2;
const VECTORS_BY_STEPS: i64 = 3;
/// Registers of a row where there are few rows: sums that are added to by turns hide the latency of an addition.
const MOST_VECTORS: i64 = 8;
/// Lines of memory that are read side by side: no more than a set of the nearest cache has places for, as they may be a power
/// of two apart.
const MOST_LINES: i64 = 8;
/// Bytes of a line of steps that are taken together: packed, a register tile's lines stay in the nearest cache. Floats of so many are
/// added up by themselves, too.
const LINE_BYTES: i64 = 1024;
/// Register tiles below each other for which rows of the right operand are read from where they are: packing them takes as long
/// as reading them so a few times.
const UNPACKED_TILES: i64 = 4;
/// Bytes of a tile's columns of one step, and as many rows: what is packed is used often.
const TILE_BYTES: i64 = 1024;
/// Bytes that lines are longer than a power of two, lest they fall into the same sets of a cache.
pub const SKEW_BYTES: i64 = 64;
/// Blocks per core, so that an unlucky one does not matter.
const BLOCKS_PER_CORE: i64 = 4;
/// Products of a block that is worth a turn of its own.
const PRODUCTS_PER_BLOCK: i64 = 1 << 22;
/// The same in tile registers, which multiply sixteen times as fast.
const PRODUCTS_PER_BLOCK_OF_TILES: i64 = 1 << 27;
/// Bytes of a line of steps that tile registers take one after another: a register tile's lines of both operands stay in the
/// nearest cache.
const TILE_LINE_BYTES: i64 = 512;
/// Columns of a tile that tile registers multiply.
const TILE_COLUMNS: i64 = 256;
/// Products from which every core is worth waking.
const PRODUCTS_FOR_ALL_CORES: i64 = 1 << 20;

/// How elements of the left operand come to be multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftForm {
    /// Packed `[row, step]`, for the rows of one register tile.
    Lines,
    /// Packed `[register tile, step, row]`, for all rows of the tile.
    Panels,
    /// As lines, of groups of steps that are turned.
    Groups,
    /// Computed where they are multiplied, which happens once.
    InPlace,
}

/// Everything that is chosen.
#[derive(Clone, Debug)]
pub struct Tiles {
    pub micro: Micro,
    /// Elements of a register, or columns of sums in a tile register.
    pub lanes: i64,
    /// Registers of a row of the register tile.
    pub vectors: i64,
    /// Rows of the register tile.
    pub height: i64,
    pub tile_m: i64,
    pub tile_n: i64,
    pub tile_k: i64,
    /// Tiles of a block.
    pub share: i64,
    /// Tiles of a batch, along rows and along columns.
    grid: [i64; 2],
    sizes: Sizes,
    /// Bytes of a sum.
    bytes: i64,
    pub left: LeftForm,
    /// Whether the right operand is turned while it is packed.
    turns: bool,
    /// Whether that takes all packed steps at once, as its runs are not cut.
    is_turned_whole: bool,
    /// Whether the right operand is multiplied from where it is.
    pub is_unpacked: bool,
    /// Whether the right operand's columns of the tile are packed for all steps at once, before any row.
    pub stays: bool,
    /// Whether the products of every `tile_k` steps are added up by themselves, and then to the sum: rounding errors grow with the number
    /// of additions one after the other. `tile_k` is no choice then, as bits would depend on it.
    pub adds_chains: bool,
}

/// The height of register tiles, `most` at most, for which so many rows take least: for every step a tile takes as long as its
/// rows, those that stick out too, and for the row of the right operand that it reads, so many registers.
fn even_height(rows: i64, most: i64, vectors: i64) -> i64 {
    let takes = |&height: &i64| ceil_div(rows, height) * (height + vectors);
    (1..=most).rev().min_by_key(takes).unwrap_or(1)
}

/// Registers of a row of the register tile, of `most` at most. Where a number above half of that
/// divides the `needed` registers of all columns it is taken, as the right operand may then be read
/// from where it is.
fn whole_part(needed: i64, most: i64) -> i64 {
    (most / 2 + 1..=most).rev().find(|vectors| needed % vectors == 0).unwrap_or(most)
}

impl Tiles {
    /// Chooses what the configuration leaves open.
    ///
    /// # Errors
    /// If a knob has an impossible value, or the tiles do not fit.
    pub fn new(problem: &Problem, device: &DeviceDescription, knobs: &Configuration) -> Result<Tiles, EmitError> {
        let micro = Micro::of(problem, device);
        let mut tiles = match micro.kernel {
            MicroKernel::Vectors | MicroKernel::Words => Tiles::of_registers(problem, device, micro),
            MicroKernel::Tiles => Tiles::of_tile_registers(problem, micro),
        };
        let Sizes { rows, columns, steps, .. } = tiles.sizes;
        let (width, height) = (tiles.width(), tiles.height);
        let most = tiles.spread(device);
        let up = |size: i64, unit: i64| ceil_div(size, unit) * unit;
        let wanted_m = knobs.knob(TILE_M, 1..=up(rows, height))?;
        let wanted_n = knobs.knob(TILE_N, 1..=up(columns, width))?;
        tiles.tile_m = up(wanted_m.unwrap_or(most[0]), height);
        tiles.tile_n = up(wanted_n.unwrap_or(most[1]), width);
        let line = match micro.kernel {
            MicroKernel::Tiles => TILE_LINE_BYTES / micro.bytes(),
            MicroKernel::Vectors | MicroKernel::Words => (LINE_BYTES / micro.bytes()).max(1),
        };
        let chunks = ceil_div(steps, line);
        let mut runs = problem.operands.iter().filter_map(|operand| operand.runs.as_ref()).filter(|it| it.are_steps);
        let even = runs.next().map_or(ceil_div(steps, chunks), |runs| runs.even_steps(steps, line));
        let even = tiles.whole_steps(even.clamp(1, tiles.most_together(problem)));
        tiles.adds_chains = chunks > 2 && micro.kernel != MicroKernel::Tiles && problem.sum.real_part().is_float();
        let most = tiles.whole_steps(tiles.most_together(problem));
        let wanted_k = knobs.knob(TILE_K, if tiles.adds_chains { even..=even } else { 1..=most })?;
        tiles.tile_k = tiles.whole_steps(wanted_k.unwrap_or(even));
        let limit = i64::from(device.shared_bytes_per_block);
        tiles.stays = tiles.stays_packed(limit);
        let is_once = micro.kernel == MicroKernel::Vectors && micro.planes == 1 && columns <= width;
        // Conditions on steps are decided once for many where lines are copied, not for each row of a register tile.
        let is_scattered = problem.operands[0].runs.is_some() || problem.operands[0].is_in_parts;
        if tiles.stays && tiles.left == LeftForm::Lines && is_once && !is_scattered {
            tiles.left = LeftForm::InPlace;
            let most = if tiles.adds_chains { even } else { problem.most_together() };
            tiles.tile_k = wanted_k.unwrap_or(most);
        }
        // Whoever asks for a size gets it, or an error.
        let (can_m, can_n) = (wanted_m.is_none(), wanted_n.is_none());
        if can_m && tiles.keeps_sums() {
            // No more than there is room for.
            tiles.tile_m = tiles.tile_m.min(up((limit / (tiles.tile_n * tiles.bytes)).max(1), height));
        }
        while tiles.shared_bytes() > limit {
            match () {
                _ if can_m && tiles.tile_m > height && (tiles.tile_m >= tiles.tile_n || !can_n) => {
                    tiles.tile_m -= height
                }
                _ if can_n && tiles.tile_n > width => tiles.tile_n -= width,
                _ => break,
            }
        }
        // Equal parts, as many as there are.
        let even = |tile: i64, size: i64, unit: i64| ceil_div(ceil_div(size, unit), ceil_div(size, tile)) * unit;
        if can_m {
            tiles.tile_m = even(tiles.tile_m, rows, height);
        }
        if can_n {
            tiles.tile_n = even(tiles.tile_n, columns, width);
        }
        tiles.grid = [ceil_div(rows, tiles.tile_m), ceil_div(columns, tiles.tile_n)];
        tiles.share = tiles.share(device);
        match tiles.shared_bytes() {
            needed if needed > limit => Err(EmitError::new(format!(
                "tiles of {} by {} by {} take {needed} bytes, a block has {limit}",
                tiles.tile_m, tiles.tile_n, tiles.tile_k
            ))),
            _ => Ok(tiles),
        }
    }

    /// The register tile: as large as the registers hold with the operands beside it.
    fn of_registers(problem: &Problem, device: &DeviceDescription, micro: Micro) -> Tiles {
        let sizes = problem.sizes;
        let bytes = problem.sum.real_part().byte_size() as i64;
        let planes = micro.planes;
        let most_lanes = (i64::from(device.register_bytes.max(16)) / bytes).max(1);
        // A part of a register for few columns, which then are read from where they are.
        let lanes = match (micro.kernel, (sizes.columns as u64).next_power_of_two() as i64) {
            (MicroKernel::Vectors, few) if planes == 1 => most_lanes.min(few.max(LEAST_LANES)),
            _ => most_lanes,
        };
        let registers = i64::from(device.registers.max(16));
        let [left, right] = &problem.operands;
        let needed = ceil_div(sizes.columns, lanes);
        // Words are turned while they are packed, so that their lines have steps side by side in any case.
        let lies_along_steps = left.runs_along_steps || micro.multiplies_words();
        let usual = match lies_along_steps {
            _ if planes > 1 => 1,
            true => VECTORS,
            false => VECTORS_BY_STEPS,
        };
        // Beside the sums: a row of the right operand, an element of the left one, one to spare.
        let rows_beside = |vectors: i64| ((registers - (vectors + 1) * planes) / (vectors * planes)).max(1);
        let tall = |vectors: i64| {
            let most = if planes > 1 { rows_beside(vectors) } else { rows_beside(vectors).min(rows_beside(VECTORS)) };
            if lies_along_steps { most } else { MOST_LINES.min(most) }
        };
        let (vectors, height) = match tall(usual) {
            // Few rows: more registers in each.
            most if sizes.rows * 2 <= most => {
                // A single row multiplies each element of the right operand once, from memory.
                let lines = if sizes.rows == 1 && planes == 1 { 1 } else { sizes.rows + 1 };
                let wide = ((registers - planes) / (lines * planes)).min(MOST_VECTORS);
                (whole_part(needed, wide.min(needed).max(1)), sizes.rows)
            }
            _ => {
                let vectors = usual.min(needed);
                // With one register tile beside each other, rows are read from where they are.
                let most = if needed <= usual { tall(vectors).min(MOST_LINES) } else { tall(vectors) };
                (vectors, even_height(sizes.rows, most, vectors))
            }
        };
        let form = match left.runs_along_steps {
            true => LeftForm::Lines,
            false if micro.multiplies_words() => LeftForm::Groups,
            false => LeftForm::Panels,
        };
        let turns = right.runs_along_steps;
        // Packed, it would be read but a few times.
        let is_unpacked = sizes.rows <= height * UNPACKED_TILES
            && right.rows_of.is_some()
            && right.element == problem.factor
            && planes == 1
            && sizes.columns % (vectors * lanes) == 0;
        let (tile_m, tile_n, tile_k, share, grid) = (height, vectors * lanes, 1, 1, [1, 1]);
        Tiles {
            micro,
            lanes,
            vectors,
            height,
            tile_m,
            tile_n,
            tile_k,
            share,
            grid,
            sizes,
            bytes,
            left: form,
            turns,
            is_turned_whole: right.runs.is_some(),
            is_unpacked,
            stays: false,
            adds_chains: false,
        }
    }

    /// Two tiles of sums by two, which with two of each operand are all tile registers; fewer where lines are few.
    fn of_tile_registers(problem: &Problem, micro: Micro) -> Tiles {
        let Sizes { rows, columns, .. } = problem.sizes;
        let beside = |lines: i64| if lines <= TILE_LINES { 1 } else { 2 };
        let (vectors, height) = (beside(columns), beside(rows) * TILE_LINES);
        Tiles {
            micro,
            lanes: TILE_LINES,
            vectors,
            height,
            tile_m: height,
            tile_n: vectors * TILE_LINES,
            tile_k: 1,
            share: 1,
            grid: [1, 1],
            sizes: problem.sizes,
            bytes: problem.sum.byte_size() as i64,
            left: if problem.operands[0].runs_along_steps { LeftForm::Lines } else { LeftForm::Groups },
            turns: problem.operands[1].runs_along_steps,
            is_turned_whole: problem.operands[1].runs.is_some(),
            is_unpacked: false,
            stays: false,
            adds_chains: false,
        }
    }

    /// Products that are added up before they are sums.
    fn most_together(&self, problem: &Problem) -> i64 {
        if self.micro.multiplies_words() { self.sizes.steps } else { problem.most_together() }
    }

    /// So many steps, in whole tiles if these are multiplied.
    fn whole_steps(&self, steps: i64) -> i64 {
        if self.micro.multiplies_words() { self.in_registers(steps) } else { steps }
    }

    /// Whether all parts in which steps are taken are multiples of so many.
    pub fn takes_steps_by(&self, steps: i64) -> bool {
        self.sizes.steps % steps == 0 && (self.tile_k % steps == 0 || self.chunks() == 1)
    }

    /// Whether no tile of steps is filled up with zeros.
    pub fn has_whole_tiles_of_steps(&self) -> bool {
        self.sizes.steps % self.micro.tile_steps() == 0
    }

    /// Whether all steps of a tile's columns can be packed at once, which leaves room for no sums but those of one
    /// register tile's rows. Then rows are read to their end one after another, and no sums are kept meanwhile.
    fn stays_packed(&self, limit: i64) -> bool {
        !self.is_unpacked
            && matches!(self.left, LeftForm::Lines | LeftForm::Groups)
            && Tiles { stays: true, ..self.clone() }.shared_bytes() <= limit
    }

    /// Rows and columns of a tile: large ones, as long as there are enough for all cores.
    fn spread(&self, device: &DeviceDescription) -> [i64; 2] {
        let Sizes { batch, rows, columns, .. } = self.sizes;
        let units = [self.height, self.width()];
        let panels = [ceil_div(rows, units[0]), ceil_div(columns, units[1])];
        let cores = i64::from(device.core_count);
        let products = self.products();
        let least = if products >= PRODUCTS_FOR_ALL_CORES { cores } else { 1 };
        let (of_block, most) = match self.micro.kernel {
            MicroKernel::Vectors => (PRODUCTS_PER_BLOCK, [(TILE_BYTES / self.bytes).max(1); 2]),
            // All rows: what is packed of the right operand is used for them.
            MicroKernel::Words => (PRODUCTS_PER_BLOCK * self.micro.group(), [rows, TILE_COLUMNS]),
            MicroKernel::Tiles => (PRODUCTS_PER_BLOCK_OF_TILES, [rows, TILE_COLUMNS]),
        };
        let wanted = (products / of_block).clamp(least, cores * BLOCKS_PER_CORE);
        let mut parts = [ceil_div(rows, most[0].max(units[0])), ceil_div(columns, most[1].max(units[1]))];
        let size = |parts: [i64; 2], side: usize| ceil_div(panels[side], parts[side]) * units[side];
        while batch * parts[0] * parts[1] < wanted {
            // About as long, columns are parted: what is packed of them is then used for more rows.
            let longer = usize::from(size(parts, 1) + units[0] > size(parts, 0));
            let Some(side) = [longer, 1 - longer].into_iter().find(|&side| parts[side] < panels[side]) else { break };
            parts[side] = (parts[side] * 2).min(panels[side]);
        }
        [size(parts, 0), size(parts, 1)]
    }

    /// Small tiles share a block.
    fn share(&self, device: &DeviceDescription) -> i64 {
        let of_tile = self.tile_m * self.tile_n * self.sizes.steps;
        let enough = ceil_div(self.tiles(), i64::from(device.core_count) * BLOCKS_PER_CORE);
        (PRODUCTS_FOR_ALL_CORES / of_tile.max(1)).clamp(1, enough.max(1))
    }

    /// How many elements of each operand are read for an element of the result: those of the left one once for each tile
    /// beside another, those of the right one once for each tile below another.
    pub fn reads_per_result(&self) -> [f64; 2] {
        let Sizes { rows, columns, steps, .. } = self.sizes;
        let [down, across] = self.grid.map(|tiles| tiles as f64);
        [steps as f64 * across / columns as f64, steps as f64 * down / rows as f64]
    }

    /// All of them.
    pub fn products(&self) -> i64 {
        let Sizes { batch, rows, columns, steps } = self.sizes;
        [batch, rows, columns, steps].iter().product()
    }

    /// All tiles.
    pub fn tiles(&self) -> i64 {
        self.sizes.batch * self.grid[0] * self.grid[1]
    }

    fn blocks(&self) -> i64 {
        ceil_div(self.tiles(), self.share)
    }

    /// Columns of a register tile.
    pub fn width(&self) -> i64 {
        self.lanes * self.vectors
    }

    /// Steps of an operand are packed from multiples of this to multiples of this.
    pub fn grain(&self, is_right: bool) -> i64 {
        if is_right && self.stays { self.sizes.steps } else { common_divisor(self.sizes.steps, self.tile_k) }
    }

    /// Steps of a tile are taken in so many parts.
    pub fn chunks(&self) -> i64 {
        ceil_div(self.sizes.steps, self.tile_k)
    }

    /// Elements that make lines longer than a power of two.
    fn skew(&self, bytes: i64) -> i64 {
        SKEW_BYTES / bytes
    }

    /// Whole registers of so many steps.
    fn in_registers(&self, steps: i64) -> i64 {
        let unit = if self.micro.multiplies_words() { self.micro.tile_steps() } else { self.lanes };
        ceil_div(steps, unit) * unit
    }

    /// Elements of a packed row, where each is so many numbers.
    fn planes(&self, elements: i64) -> i64 {
        elements * self.micro.planes
    }

    /// Steps of the right operand that are packed at once.
    fn packed_steps(&self) -> i64 {
        if self.stays { self.sizes.steps } else { self.tile_k }
    }

    /// Whether sums of all rows are kept while others are added to.
    pub fn keeps_sums(&self) -> bool {
        self.chunks() > 1 && !self.stays
    }

    /// Rows of a register tile, as many as are turned with them.
    fn turned_rows(&self) -> i64 {
        if self.left == LeftForm::Groups { ceil_div(self.height, self.lanes) * self.lanes } else { self.height }
    }

    /// Dimensions of the packed left operand, see [`LeftForm`].
    pub fn left_dims(&self) -> [i64; 3] {
        match self.left {
            LeftForm::Lines | LeftForm::Groups => {
                [1, self.turned_rows(), self.planes(self.in_registers(self.tile_k) + self.skew(self.micro.bytes()))]
            }
            LeftForm::Panels => {
                let skew = ceil_div(self.skew(self.micro.bytes()), self.height);
                [self.tile_m / self.height, self.tile_k + skew, self.planes(self.height)]
            }
            LeftForm::InPlace => [1, 1, 1],
        }
    }

    /// Dimensions of the packed right operand: `[register tile, step, column]`, groups of steps and of a column's elements for
    /// tile registers; a step more than there are, so that register tiles do not begin a power of two apart.
    pub fn right_dims(&self) -> [i64; 3] {
        if self.is_unpacked {
            return [1, 1, 1];
        }
        let (steps, group) = (self.in_registers(self.packed_steps()), self.micro.group());
        [self.tile_n / self.width(), steps / group + 1, self.planes(self.width() * group)]
    }

    /// What is turned in registers.
    pub fn squares(&self) -> Squares {
        Squares { size: self.lanes, word: self.micro.group() }
    }

    /// Steps of columns that are turned at once.
    pub fn turned_steps(&self) -> i64 {
        let most = if self.is_turned_whole { self.packed_steps() } else { LINE_BYTES / self.micro.bytes() };
        self.in_registers(self.packed_steps().min(most))
    }

    /// Dimensions of the left operand's rows before they are turned: `[panel, group of steps, row]`.
    pub fn groups_dims(&self) -> [i64; 3] {
        match self.left {
            LeftForm::Groups => {
                let (row, group) = (self.squares().row(), self.micro.group());
                [self.turned_rows() / self.lanes, self.in_registers(self.tile_k) / group, row]
            }
            _ => [1; 3],
        }
    }

    /// Dimensions of what is turned at once: lines `[0, column, step]`.
    pub fn turned_dims(&self) -> Option<[i64; 3]> {
        self.turns.then(|| [1, self.lanes, self.planes(self.turned_steps() + self.skew(self.micro.bytes()))])
    }

    /// Dimensions of the sums. Those of one register tile's rows are enough where these get all steps one after another.
    pub fn sum_dims(&self) -> [i64; 2] {
        [if self.keeps_sums() { self.tile_m } else { self.height }, self.planes(self.tile_n + self.skew(self.bytes))]
    }

    /// How far apart real and imaginary parts of sums are.
    pub fn sums_apart(&self) -> i64 {
        self.sum_dims()[1] / self.micro.planes
    }

    /// Dimensions of what the left operand's offset adds to the sums of a tile's columns.
    pub fn offset_dims(&self) -> [i64; 1] {
        [if self.micro.is_offset { self.tile_n } else { 1 }]
    }

    fn shared_bytes(&self) -> i64 {
        let count = |dims: &[i64]| dims.iter().product::<i64>();
        let turned = self.turned_dims().map_or(0, |dims| count(&dims));
        let packed = count(&self.left_dims()) + count(&self.groups_dims()) + count(&self.right_dims()) + turned;
        packed * self.micro.bytes() + (count(&self.sum_dims()) + count(&self.offset_dims())) * self.bytes
    }

    /// `(tile) -> (batch, first row, first column)`
    pub fn place(&self) -> IndexingMap {
        let [batch, row, column] = self.place_of(Expr::dim(0));
        IndexingMap::from_tensor_sizes(vec![batch, row, column], &[self.tiles()], &[]).simplify()
    }

    fn place_of(&self, tile: Expr) -> [Expr; 3] {
        let [down, across] = self.grid;
        [
            tile.clone().floor_div(down * across),
            tile.clone().floor_div(across).modulo(down) * self.tile_m,
            tile.modulo(across) * self.tile_n,
        ]
    }
}
