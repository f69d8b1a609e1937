//! Sizes of tiles and blocks, and the knobs that set these sizes.
//!
//! ```text
//! block            `tiles_per_block` tiles of the result, one after another
//! tile             `tile_m` rows times `tile_n` columns, over all steps, in chunks of `tile_k`
//! register tile    `height` rows times `vectors` registers of columns
//! ```

mod plan;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, EmitError};
use fusebox_core::indexing::{Expr, IndexingMap, ceil_div};
use fusebox_core::launch::Balance;

use crate::divisor::common_divisor;
use crate::micro::{MicroKernel, MicroProduct, TILE_LINES};
use crate::problem::{ProductProblem, ProductSizes};
use crate::squares::SquareShape;

const TILE_M: &str = "tile_m";
const TILE_N: &str = "tile_n";
const TILE_K: &str = "tile_k";
/// Least number of lanes of a vector.
const LEAST_LANES: i64 = 4;
/// Number of registers per row of the register tile if there are many rows. The number is `VECTORS`
/// if steps are contiguous in packed lines, and `VECTORS_BY_STEPS` if rows are packed step by step.
const VECTORS: i64 = 2;
const VECTORS_BY_STEPS: i64 = 3;
/// Largest number of registers per row if there are few rows. Several independent sums hide the
/// latency of an addition.
const MOST_VECTORS: i64 = 8;
/// Largest number of lines that are read concurrently. If the distance between lines is a power of
/// two, the lines map to one set of the nearest cache, which holds only `MOST_LINES` cache lines.
const MOST_LINES: i64 = 8;
/// Bytes that one chunk of steps occupies in a line. With `LINE_BYTES` bytes per line, the packed
/// lines of a register tile stay in the nearest cache. A chain of floats, too, contains at most
/// `LINE_BYTES` bytes of a line.
const LINE_BYTES: i64 = 1024;
/// Largest number of register tiles along rows for which the right operand is read in place.
/// Packing takes as long as a few reads in place.
const UNPACKED_TILES: i64 = 4;
/// Largest number of bytes that the elements of one step occupy in all rows of a tile together. The
/// limit also applies to all columns of the tile together. A large tile reuses packed elements
/// often.
const TILE_BYTES: i64 = 1024;
/// Bytes by which lines are longer than a power of two, so that lines do not map to the same cache
/// sets.
pub const SKEW_BYTES: i64 = 64;
/// Least number of products for which an additional block pays off.
const PRODUCTS_PER_BLOCK: i64 = 1 << 22;
/// Least number of products in tile registers for which an additional block pays off. Tile
/// registers multiply sixteen times as fast as vector registers.
const PRODUCTS_PER_BLOCK_OF_TILES: i64 = 1 << 27;
/// Bytes that one chunk of steps occupies in a line, for tile registers. With `TILE_LINE_BYTES`
/// bytes per line, a register tile's lines of both operands stay in the nearest cache.
const TILE_LINE_BYTES: i64 = 512;
/// Largest number of columns of a tile for tile registers and words.
const TILE_COLUMNS: i64 = 256;
/// Least number of products for which waking all cores pays.
const PRODUCTS_FOR_ALL_CORES: i64 = 1 << 20;

/// The form in which the multiplying loop reads the left operand's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftForm {
    /// Packed `[row, step]`, for the rows of one register tile.
    Lines,
    /// Packed `[register tile, step, row]`, for all rows of the tile.
    Panels,
    /// Packed like [`LeftForm::Lines`], but in two stages: as groups of steps, then transposed.
    Groups,
    /// Not packed. The loop that multiplies the elements also computes them, because each element
    /// is used only once.
    InPlace,
}

/// The sizes that the emitter chooses.
#[derive(Clone, Debug)]
pub struct TileSizes {
    pub micro: MicroProduct,
    /// Number of elements of a register, or of columns of sums in a tile register.
    pub lanes: i64,
    /// Number of registers in a row of the register tile.
    pub vectors: i64,
    /// Number of rows of the register tile.
    pub height: i64,
    pub tile_m: i64,
    pub tile_n: i64,
    pub tile_k: i64,
    /// Number of tiles per block.
    pub tiles_per_block: i64,
    /// Numbers of tiles of a batch, along rows and along columns.
    grid: [i64; 2],
    sizes: ProductSizes,
    /// Bytes of a sum.
    bytes: i64,
    pub left: LeftForm,
    /// Whether packing transposes the right operand.
    transposes_right: bool,
    /// Whether packing transposes all packed steps at once, because it does not split the operand's
    /// runs.
    is_transposed_whole: bool,
    /// Whether the right operand is read in place, without packing.
    pub is_unpacked: bool,
    /// Whether all steps of the tile's columns are packed before the first row is multiplied.
    pub keeps_right_packed: bool,
    /// Whether the kernel adds products in chains of `tile_k` steps. The kernel adds the products
    /// of a chain to a partial sum, then adds the partial sum to the total. Chains keep rounding
    /// errors small, because rounding errors grow with the number of consecutive additions. With
    /// chains, `tile_k` is not a knob, because the bits of the result would depend on the knob.
    pub adds_chains: bool,
}

/// Returns the height of register tiles, at most `most`, that minimises the time for `rows` rows.
/// Per step, the cost of a register tile is the number of its rows plus `vectors`. The cost
/// includes rows beyond the last row. `vectors` is the number of registers that the kernel reads
/// from the right operand.
fn even_height(rows: i64, most: i64, vectors: i64) -> i64 {
    let takes = |&height: &i64| ceil_div(rows, height) * (height + vectors);
    (1..=most).rev().min_by_key(takes).unwrap_or(1)
}

/// Returns the number of registers per row of the register tile, at most `most`. Prefers a number
/// above half of `most` that divides `needed`, the number of registers for all columns. If the
/// returned number divides `needed`, the kernel may read the right operand in place.
fn whole_part(needed: i64, most: i64) -> i64 {
    (most / 2 + 1..=most).rev().find(|vectors| needed % vectors == 0).unwrap_or(most)
}

impl TileSizes {
    /// Chooses all sizes that the configuration does not set.
    ///
    /// # Errors
    /// If a knob has an impossible value, or the tiles do not fit in the block's memory.
    pub fn new(
        problem: &ProductProblem,
        device: &DeviceDescription,
        knobs: &Configuration,
    ) -> Result<TileSizes, EmitError> {
        let micro = MicroProduct::of(problem, device);
        let mut tiles = match micro.kernel {
            MicroKernel::Vectors | MicroKernel::Words => TileSizes::of_registers(problem, device, micro),
            MicroKernel::Tiles => TileSizes::of_tile_registers(problem, micro),
        };
        let ProductSizes { rows, columns, steps, .. } = tiles.sizes;
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
        tiles.keeps_right_packed = tiles.can_keep_right_packed(limit);
        let is_once = micro.kernel == MicroKernel::Vectors && micro.planes == 1 && columns <= width;
        // If lines are copied, the kernel evaluates conditions on steps once for many steps.
        // Without the copy, it would evaluate the conditions for each row of a register tile.
        let is_scattered = problem.operands[0].runs.is_some() || problem.operands[0].is_in_parts;
        if tiles.keeps_right_packed && tiles.left == LeftForm::Lines && is_once && !is_scattered {
            tiles.left = LeftForm::InPlace;
            let most = if tiles.adds_chains { even } else { problem.most_together() };
            tiles.tile_k = wanted_k.unwrap_or(most);
        }
        // Sizes that knobs set are never changed. If these sizes do not fit, the result is an
        // error.
        let (can_m, can_n) = (wanted_m.is_none(), wanted_n.is_none());
        if can_m && tiles.keeps_sums() {
            // The sums must fit into the block's memory.
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
        // Makes the tiles equally large without changing the number of tiles.
        let even = |tile: i64, size: i64, unit: i64| ceil_div(ceil_div(size, unit), ceil_div(size, tile)) * unit;
        if can_m {
            tiles.tile_m = even(tiles.tile_m, rows, height);
        }
        if can_n {
            tiles.tile_n = even(tiles.tile_n, columns, width);
        }
        tiles.grid = [ceil_div(rows, tiles.tile_m), ceil_div(columns, tiles.tile_n)];
        tiles.tiles_per_block = tiles.tiles_per_block(device);
        match tiles.shared_bytes() {
            needed if needed > limit => Err(EmitError::new(format!(
                "tiles of {} by {} by {} take {needed} bytes, a block has {limit}",
                tiles.tile_m, tiles.tile_n, tiles.tile_k
            ))),
            _ => Ok(tiles),
        }
    }

    /// Chooses the largest register tile that fits into the registers together with its operands.
    fn of_registers(problem: &ProductProblem, device: &DeviceDescription, micro: MicroProduct) -> TileSizes {
        let sizes = problem.sizes;
        let bytes = problem.sum.real_part().byte_size() as i64;
        let planes = micro.planes;
        let most_lanes = (i64::from(device.register_bytes.max(16)) / bytes).max(1);
        // If there are few columns, registers have only as many lanes as necessary, so that columns
        // can be read in place.
        let lanes = match (micro.kernel, (sizes.columns as u64).next_power_of_two() as i64) {
            (MicroKernel::Vectors, few) if planes == 1 => most_lanes.min(few.max(LEAST_LANES)),
            _ => most_lanes,
        };
        let registers = i64::from(device.registers.max(16));
        let [left, right] = &problem.operands;
        let needed = ceil_div(sizes.columns, lanes);
        // Packing transposes words, so that packed lines have contiguous steps in any case.
        let lies_along_steps = left.runs_along_steps || micro.multiplies_words();
        let usual = match () {
            () if planes > 1 => 1,
            () if lies_along_steps => VECTORS,
            () => VECTORS_BY_STEPS,
        };
        // In addition to the sums, registers hold a row of the right operand and an element of the
        // left operand. One register is spare.
        let rows_beside = |vectors: i64| ((registers - (vectors + 1) * planes) / (vectors * planes)).max(1);
        let tall = |vectors: i64| {
            let most = if planes > 1 { rows_beside(vectors) } else { rows_beside(vectors).min(rows_beside(VECTORS)) };
            if lies_along_steps { most } else { MOST_LINES.min(most) }
        };
        let (vectors, height) = match tall(usual) {
            // If there are few rows, each row gets more registers.
            most if sizes.rows * 2 <= most => {
                // With a single row, each element of the right operand is multiplied only once. The
                // multiplication reads it from memory, so that it needs no register.
                let lines = if sizes.rows == 1 && planes == 1 { 1 } else { sizes.rows + 1 };
                let wide = ((registers - planes) / (lines * planes)).min(MOST_VECTORS);
                (whole_part(needed, wide.min(needed).max(1)), sizes.rows)
            }
            _ => {
                let vectors = usual.min(needed);
                // If one register tile covers all columns, the kernel can read rows in place.
                let most = if needed <= usual { tall(vectors).min(MOST_LINES) } else { tall(vectors) };
                (vectors, even_height(sizes.rows, most, vectors))
            }
        };
        let form = match () {
            () if left.runs_along_steps => LeftForm::Lines,
            () if micro.multiplies_words() => LeftForm::Groups,
            () => LeftForm::Panels,
        };
        let transposes_right = right.runs_along_steps;
        // The right operand is not packed if the kernel would read a packed copy only a few times.
        let is_unpacked = sizes.rows <= height * UNPACKED_TILES
            && right.rows_of.is_some()
            && right.element == problem.factor
            && planes == 1
            && sizes.columns % (vectors * lanes) == 0;
        let (tile_m, tile_n, tile_k, tiles_per_block, grid) = (height, vectors * lanes, 1, 1, [1, 1]);
        TileSizes {
            micro,
            lanes,
            vectors,
            height,
            tile_m,
            tile_n,
            tile_k,
            tiles_per_block,
            grid,
            sizes,
            bytes,
            left: form,
            transposes_right,
            is_transposed_whole: right.runs.is_some(),
            is_unpacked,
            keeps_right_packed: false,
            adds_chains: false,
        }
    }

    /// Chooses two by two tile registers for sums. Four tile registers of sums and two for each
    /// operand are all tile registers of the processor. Chooses fewer tile registers if there are
    /// few lines.
    fn of_tile_registers(problem: &ProductProblem, micro: MicroProduct) -> TileSizes {
        let ProductSizes { rows, columns, .. } = problem.sizes;
        let tiles_for = |lines: i64| if lines <= TILE_LINES { 1 } else { 2 };
        let (vectors, height) = (tiles_for(columns), tiles_for(rows) * TILE_LINES);
        TileSizes {
            micro,
            lanes: TILE_LINES,
            vectors,
            height,
            tile_m: height,
            tile_n: vectors * TILE_LINES,
            tile_k: 1,
            tiles_per_block: 1,
            grid: [1, 1],
            sizes: problem.sizes,
            bytes: problem.sum.byte_size() as i64,
            left: if problem.operands[0].runs_along_steps { LeftForm::Lines } else { LeftForm::Groups },
            transposes_right: problem.operands[1].runs_along_steps,
            is_transposed_whole: problem.operands[1].runs.is_some(),
            is_unpacked: false,
            keeps_right_packed: false,
            adds_chains: false,
        }
    }

    /// Returns the number of products that the kernel may add before it converts the result to the
    /// type of the sums.
    fn most_together(&self, problem: &ProductProblem) -> i64 {
        if self.micro.multiplies_words() { self.sizes.steps } else { problem.most_together() }
    }

    /// Rounds a number of steps up to whole tiles if the kernel multiplies words.
    fn whole_steps(&self, steps: i64) -> i64 {
        if self.micro.multiplies_words() { self.in_registers(steps) } else { steps }
    }

    /// Whether the number of steps of every chunk is a multiple of `steps`.
    pub fn takes_steps_by(&self, steps: i64) -> bool {
        self.sizes.steps % steps == 0 && (self.tile_k % steps == 0 || self.chunks() == 1)
    }

    /// Whether the steps fill whole tiles, so that packing pads no tile with zeros.
    pub fn has_whole_tiles_of_steps(&self) -> bool {
        self.sizes.steps % self.micro.tile_steps() == 0
    }

    /// Whether all steps of a tile's columns can be packed at once. If all steps are packed at
    /// once, the kernel finishes the rows of one register tile before the next rows. The block's
    /// memory then holds only the sums of one register tile's rows.
    fn can_keep_right_packed(&self, limit: i64) -> bool {
        !self.is_unpacked
            && matches!(self.left, LeftForm::Lines | LeftForm::Groups)
            && TileSizes { keeps_right_packed: true, ..self.clone() }.shared_bytes() <= limit
    }

    /// Returns the numbers of rows and columns of a tile. Tiles are large, as long as there are
    /// enough tiles for all cores.
    fn spread(&self, device: &DeviceDescription) -> [i64; 2] {
        let ProductSizes { batch, rows, columns, .. } = self.sizes;
        let units = [self.height, self.width()];
        let panels = [ceil_div(rows, units[0]), ceil_div(columns, units[1])];
        let cores = i64::from(device.core_count);
        let products = self.products();
        let least = if products >= PRODUCTS_FOR_ALL_CORES { cores } else { 1 };
        let (of_block, most) = match self.micro.kernel {
            MicroKernel::Vectors => (PRODUCTS_PER_BLOCK, [(TILE_BYTES / self.bytes).max(1); 2]),
            // A tile has all rows, so that all rows use the same packed right operand.
            MicroKernel::Words => (PRODUCTS_PER_BLOCK * self.micro.group(), [rows, TILE_COLUMNS]),
            MicroKernel::Tiles => (PRODUCTS_PER_BLOCK_OF_TILES, [rows, TILE_COLUMNS]),
        };
        let wanted = (products / of_block).clamp(least, Balance::OfTiles.blocks(device));
        let mut parts = [ceil_div(rows, most[0].max(units[0])), ceil_div(columns, most[1].max(units[1]))];
        let size = |parts: [i64; 2], side: usize| ceil_div(panels[side], parts[side]) * units[side];
        while batch * parts[0] * parts[1] < wanted {
            // If the sides are about equal, splits columns, because packed columns are then used
            // for more rows.
            let longer = usize::from(size(parts, 1) + units[0] > size(parts, 0));
            let Some(side) = [longer, 1 - longer].into_iter().find(|&side| parts[side] < panels[side]) else { break };
            parts[side] = (parts[side] * 2).min(panels[side]);
        }
        [size(parts, 0), size(parts, 1)]
    }

    /// Returns the number of tiles per block. If tiles are small, a block has several tiles.
    fn tiles_per_block(&self, device: &DeviceDescription) -> i64 {
        let of_tile = self.tile_m * self.tile_n * self.sizes.steps;
        let enough = ceil_div(self.tiles(), Balance::OfTiles.blocks(device));
        (PRODUCTS_FOR_ALL_CORES / of_tile.max(1)).clamp(1, enough.max(1))
    }

    /// Returns for each operand how many of its elements the kernel reads per element of the
    /// result. The kernel reads the left operand once per column of tiles, and the right operand
    /// once per row of tiles.
    pub fn reads_per_result(&self) -> [f64; 2] {
        let ProductSizes { rows, columns, steps, .. } = self.sizes;
        let [down, across] = self.grid.map(|tiles| tiles as f64);
        [steps as f64 * across / columns as f64, steps as f64 * down / rows as f64]
    }

    /// Returns the number of all products.
    pub fn products(&self) -> i64 {
        let ProductSizes { batch, rows, columns, steps } = self.sizes;
        [batch, rows, columns, steps].iter().product()
    }

    /// Returns the number of all tiles.
    pub fn tiles(&self) -> i64 {
        self.sizes.batch * self.grid[0] * self.grid[1]
    }

    fn blocks(&self) -> i64 {
        ceil_div(self.tiles(), self.tiles_per_block)
    }

    /// Returns the number of columns of a register tile.
    pub fn width(&self) -> i64 {
        self.lanes * self.vectors
    }

    /// Returns the grain of packing, a number of steps: packed ranges of an operand's steps begin
    /// and end at multiples of this number.
    pub fn grain(&self, is_right: bool) -> i64 {
        if is_right && self.keeps_right_packed {
            self.sizes.steps
        } else {
            common_divisor(self.sizes.steps, self.tile_k)
        }
    }

    /// Returns the number of chunks of steps.
    pub fn chunks(&self) -> i64 {
        ceil_div(self.sizes.steps, self.tile_k)
    }

    /// Returns the number of elements by which lines are longer than a power of two.
    fn skew(&self, bytes: i64) -> i64 {
        SKEW_BYTES / bytes
    }

    /// Rounds a number of steps up to whole registers.
    fn in_registers(&self, steps: i64) -> i64 {
        let unit = if self.micro.multiplies_words() { self.micro.tile_steps() } else { self.lanes };
        ceil_div(steps, unit) * unit
    }

    /// Returns the length of a packed row of `elements` elements. A real element is one number, and
    /// a complex element is two numbers.
    fn planes(&self, elements: i64) -> i64 {
        elements * self.micro.planes
    }

    /// Returns the number of steps of the right operand that are packed at once.
    fn packed_steps(&self) -> i64 {
        if self.keeps_right_packed { self.sizes.steps } else { self.tile_k }
    }

    /// Whether the sums of all rows are kept between chunks of steps.
    pub fn keeps_sums(&self) -> bool {
        self.chunks() > 1 && !self.keeps_right_packed
    }

    /// Returns the number of rows of a register tile, rounded up to whole squares if the rows are
    /// transposed.
    fn transposed_rows(&self) -> i64 {
        if self.left == LeftForm::Groups { ceil_div(self.height, self.lanes) * self.lanes } else { self.height }
    }

    /// Returns the dimensions of the packed left operand, see [`LeftForm`].
    pub fn left_dims(&self) -> [i64; 3] {
        match self.left {
            LeftForm::Lines | LeftForm::Groups => {
                [1, self.transposed_rows(), self.planes(self.in_registers(self.tile_k) + self.skew(self.micro.bytes()))]
            }
            LeftForm::Panels => {
                let skew = ceil_div(self.skew(self.micro.bytes()), self.height);
                [self.tile_m / self.height, self.tile_k + skew, self.planes(self.height)]
            }
            LeftForm::InPlace => [1, 1, 1],
        }
    }

    /// Returns the dimensions of the packed right operand: `[register tile, step, column]`, or for
    /// words `[register tile, group of steps, columns times steps of the group]`. With one extra
    /// step, the distance between register tiles is no power of two.
    pub fn right_dims(&self) -> [i64; 3] {
        if self.is_unpacked {
            return [1, 1, 1];
        }
        let (steps, group) = (self.in_registers(self.packed_steps()), self.micro.group());
        [self.tile_n / self.width(), steps / group + 1, self.planes(self.width() * group)]
    }

    /// Returns the shape of the squares that the kernel transposes in registers.
    pub fn squares(&self) -> SquareShape {
        SquareShape { size: self.lanes, word: self.micro.group() }
    }

    /// Returns the number of the right operand's steps that packing transposes at once.
    pub fn transposed_steps(&self) -> i64 {
        let most = if self.is_transposed_whole { self.packed_steps() } else { LINE_BYTES / self.micro.bytes() };
        self.in_registers(self.packed_steps().min(most))
    }

    /// Returns the dimensions of the left operand's rows before the transpose: `[panel, group of
    /// steps, row]`.
    pub fn groups_dims(&self) -> [i64; 3] {
        match self.left {
            LeftForm::Groups => {
                let (row, group) = (self.squares().row(), self.micro.group());
                [self.transposed_rows() / self.lanes, self.in_registers(self.tile_k) / group, row]
            }
            _ => [1; 3],
        }
    }

    /// Returns the dimensions of the lines that are transposed at once: `[0, column, step]`.
    pub fn transposed_dims(&self) -> Option<[i64; 3]> {
        self.transposes_right
            .then(|| [1, self.lanes, self.planes(self.transposed_steps() + self.skew(self.micro.bytes()))])
    }

    /// Returns the dimensions of the tensor of sums. If the kernel finishes a register tile's rows
    /// before the next rows, the tensor holds only the sums of these rows.
    pub fn sum_dims(&self) -> [i64; 2] {
        [if self.keeps_sums() { self.tile_m } else { self.height }, self.planes(self.tile_n + self.skew(self.bytes))]
    }

    /// Returns the distance between the real and the imaginary parts of sums.
    pub fn sums_apart(&self) -> i64 {
        self.sum_dims()[1] / self.micro.planes
    }

    /// Returns the dimensions of the offsets. An offset is the number that the left operand's
    /// `OFFSET` adds to the sums of one column of a tile.
    pub fn offset_dims(&self) -> [i64; 1] {
        [if self.micro.is_offset { self.tile_n } else { 1 }]
    }

    fn shared_bytes(&self) -> i64 {
        let count = |dims: &[i64]| dims.iter().product::<i64>();
        let transposed = self.transposed_dims().map_or(0, |dims| count(&dims));
        let packed = count(&self.left_dims()) + count(&self.groups_dims()) + count(&self.right_dims()) + transposed;
        packed * self.micro.bytes() + (count(&self.sum_dims()) + count(&self.offset_dims())) * self.bytes
    }

    /// Returns the map `(tile) -> (batch, first row, first column)`.
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
