//! Products of tiles in shared memory, computed by all threads of a block. Each thread holds the
//! sums for some rows and columns of the results in registers.
//!
//! ```text
//! block            a tile of the results, over all steps, in chunks of `tile_k` steps
//! thread           CHUNK rows by CHUNK columns, once or twice in each direction
//! shared memory    [groups of CHUNK steps][steps of a group, lines]: threads that write adjacent steps or
//!                  lines use different banks, and the lines that a thread reads are adjacent
//! ```

use fusebox_core::builder::{FunctionBuilder, Scalar, Type, Value};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Decline};
use fusebox_core::hlo::ElementType;
use fusebox_core::indexing::{Expr, IndexingMap};

use super::grid::ResultGrid;
use super::passes::WritePasses;
use super::pipeline::{TILE_M, TILE_N, TileMultiplier};
use super::tile_copy::{SharedTileLayout, TileCopy};
use crate::multiply::add_product;
use crate::problem::ProductProblem;

const TILE_K: &str = "tile_k";
/// Bytes that a thread reads from shared memory at once.
const CHUNK_BYTES: i64 = 16;
/// Bytes that all banks of shared memory deliver at a time.
const BANK_BYTES: i64 = 128;
/// Numbers of steps that a tile may have. The first number is preferred for elements of at least
/// four bytes, and the second number for smaller elements.
const STEPS: [i64; 2] = [8, 16];
/// Available tilings, in chunks of rows and columns: the size of a tile, and the size of a thread's
/// part. With large tiles, the kernel reads less memory. With small tiles, there are more blocks.
const MENU: [ThreadTiling; 10] = [
    ThreadTiling::new([32, 32], [2, 2]),
    ThreadTiling::new([32, 16], [2, 2]),
    ThreadTiling::new([16, 32], [2, 2]),
    ThreadTiling::new([16, 16], [2, 1]),
    ThreadTiling::new([16, 8], [1, 1]),
    ThreadTiling::new([8, 16], [1, 1]),
    ThreadTiling::new([8, 8], [1, 1]),
    ThreadTiling::new([32, 4], [1, 1]),
    ThreadTiling::new([4, 32], [1, 1]),
    ThreadTiling::new([4, 8], [1, 1]),
];
/// Time of an instruction on eight bytes, relative to the time of an instruction on four bytes.
const WIDE: f64 = 2.0;
/// Time to copy an element to shared memory, in instructions.
const COPY: f64 = 8.0;

/// Sizes of a tile and of a thread's part of the tile, in chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ThreadTiling {
    tile: [i64; 2],
    thread: [i64; 2],
}

impl ThreadTiling {
    const fn new(tile: [i64; 2], thread: [i64; 2]) -> ThreadTiling {
        ThreadTiling { tile, thread }
    }

    /// Returns the numbers of threads along rows and along columns.
    fn threads(&self) -> [i64; 2] {
        [0, 1].map(|side| self.tile[side] / self.thread[side])
    }
}

/// The sizes that the emitter chooses.
#[derive(Clone, Debug)]
pub struct BlockContraction {
    pub grid: ResultGrid,
    form: ThreadTiling,
    /// Number of elements that a thread reads from shared memory at once.
    chunk: i64,
    pub steps: i64,
    /// Bytes of a sum.
    bytes: i64,
    sum: ElementType,
    /// Whether steps, not lines, are contiguous in each operand.
    along_steps: [bool; 2],
}

/// A tile of one operand in shared memory.
#[derive(Clone, Copy, Debug)]
struct LineTile {
    lines: i64,
    steps: i64,
    group: i64,
    bytes: i64,
}

impl SharedTileLayout for LineTile {
    fn dims(&self) -> Vec<i64> {
        let groups = self.steps / self.group;
        // With this padding, threads that write steps of different groups write to adjacent banks.
        let skew = (BANK_BYTES / self.bytes / groups).max(self.group);
        vec![groups, self.group * self.lines + skew]
    }

    fn place(&self, line: Expr, step: Expr) -> Vec<Expr> {
        vec![step.clone().floor_div(self.group), step.modulo(self.group) * self.lines + line]
    }

    fn runs_along_steps(&self) -> bool {
        false
    }
}

impl BlockContraction {
    pub fn threads(&self) -> i64 {
        let [down, across] = self.form.threads();
        down * across
    }

    fn layout(&self, side: usize) -> LineTile {
        LineTile { lines: self.grid.tile[side], steps: self.steps, group: self.chunk, bytes: self.bytes }
    }

    /// Returns the thread's row and column in the tile, in chunks. A warp is eight threads wide, or
    /// as wide as the tile.
    fn thread(&self, thread: Expr) -> [Expr; 2] {
        let [_, across] = self.form.threads();
        let wide = across.min(8);
        let (warp, lane) = (thread.clone().floor_div(32), thread.modulo(32));
        let (warps, high) = (across / wide, 32 / wide);
        [
            warp.clone().floor_div(warps) * high + lane.clone().floor_div(wide),
            warp.modulo(warps) * wide + lane.modulo(wide),
        ]
    }

    fn lines_of(&self, side: usize, thread: Expr, step: Expr, chunk: Expr) -> Vec<Expr> {
        let own = self.thread(thread)[side].clone();
        let line = (chunk * self.form.threads()[side] + own) * self.chunk;
        self.layout(side).place(line, step)
    }
}

impl TileMultiplier for BlockContraction {
    fn suits(_: &ProductProblem, _: &DeviceDescription) -> Result<(), Decline> {
        Ok(())
    }

    fn forms(problem: &ProductProblem) -> Vec<BlockContraction> {
        let bytes = problem.sum.byte_size() as i64;
        let chunk = (CHUNK_BYTES / bytes).max(1);
        let is_narrow = problem.operands.iter().any(|operand| operand.element.byte_size() < 4);
        let mut all_steps = STEPS;
        if is_narrow && problem.sizes.steps > STEPS[0] {
            all_steps.reverse();
        }
        let form = |steps| {
            MENU.map(|form| BlockContraction {
                grid: ResultGrid { sizes: problem.sizes, tile: form.tile.map(|chunks| chunks * chunk) },
                form,
                chunk,
                steps,
                bytes,
                sum: problem.sum,
                along_steps: [0, 1].map(|side| problem.operands[side].runs_along_steps),
            })
        };
        all_steps.into_iter().flat_map(form).collect()
    }

    fn configuration(&self) -> Configuration {
        let [m, n] = self.grid.tile;
        Configuration::from([(TILE_M, m), (TILE_N, n), (TILE_K, self.steps)])
    }

    fn note(&self) -> String {
        let [height, width] = self.form.thread.map(|chunks| chunks * self.chunk);
        format!("{height} by {width} sums of a thread")
    }

    fn per_product(&self) -> f64 {
        let share = |sizes: [i64; 2]| sizes.iter().map(|&size| 1.0 / (size as f64)).sum::<f64>();
        let alone = if self.bytes > 4 { WIDE } else { 1.0 };
        alone + share(self.form.thread.map(|chunks| chunks * self.chunk)) + COPY * share(self.grid.tile)
    }

    fn shared_bytes(&self) -> i64 {
        let count = |dims: &[i64]| dims.iter().product::<i64>();
        let tiles = 2 * (count(&self.layout(0).dims()) + count(&self.layout(1).dims()));
        (tiles + count(&self.passes().dims(&self.grid))) * self.bytes
    }

    fn passes(&self) -> WritePasses {
        let [down, _] = self.form.threads();
        WritePasses {
            count: self.form.thread[0] * self.chunk,
            rows: down,
            side_by_side: down,
            stride: 0,
            row_spacing: self.chunk,
            rotation: 0,
            threads: self.threads(),
        }
    }

    fn fill(&self, side: usize) -> TileCopy {
        TileCopy {
            lines: self.grid.tile[side],
            steps: self.steps,
            group: self.chunk,
            along_steps: self.along_steps[side],
            pack: 1,
            across: 1,
            threads: self.threads(),
        }
    }

    fn grid(&self) -> &ResultGrid {
        &self.grid
    }

    fn steps(&self) -> i64 {
        self.steps
    }

    fn layout(&self, side: usize) -> Box<dyn SharedTileLayout> {
        Box::new(BlockContraction::layout(self, side))
    }

    fn factor(&self) -> ElementType {
        self.sum
    }

    fn sums(&self) -> Vec<Type> {
        let [down, across] = self.form.thread;
        let vector = Type::vector(&[self.chunk], Scalar::of_element(self.sum));
        vec![vector; (down * self.chunk * across) as usize]
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
        for step in 0..self.steps {
            let step = b.index(step);
            let [left, right] = [0, 1].map(|side| {
                let chunks: Vec<Value> = (0..self.form.thread[side])
                    .map(|chunk| {
                        let place = self.lines_of(side, Expr::dim(0), Expr::dim(1), Expr::constant(chunk));
                        let map = IndexingMap::from_tensor_sizes(place, &[self.threads(), self.steps], &[]).simplify();
                        let place = b.apply_indexing(&map, &[thread, step]);
                        b.vector_read(tiles[side], &[&[buffer], place.as_slice()].concat(), self.chunk)
                    })
                    .collect();
                chunks
            });
            let across = right.len();
            for (number, sum) in sums.iter_mut().enumerate() {
                let (row, column) = (number / across, number % across);
                let element = b.vector_extract(left[row / self.chunk as usize], row as i64 % self.chunk);
                let element = b.vector_broadcast(element, self.chunk);
                *sum = add_product(b, element, right[column], *sum);
            }
        }
        sums
    }

    fn put(&self, b: &mut FunctionBuilder, thread: Value, pass: usize, sums: &[Value], tile: Value) -> Value {
        let across = self.form.thread[1] as usize;
        let place = self.thread(Expr::dim(0));
        let place = IndexingMap::from_tensor_sizes(place.to_vec(), &[self.threads()], &[]).simplify();
        let own = b.apply_indexing(&place, &[thread]);
        sums[pass * across..(pass + 1) * across].iter().enumerate().fold(tile, |tile, (chunk, &sum)| {
            let first = b.index(chunk as i64 * self.form.threads()[1]);
            let (column, by) = (b.addi(own[1], first), b.index(self.chunk));
            let column = b.muli(column, by);
            b.vector_write(sum, tile, &[own[0], column])
        })
    }
}

#[cfg(test)]
mod tests {
    use fusebox_core::analysis::{TileAccess, bank_conflicts};
    use fusebox_core::indexing::{Proof, covers_exactly_once};

    use super::*;
    use crate::problem::ProductSizes;

    fn tiles(form: ThreadTiling, element: ElementType, steps: i64, along_steps: bool) -> BlockContraction {
        let bytes = element.byte_size() as i64;
        let chunk = CHUNK_BYTES / bytes;
        let sizes = ProductSizes { batch: 1, rows: 512, columns: 512, steps: 512 };
        let grid = ResultGrid { sizes, tile: form.tile.map(|chunks| chunks * chunk) };
        BlockContraction { grid, form, chunk, steps, bytes, sum: element, along_steps: [along_steps; 2] }
    }

    #[test]
    fn threads_share_a_tile_of_any_form() {
        for form in MENU {
            let tiles = tiles(form, ElementType::F32, 8, true);
            let [rows, columns] = form.threads();
            let map = IndexingMap::from_tensor_sizes(tiles.thread(Expr::dim(0)).to_vec(), &[tiles.threads()], &[]);
            assert_eq!(covers_exactly_once(&map, &[rows, columns]), Ok(Proof::Structural), "{form:?}: {map}");
        }
    }

    /// No access to shared memory has a bank conflict. The test covers reads of factors and writes
    /// of copied elements.
    #[test]
    fn threads_of_a_warp_reach_different_banks() {
        for element in [ElementType::F32, ElementType::F64, ElementType::S32] {
            for form in MENU {
                for (steps, along_steps) in [(8, true), (8, false), (16, true), (16, false)] {
                    let tiles = tiles(form, element, steps, along_steps);
                    for side in 0..2 {
                        let layout = tiles.layout(side);
                        let place = tiles.lines_of(side, Expr::dim(0), Expr::range(0), Expr::range(1));
                        let ranges = [steps, form.thread[side]];
                        let reads = IndexingMap::from_tensor_sizes(place, &[tiles.threads()], &ranges);
                        let element_bytes = element.byte_size() as u32;
                        let chunk = TileAccess { element_bytes, lanes: tiles.chunk as u32 };
                        assert_eq!(bank_conflicts(&reads, &layout.dims(), chunk, 32), 1, "{form:?} reads {element}");
                        let lanes = if along_steps { 1 } else { tiles.chunk as u32 };
                        let writes = tiles.fill(side).writes(&layout);
                        let turns = bank_conflicts(&writes, &layout.dims(), TileAccess { element_bytes, lanes }, 32);
                        assert_eq!(turns, 1, "{form:?} of {element} writes {steps} steps, along steps: {along_steps}");
                    }
                }
            }
        }
    }
}
