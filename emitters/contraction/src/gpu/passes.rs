//! Writes of the results through shared memory, some rows of the tile at a time. Neighbouring
//! threads write neighbouring elements. A thread has several sums, but the kernel contains the code
//! of the epilogue only once.

use fusebox_core::builder::{FunctionBuilder, IntPredicate, Value};
use fusebox_core::indexing::{Expr, IndexingMap, Variable};

use super::grid::{ResultGrid, index_of};
use crate::problem::ProductRoots;
use crate::results::ResultEpilogues;

/// Period of the rotation: the rotation of rows in shared memory repeats after this number of rows.
/// The first row of each period is not rotated.
const ROTATED: i64 = 4;

/// The passes in which a block writes the sums of its tile. A pass writes some rows of the tile
/// together.
#[derive(Clone, Copy, Debug)]
pub struct WritePasses {
    /// Number of passes.
    pub count: i64,
    /// Number of rows of a pass.
    pub rows: i64,
    /// Number of rows per group of a pass. The rows of a pass form groups that begin `stride` rows
    /// apart in the tile.
    pub side_by_side: i64,
    pub stride: i64,
    /// Distance, in rows of the tile, between two rows of a pass that are adjacent in shared
    /// memory.
    pub row_spacing: i64,
    /// Number of elements by which a row is rotated in shared memory, relative to the previous row.
    /// The rows 0, 4, 8, … are not rotated. Because of the rotation, threads that write to
    /// different rows reach different banks.
    pub rotation: i64,
    pub threads: i64,
}

impl WritePasses {
    /// Returns the number that a row of a pass has in the tile.
    fn row(&self, pass: Expr, row: Expr) -> Expr {
        // Consecutive passes first fill the gaps between rows.
        let (block, within) = (row.clone().floor_div(self.side_by_side), row.modulo(self.side_by_side));
        let own = pass.clone().floor_div(self.row_spacing) * (self.side_by_side * self.row_spacing)
            + pass.modulo(self.row_spacing);
        block * self.stride + within * self.row_spacing + own
    }

    /// Returns the dimensions of the sums in shared memory.
    pub fn dims(&self, grid: &ResultGrid) -> [i64; 2] {
        [self.rows, grid.tile[1]]
    }

    /// Returns the position of an element of a pass in shared memory.
    pub fn place(&self, grid: &ResultGrid, row: Expr, column: Expr) -> [Expr; 2] {
        match self.rotation {
            0 => [row, column],
            by => [row.clone(), (column + row.modulo(ROTATED) * by).modulo(grid.tile[1])],
        }
    }

    /// Returns the number of elements that a thread writes in a pass.
    fn turns(&self, grid: &ResultGrid) -> i64 {
        self.rows * grid.tile[1] / self.threads
    }

    /// Returns the position of a thread's element number `turn`: its row in the pass and its
    /// column.
    fn element(&self, grid: &ResultGrid, thread: Expr, turn: Expr) -> [Expr; 2] {
        let number = turn * self.threads + thread;
        [number.clone().floor_div(grid.tile[1]), number.modulo(grid.tile[1])]
    }

    /// Returns the map `(th, bl, pass)[turn] -> (place in shared memory, batch, row, column)`.
    fn map(&self, grid: &ResultGrid) -> IndexingMap {
        let place = grid.place(&Expr::dim(1));
        let [of_pass, of_tile] = self.element(grid, Expr::dim(0), Expr::range(0));
        let row = place[1].clone() + self.row(Expr::dim(2), of_pass.clone());
        let column = place[2].clone() + of_tile.clone();
        let constraints = grid.limits(&row, &column);
        let [of_pass, of_tile] = self.place(grid, of_pass, of_tile);
        let results = vec![of_pass, of_tile, place[0].clone(), row, column];
        let mut map = grid.over(self.threads, &[("turn", self.turns(grid))], results);
        map.dims.push(Variable::named("pass", self.count));
        IndexingMap { constraints, ..map }.simplify()
    }

    /// Returns the map `(th, bl)[pass, turn] -> index of the results`.
    pub fn written(&self, grid: &ResultGrid, roots: &ProductRoots) -> IndexingMap {
        let place = grid.place(&Expr::dim(1));
        let [of_pass, of_tile] = self.element(grid, Expr::dim(0), Expr::range(1));
        let row = place[1].clone() + self.row(Expr::range(0), of_pass);
        let column = place[2].clone() + of_tile;
        let constraints = grid.limits(&row, &column);
        let results = index_of(roots, &[place[0].clone(), row, column]);
        let map = grid.over(self.threads, &[("pass", self.count), ("turn", self.turns(grid))], results);
        IndexingMap { constraints, ..map }.simplify()
    }

    /// Writes all sums of a block. `put` writes a thread's sums of one pass to shared memory.
    pub fn write(
        &self,
        b: &mut FunctionBuilder,
        grid: &ResultGrid,
        results: &ResultEpilogues,
        [thread, block]: [Value; 2],
        outputs: &[Value],
        put: impl Fn(&mut FunctionBuilder, usize, Value) -> Value,
    ) -> Vec<Value> {
        let tile = b.allocate_shared(&self.dims(grid), results.sum());
        let map = self.map(grid);
        let (zero, one, count) = (b.index(0), b.index(1), b.index(self.count));
        let state = [&[tile], outputs].concat();
        let state = b.scf_for(zero, count, one, &state, |b, pass, state| {
            let types = b.types_of(&state[..1]);
            let tile = (0..self.count).fold(state[0], |tile, number| {
                let own = b.index(number);
                let is_own = b.cmpi(IntPredicate::Eq, pass, own);
                b.scf_if(is_own, &types, |b| vec![put(b, number as usize, tile)], |_| vec![tile])[0]
            });
            let tile = b.sync_threads(&[tile])[0];
            let outputs = b.indexed_loop(&map, &[thread, block, pass], &state[1..], &[], |b, _, at, outputs| {
                let sum = b.extract(tile, &at[..2]);
                results.written(b, &at[2..], sum, outputs)
            });
            let tile = b.sync_threads(&[tile]);
            [tile, outputs].concat()
        });
        state[1..].to_vec()
    }
}
