//! Products of tiles in shared memory. Groups of four warps multiply the tiles with instructions
//! that read both operands from shared memory.
//!
//! ```text
//! block            a tile of the results, over all steps, in chunks
//! group            64 rows of the tile, all of its columns
//! shared memory    squares of 8 lines by 8 steps, one after another along lines, then along steps;
//!                  the contiguous dimension of a square is the operand's contiguous dimension
//! ```

use fusebox_core::builder::{FunctionBuilder, IntPredicate, Scalar, Type, Value};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::Decline;
use fusebox_core::hlo::ElementType;
use fusebox_core::indexing::{Expr, IndexingMap};
use fusebox_core::ir::{GROUP_ROWS, GROUP_THREADS, PRODUCT_LANES, TILE_SQUARE};

use super::grid::ResultGrid;
use super::passes::WritePasses;
use super::pipeline::TileMultiplier;
use super::tile_copy::{SharedTileLayout, TileCopy};
use crate::problem::ProductProblem;

/// Bytes of an element.
const BYTES: i64 = 2;
/// Number of steps that a tile holds. A line of a tile has 64 bytes.
const STEPS: i64 = 32;
/// Number of lanes that hold the sums of a row. Each lane holds two adjacent sums.
const PLACES: i64 = 4;
/// Number of warps per group, and number of blocks of eight rows in a warp's sums.
const WARPS: i64 = GROUP_THREADS / PRODUCT_LANES;
const HALVES: i64 = GROUP_ROWS / WARPS / TILE_SQUARE;
/// Number of elements by which a row of sums is rotated in shared memory, relative to the previous
/// row.
const ROTATION: i64 = 8;
/// Cost of one product of two numbers in a matrix instruction, relative to the cost of an
/// instruction that multiplies two numbers.
const COST: f64 = 1.0 / 16.0;
/// Available tilings: the number of groups of a block, and the number of columns of the block's
/// tile.
const MENU: [[i64; 2]; 4] = [[2, 128], [1, 128], [2, 64], [1, 64]];

/// The sizes that the emitter chooses.
#[derive(Clone, Debug)]
pub struct WgmmaContraction {
    grid: ResultGrid,
    groups: i64,
    element: ElementType,
    /// Whether steps, not lines, are contiguous in each operand.
    along_steps: [bool; 2],
}

/// A tile of one operand in shared memory.
#[derive(Clone, Copy, Debug)]
struct SquareTile {
    lines: i64,
    along_steps: bool,
}

impl SharedTileLayout for SquareTile {
    fn dims(&self) -> Vec<i64> {
        vec![STEPS / TILE_SQUARE, self.lines / TILE_SQUARE, TILE_SQUARE, TILE_SQUARE]
    }

    fn place(&self, line: Expr, step: Expr) -> Vec<Expr> {
        let split = |position: Expr| [position.clone().floor_div(TILE_SQUARE), position.modulo(TILE_SQUARE)];
        let ([lines, of_line], [steps, of_step]) = (split(line), split(step));
        if self.along_steps { vec![steps, lines, of_line, of_step] } else { vec![steps, lines, of_step, of_line] }
    }

    fn runs_along_steps(&self) -> bool {
        self.along_steps
    }
}

/// Returns the type of the operands' elements in shared memory.
fn element_of(problem: &ProductProblem) -> Option<ElementType> {
    let [left, right] = [0, 1].map(|side: usize| problem.operands[side].element);
    let is_known = left == right && matches!(left, ElementType::BF16 | ElementType::F16);
    (is_known && problem.sum == ElementType::F32).then_some(left)
}

impl WgmmaContraction {
    fn threads(&self) -> i64 {
        self.groups * GROUP_THREADS
    }

    fn layout(&self, side: usize) -> SquareTile {
        SquareTile { lines: self.grid.tile[side], along_steps: self.along_steps[side] }
    }

    /// Returns the map `(th)[square] -> place in shared memory`. A thread writes two adjacent sums
    /// of a pass to the place that the map returns.
    fn puts(&self) -> IndexingMap {
        let thread = Expr::dim(0);
        let lane = thread.clone().modulo(PRODUCT_LANES);
        let row = thread.floor_div(GROUP_THREADS) * TILE_SQUARE + lane.clone().floor_div(PLACES);
        let column = Expr::range(0) * TILE_SQUARE + lane.modulo(PLACES) * 2;
        let place = self.passes().place(&self.grid, row, column);
        IndexingMap::from_tensor_sizes(place.to_vec(), &[self.threads()], &[self.grid.tile[1] / TILE_SQUARE])
    }
}

impl TileMultiplier for WgmmaContraction {
    fn suits(problem: &ProductProblem, device: &DeviceDescription) -> Result<(), Decline> {
        match element_of(problem) {
            _ if !device.multiplies_tiles => Err(Decline::new("the device has no instruction for tiles")),
            None => Err(Decline::new("there is no instruction for tiles of these types")),
            Some(_) => Ok(()),
        }
    }

    fn forms(problem: &ProductProblem) -> Vec<WgmmaContraction> {
        let form = |element| {
            MENU.map(|[groups, columns]| WgmmaContraction {
                grid: ResultGrid { sizes: problem.sizes, tile: [groups * GROUP_ROWS, columns] },
                groups,
                element,
                along_steps: [0, 1].map(|side| problem.operands[side].runs_along_steps),
            })
        };
        element_of(problem).into_iter().flat_map(form).collect()
    }

    fn note(&self) -> String {
        format!("{} groups of warps", self.groups)
    }

    fn per_product(&self) -> f64 {
        COST + self.grid.tile.iter().map(|&size| 1.0 / size as f64).sum::<f64>()
    }

    fn shared_bytes(&self) -> i64 {
        let tiles: i64 = self.grid.tile.iter().map(|lines| 2 * lines * STEPS * BYTES).sum();
        let sums: i64 = self.passes().dims(&self.grid).iter().product();
        tiles + sums * Scalar::F32.byte_size() as i64
    }

    fn passes(&self) -> WritePasses {
        WritePasses {
            count: WARPS * HALVES,
            rows: self.groups * TILE_SQUARE,
            side_by_side: TILE_SQUARE,
            stride: GROUP_ROWS,
            row_spacing: 1,
            rotation: ROTATION,
            threads: self.threads(),
        }
    }

    fn grid(&self) -> &ResultGrid {
        &self.grid
    }

    fn steps(&self) -> i64 {
        STEPS
    }

    fn fill(&self, side: usize) -> TileCopy {
        TileCopy {
            lines: self.grid.tile[side],
            steps: STEPS,
            group: TILE_SQUARE,
            along_steps: self.along_steps[side],
            pack: 1,
            // Adjacent threads fill a square.
            across: TILE_SQUARE,
            threads: self.threads(),
        }
    }

    fn layout(&self, side: usize) -> Box<dyn SharedTileLayout> {
        Box::new(WgmmaContraction::layout(self, side))
    }

    fn factor(&self) -> ElementType {
        self.element
    }

    fn sums(&self) -> Vec<Type> {
        vec![Scalar::F32.into(); self.grid.tile[1] as usize / 2]
    }

    fn multiply(
        &self,
        b: &mut FunctionBuilder,
        thread: Value,
        buffer: Value,
        tiles: [Value; 2],
        sums: &[Value],
    ) -> Vec<Value> {
        let zero = b.index(0);
        let (threads, squares) = (b.index(GROUP_THREADS), b.index(GROUP_ROWS / TILE_SQUARE));
        let group = b.floordivsi(thread, threads);
        let first = b.muli(group, squares);
        let indices: [&[Value]; 2] = [&[buffer, zero, first, zero, zero], &[buffer, zero, zero, zero, zero]];
        b.tile_product(tiles, indices, self.along_steps, sums)
    }

    fn put(&self, b: &mut FunctionBuilder, thread: Value, pass: usize, sums: &[Value], tile: Value) -> Value {
        let map = super::ranges_as_dims(&self.puts());
        let (lanes, warps) = (b.index(PRODUCT_LANES), b.index(WARPS));
        let warp = b.floordivsi(thread, lanes);
        let warp = b.remsi(warp, warps);
        let own = b.index(pass as i64 / HALVES);
        let is_own = b.cmpi(IntPredicate::Eq, warp, own);
        let half = pass % HALVES as usize;
        let types = b.types_of(&[tile]);
        let write = |b: &mut FunctionBuilder| {
            let squares = sums.chunks(4).enumerate();
            let tile = squares.fold(tile, |tile, (number, sums)| {
                let pair = b.vector_from_elements(&sums[2 * half..2 * half + 2]);
                let number = b.index(number as i64);
                let place = b.apply_indexing(&map, &[thread, number]);
                b.vector_write(pair, tile, &place)
            });
            vec![tile]
        };
        b.scf_if(is_own, &types, write, |_| vec![tile])[0]
    }
}

#[cfg(test)]
mod tests {
    use fusebox_core::analysis::{TileAccess, bank_conflicts};

    use super::*;
    use crate::problem::ProductSizes;

    /// No access to shared memory has a bank conflict. The test covers writes of copied elements
    /// and writes of sums.
    #[test]
    fn threads_of_a_warp_reach_different_banks() {
        for form in MENU {
            for along_steps in [true, false] {
                let sizes = ProductSizes { batch: 1, rows: 512, columns: 512, steps: 512 };
                let grid = ResultGrid { sizes, tile: [form[0] * GROUP_ROWS, form[1]] };
                let tiles = WgmmaContraction {
                    grid,
                    groups: form[0],
                    element: ElementType::BF16,
                    along_steps: [along_steps; 2],
                };
                for side in 0..2 {
                    let layout = WgmmaContraction::layout(&tiles, side);
                    let copied = TileAccess { element_bytes: 2, lanes: 8 };
                    let writes = tiles.fill(side).writes(&layout);
                    assert_eq!(bank_conflicts(&writes, &layout.dims(), copied, 32), 1, "{form:?}, {along_steps}");
                }
                let pair = TileAccess { element_bytes: 4, lanes: 2 };
                let dims = tiles.passes().dims(&grid);
                assert_eq!(bank_conflicts(&tiles.puts(), &dims, pair, 32), 1, "{form:?} sums");
            }
        }
    }
}
