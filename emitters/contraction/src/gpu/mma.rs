//! Products of tiles in shared memory. A warp multiplies two small matrices by one instruction.
//!
//! ```text
//! block            a tile of the results, over all steps, in chunks of `tile_k` steps
//! warp             a rectangle of products, one instruction each
//! shared memory    operand contiguous along steps    [line][steps]
//!                  operand contiguous along lines    [words of steps][lines, steps of a word]
//! ```
//!
//! The lanes of a warp are its threads. Each lane reads words, which hold the elements of
//! neighbouring steps. All lanes of a warp read from different banks of shared memory.

use fusebox_core::builder::{FunctionBuilder, Type, Value};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::Decline;
use fusebox_core::hlo::ElementType;
use fusebox_core::indexing::{Expr, IndexingMap};
use fusebox_core::ir::{MatrixProduct, PRODUCT_LANES};

use super::grid::ResultGrid;
use super::passes::WritePasses;
use super::pipeline::TileMultiplier;
use super::tile_copy::{SharedTileLayout, TileCopy};
use crate::problem::ProductProblem;

/// `PLACES` lanes hold the words of one row or column. All lanes of a warp together hold words of
/// `GROUPS` rows or columns.
const PLACES: i64 = 4;
const GROUPS: i64 = 8;
/// Bytes that the steps of one line occupy in a tile.
const LINE_BYTES: i64 = 64;
/// Bytes that a thread copies at once.
const COPY_BYTES: i64 = 16;
/// Bytes of padding after a row of words in shared memory, so that the next row begins in another
/// bank.
const SKEW_BYTES: i64 = 32;
/// Number of elements by which a row of sums is rotated in shared memory, relative to the previous
/// row. The lanes that hold sums of one row together write `ROTATION` elements at a time.
const ROTATION: i64 = 8;
/// Available tilings: numbers of warps along rows and columns, and numbers of matrix products per
/// warp along rows and columns.
const MENU: [WarpTiling; 7] = [
    WarpTiling::new([2, 4], [4, 4]),
    WarpTiling::new([2, 2], [4, 4]),
    WarpTiling::new([1, 4], [4, 4]),
    WarpTiling::new([2, 2], [2, 4]),
    WarpTiling::new([2, 2], [1, 4]),
    WarpTiling::new([2, 2], [1, 2]),
    WarpTiling::new([1, 4], [2, 2]),
];

/// Numbers of warps of a tile along rows and columns, and numbers of matrix products of a warp
/// along rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WarpTiling {
    warps: [i64; 2],
    products: [i64; 2],
}

impl WarpTiling {
    const fn new(warps: [i64; 2], products: [i64; 2]) -> WarpTiling {
        WarpTiling { warps, products }
    }

    /// Returns the numbers of rows and columns of a tile.
    fn tile(&self, product: MatrixProduct) -> [i64; 2] {
        let shape = product.shape();
        [0, 1].map(|side| self.warps[side] * self.products[side] * shape[side])
    }
}

/// Returns the instruction for the types of a fusion's operands and sums.
fn product_of(problem: &ProductProblem) -> Option<MatrixProduct> {
    use ElementType::{BF16, F16, F32, F64, S32};
    let elements = [0, 1].map(|side: usize| problem.operands[side].element);
    let all = |fits: &dyn Fn(ElementType) -> bool| elements.iter().all(|&element| fits(element));
    // These floats of eight bits convert exactly to floats of sixteen bits.
    let is_small = |element| matches!(element, ElementType::F8E4M3FN | ElementType::F8E5M2);
    match problem.sum {
        F32 if all(&|element| element == BF16 || is_small(element)) => Some(MatrixProduct::Bf16),
        F32 if all(&|element| element == F16 || is_small(element)) => Some(MatrixProduct::F16),
        F64 if all(&|element| element == F64) => Some(MatrixProduct::F64),
        S32 if all(&|element| element.is_signed_integer() && element.bits() <= 8) => Some(MatrixProduct::I8),
        _ => None,
    }
}

/// Returns the type to which an operand's elements are converted.
fn factor(product: MatrixProduct) -> ElementType {
    match product {
        MatrixProduct::Bf16 => ElementType::BF16,
        MatrixProduct::F16 => ElementType::F16,
        MatrixProduct::I8 => ElementType::S8,
        MatrixProduct::F64 => ElementType::F64,
    }
}

/// Returns the cost of one product of two numbers in a matrix instruction, relative to the cost of
/// an instruction that multiplies two numbers.
fn cost(product: MatrixProduct) -> f64 {
    match product {
        MatrixProduct::Bf16 | MatrixProduct::F16 => 1.0 / 16.0,
        MatrixProduct::I8 => 1.0 / 32.0,
        MatrixProduct::F64 => 1.0,
    }
}

/// The sizes that the emitter chooses.
#[derive(Clone, Debug)]
pub struct MmaContraction {
    grid: ResultGrid,
    form: WarpTiling,
    product: MatrixProduct,
    /// Whether steps, not lines, are contiguous in each operand.
    along_steps: [bool; 2],
}

/// A tile of one operand in shared memory.
#[derive(Clone, Copy, Debug)]
struct WordTile {
    lines: i64,
    steps: i64,
    /// Number of steps per word.
    pack: i64,
    /// Bytes of an element.
    bytes: i64,
    along_steps: bool,
}

impl WordTile {
    fn word_bytes(&self) -> i64 {
        self.pack * self.bytes
    }
}

impl SharedTileLayout for WordTile {
    fn dims(&self) -> Vec<i64> {
        // Four words of padding after each line spread the words of eight lines evenly over all
        // banks.
        let behind_line = PLACES * self.word_bytes() / self.bytes;
        if self.along_steps {
            vec![self.lines, self.steps + behind_line]
        } else {
            vec![self.steps / self.pack, self.lines * self.pack + SKEW_BYTES / self.bytes]
        }
    }

    fn place(&self, line: Expr, step: Expr) -> Vec<Expr> {
        if self.along_steps {
            vec![line, step]
        } else {
            vec![step.clone().floor_div(self.pack), line * self.pack + step.modulo(self.pack)]
        }
    }

    fn runs_along_steps(&self) -> bool {
        self.along_steps
    }
}

impl MmaContraction {
    /// Returns the bytes of an operand's element.
    fn bytes(&self) -> i64 {
        self.product.factor().byte_size() as i64
    }

    fn threads(&self) -> i64 {
        self.form.warps[0] * self.form.warps[1] * PRODUCT_LANES
    }

    fn layout(&self, side: usize) -> WordTile {
        WordTile {
            lines: self.grid.tile[side],
            steps: LINE_BYTES / self.bytes(),
            pack: self.product.pack(),
            bytes: self.bytes(),
            along_steps: self.along_steps[side],
        }
    }

    /// Returns the number of the thread's warp along rows (`side` 0) or along columns (`side` 1).
    fn warp(&self, side: usize, thread: &Expr) -> Expr {
        let warp = thread.clone().floor_div(PRODUCT_LANES);
        let across = self.form.warps[1];
        if side == 0 { warp.floor_div(across) } else { warp.modulo(across) }
    }

    /// Returns the line and the first step of a thread's word in the tile. `number` is the number
    /// of the matrix product along the operand's lines, and `along` is its number along the steps.
    fn word(&self, side: usize, thread: &Expr, [number, along, word]: [Expr; 3]) -> [Expr; 2] {
        let shape = self.product.shape();
        let lane = thread.clone().modulo(PRODUCT_LANES);
        let (group, place) = (lane.clone().floor_div(PLACES), lane.modulo(PLACES));
        let first = (self.warp(side, thread) * self.form.products[side] + number) * shape[side];
        let halves = shape[side] / GROUPS;
        let line = first + group + word.clone().modulo(halves) * GROUPS;
        let step = along * shape[2] + (place + word.floor_div(halves) * PLACES) * self.product.pack();
        [line, step]
    }

    /// Returns the map `(th)[along the steps, number, word] -> place in shared memory`.
    fn reads(&self, side: usize) -> IndexingMap {
        let [line, step] = self.word(side, &Expr::dim(0), [Expr::range(1), Expr::range(0), Expr::range(2)]);
        let sizes = [self.along(), self.form.products[side], self.product.words()[side]];
        IndexingMap::from_tensor_sizes(self.layout(side).place(line, step), &[self.threads()], &sizes)
    }

    /// Returns the number of matrix products along the steps of a tile.
    fn along(&self) -> i64 {
        LINE_BYTES / self.bytes() / self.product.shape()[2]
    }

    /// Returns the number of groups of eight rows in a matrix product.
    fn halves(&self) -> i64 {
        self.product.shape()[0] / GROUPS
    }

    /// Returns the map `(th)[number across] -> place in shared memory`. A thread writes two
    /// adjacent sums of a pass to the place that the map returns.
    fn puts(&self) -> IndexingMap {
        let thread = Expr::dim(0);
        let lane = thread.clone().modulo(PRODUCT_LANES);
        let row = self.warp(0, &thread) * GROUPS + lane.clone().floor_div(PLACES);
        let product = self.warp(1, &thread) * self.form.products[1] + Expr::range(0);
        let column = product * self.product.shape()[1] + lane.modulo(PLACES) * 2;
        let place = self.passes().place(&self.grid, row, column);
        IndexingMap::from_tensor_sizes(place.to_vec(), &[self.threads()], &[self.form.products[1]])
    }
}

impl TileMultiplier for MmaContraction {
    fn suits(problem: &ProductProblem, device: &DeviceDescription) -> Result<(), Decline> {
        match product_of(problem) {
            None => Err(Decline::new("there is no instruction for matrices of these types")),
            Some(product) if !device.matrix_products.contains(&product) => {
                Err(Decline::new(format!("the device has no instruction for {}", product.name())))
            }
            Some(_) => Ok(()),
        }
    }

    fn forms(problem: &ProductProblem) -> Vec<MmaContraction> {
        let of = |product| {
            MENU.map(|form| MmaContraction {
                grid: ResultGrid { sizes: problem.sizes, tile: form.tile(product) },
                form,
                product,
                along_steps: [0, 1].map(|side| problem.operands[side].runs_along_steps),
            })
        };
        product_of(problem).into_iter().flat_map(of).collect()
    }

    fn note(&self) -> String {
        let [down, across] = self.form.products;
        format!("{down} by {across} {} of a warp", self.product.name())
    }

    fn per_product(&self) -> f64 {
        let [down, across] = self.form.products;
        let [left, right, _] = self.product.words();
        let products: i64 = self.product.shape().iter().product::<i64>() * down * across;
        let reads = (PRODUCT_LANES * (down * left + across * right)) as f64 / products as f64;
        let copied: f64 = self.grid.tile.iter().map(|&size| 1.0 / size as f64).sum();
        cost(self.product) + reads + copied
    }

    fn shared_bytes(&self) -> i64 {
        let count = |dims: &[i64]| dims.iter().product::<i64>();
        let tiles = 2 * (count(&self.layout(0).dims()) + count(&self.layout(1).dims()));
        tiles * self.bytes() + count(&self.passes().dims(&self.grid)) * self.product.sum().byte_size() as i64
    }

    fn passes(&self) -> WritePasses {
        WritePasses {
            count: self.form.products[0] * self.halves(),
            rows: self.form.warps[0] * GROUPS,
            side_by_side: GROUPS,
            stride: self.form.products[0] * self.product.shape()[0],
            row_spacing: 1,
            rotation: ROTATION,
            threads: self.threads(),
        }
    }

    fn fill(&self, side: usize) -> TileCopy {
        let (along_steps, pack, bytes) = (self.along_steps[side], self.product.pack(), self.bytes());
        // If a word holds several steps, a copy covers fewer lines.
        let group = COPY_BYTES / bytes / if along_steps { 1 } else { pack };
        // With these values, the writes of adjacent threads reach all banks.
        let across = match bytes * pack {
            _ if !along_steps => 1,
            5.. => 4,
            _ => 8,
        };
        let (lines, steps) = (self.grid.tile[side], LINE_BYTES / bytes);
        TileCopy { lines, steps, group, along_steps, pack, across, threads: self.threads() }
    }

    fn grid(&self) -> &ResultGrid {
        &self.grid
    }

    fn steps(&self) -> i64 {
        LINE_BYTES / self.bytes()
    }

    fn layout(&self, side: usize) -> Box<dyn SharedTileLayout> {
        Box::new(MmaContraction::layout(self, side))
    }

    fn factor(&self) -> ElementType {
        factor(self.product)
    }

    fn sums(&self) -> Vec<Type> {
        let [down, across] = self.form.products;
        vec![self.product.sum().into(); (down * across * self.product.words()[2]) as usize]
    }

    fn multiply(
        &self,
        b: &mut FunctionBuilder,
        thread: Value,
        buffer: Value,
        tiles: [Value; 2],
        sums: &[Value],
    ) -> Vec<Value> {
        let mut sums = sums.to_vec();
        let pack = self.product.pack();
        for along in 0..self.along() {
            let [left, right] = [0, 1].map(|side: usize| {
                let map = super::ranges_as_dims(&self.reads(side));
                let words = self.product.words()[side];
                let product = |b: &mut FunctionBuilder, number: i64| -> Vec<Value> {
                    (0..words)
                        .map(|word| {
                            let at = [along, number, word].map(|value| b.index(value));
                            let place = b.apply_indexing(&map, &[&[thread], at.as_slice()].concat());
                            let place = [&[buffer], place.as_slice()].concat();
                            match pack {
                                1 => b.extract(tiles[side], &place),
                                _ => b.vector_read(tiles[side], &place, pack),
                            }
                        })
                        .collect()
                };
                let all: Vec<Vec<Value>> = (0..self.form.products[side]).map(|number| product(b, number)).collect();
                all
            });
            let of_product = self.product.words()[2] as usize;
            for (number, sums) in sums.chunks_mut(of_product).enumerate() {
                let (down, across) = (number / right.len(), number % right.len());
                let next = b.matrix_product(self.product, &left[down], &right[across], sums);
                sums.copy_from_slice(&next);
            }
        }
        sums
    }

    fn put(&self, b: &mut FunctionBuilder, thread: Value, pass: usize, sums: &[Value], tile: Value) -> Value {
        let map = super::ranges_as_dims(&self.puts());
        let (halves, of_product) = (self.halves() as usize, self.product.words()[2] as usize);
        let (down, half) = (pass / halves, pass % halves);
        let across = self.form.products[1] as usize;
        (0..across).fold(tile, |tile, number| {
            let first = (down * across + number) * of_product + 2 * half;
            let pair = b.vector_from_elements(&sums[first..first + 2]);
            let number = b.index(number as i64);
            let place = b.apply_indexing(&map, &[thread, number]);
            b.vector_write(pair, tile, &place)
        })
    }
}

#[cfg(test)]
mod tests {
    use fusebox_core::analysis::{TileAccess, bank_conflicts};

    use super::*;
    use crate::problem::ProductSizes;

    /// No access to shared memory has a bank conflict. The test covers reads of words, writes of
    /// copied elements, and writes of sums.
    #[test]
    fn threads_of_a_warp_reach_different_banks() {
        for product in MatrixProduct::ALL {
            for form in MENU {
                for along_steps in [true, false] {
                    let sizes = ProductSizes { batch: 1, rows: 512, columns: 512, steps: 512 };
                    let grid = ResultGrid { sizes, tile: form.tile(product) };
                    let tiles = MmaContraction { grid, form, product, along_steps: [along_steps; 2] };
                    let element_bytes = tiles.bytes() as u32;
                    for side in 0..2 {
                        let dims = tiles.layout(side).dims();
                        let word = TileAccess { element_bytes, lanes: product.pack() as u32 };
                        let turns = bank_conflicts(&tiles.reads(side), &dims, word, 32);
                        assert_eq!(turns, 1, "{product:?}, {form:?} reads, along steps: {along_steps}");
                        let writes = tiles.fill(side).writes(&tiles.layout(side));
                        let copied = TileAccess { element_bytes, lanes: COPY_BYTES as u32 / element_bytes };
                        let turns = bank_conflicts(&writes, &dims, copied, 32);
                        assert_eq!(turns, 1, "{product:?}, {form:?} writes, along steps: {along_steps}");
                    }
                    let pair = TileAccess { element_bytes: product.sum().byte_size() as u32, lanes: 2 };
                    let dims = tiles.passes().dims(&grid);
                    assert_eq!(bank_conflicts(&tiles.puts(), &dims, pair, 32), 1, "{product:?}, {form:?} sums");
                }
            }
        }
    }

    /// For each lane, the maps of reads yield the words that the description of the matrix
    /// instruction assigns to this lane.
    #[test]
    fn words_are_where_the_instruction_has_them() {
        for product in MatrixProduct::ALL {
            let form = MENU[0];
            let sizes = ProductSizes { batch: 1, rows: 512, columns: 512, steps: 512 };
            let grid = ResultGrid { sizes, tile: form.tile(product) };
            let tiles = MmaContraction { grid, form, product, along_steps: [true; 2] };
            for lane in 0..PRODUCT_LANES {
                for (side, of_lane) in [(0, MatrixProduct::left as fn(_, _, _) -> _), (1, MatrixProduct::right)] {
                    for word in 0..product.words()[side] {
                        let found = tiles.reads(side).evaluate(&[lane], &[0, 0, word], &[]);
                        assert_eq!(found, of_lane(product, lane, word), "{product:?}");
                    }
                }
            }
        }
    }
}
