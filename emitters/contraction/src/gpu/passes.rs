//! Sums go to the results by way of shared memory: some rows of the tile at a time, so that neighbouring threads write
//! neighbouring elements, and what stands behind the dot is written out once and not for each sum of a thread.

use fusebox_core::builder::{FunctionBuilder, IntPredicate, Value};
use fusebox_core::indexing::{Expr, IndexingMap, Variable};

use super::grid::{Grid, index_of};
use crate::problem::Roots;
use crate::results::Results;

/// Every row of this number is not rotated.
const ROTATED: i64 = 4;

/// Rows of a tile that are written together.
#[derive(Clone, Copy, Debug)]
pub struct Passes {
    /// How often some are.
    pub count: i64,
    /// How many.
    pub rows: i64,
    /// A pass's rows are so many side by side, then as many a `stride` further on, and so on; pass after pass.
    pub side_by_side: i64,
    pub stride: i64,
    /// Rows of one pass are so far apart, where they lie side by side in shared memory.
    pub apart: i64,
    /// In shared memory a row is rotated by so many elements more than the one before, every fourth by none: threads that
    /// write to several rows reach different banks.
    pub rotation: i64,
    pub threads: i64,
}

impl Passes {
    /// The row of the tile that is a row of a pass.
    fn row(&self, pass: Expr, row: Expr) -> Expr {
        // Passes that follow each other fill what lies between rows first.
        let (block, within) = (row.clone().floor_div(self.side_by_side), row.modulo(self.side_by_side));
        let own = pass.clone().floor_div(self.apart) * (self.side_by_side * self.apart) + pass.modulo(self.apart);
        block * self.stride + within * self.apart + own
    }

    /// Dimensions of the sums in shared memory.
    pub fn dims(&self, grid: &Grid) -> [i64; 2] {
        [self.rows, grid.tile[1]]
    }

    /// Where an element of a pass lies in shared memory.
    pub fn place(&self, grid: &Grid, row: Expr, column: Expr) -> [Expr; 2] {
        match self.rotation {
            0 => [row, column],
            by => [row.clone(), (column + row.modulo(ROTATED) * by).modulo(grid.tile[1])],
        }
    }

    /// Elements of a thread in a pass.
    fn turns(&self, grid: &Grid) -> i64 {
        self.rows * grid.tile[1] / self.threads
    }

    /// Row of the pass and column of a thread's element.
    fn element(&self, grid: &Grid, thread: Expr, turn: Expr) -> [Expr; 2] {
        let number = turn * self.threads + thread;
        [number.clone().floor_div(grid.tile[1]), number.modulo(grid.tile[1])]
    }

    /// `(th, bl, pass)[turn] -> (place in shared memory, batch, row, column)`
    fn map(&self, grid: &Grid) -> IndexingMap {
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

    /// `(th, bl)[pass, turn] -> index of the results`
    pub fn written(&self, grid: &Grid, roots: &Roots) -> IndexingMap {
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
        grid: &Grid,
        results: &Results,
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
