//! Sums go to the results by way of shared memory: some rows of the tile at a time, so that neighbouring threads write
//! neighbouring elements, and what stands behind the dot is written out once and not for each sum of a thread.

use fusebox_core::builder::{FunctionBuilder, IntPredicate, Subgraph, Value};
use fusebox_core::emitter::{OutputPlan, Visit};
use fusebox_core::indexing::{Expr, IndexingMap, Variable};

use super::grid::{Grid, index_of};
use crate::convert::convert;
use crate::problem::{Problem, Roots};

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
    fn written(&self, grid: &Grid, roots: &Roots) -> IndexingMap {
        let place = grid.place(&Expr::dim(1));
        let [of_pass, of_tile] = self.element(grid, Expr::dim(0), Expr::range(1));
        let row = place[1].clone() + self.row(Expr::range(0), of_pass);
        let column = place[2].clone() + of_tile;
        let constraints = grid.limits(&row, &column);
        let results = index_of(roots, &[place[0].clone(), row, column]);
        let map = grid.over(self.threads, &[("pass", self.count), ("turn", self.turns(grid))], results);
        IndexingMap { constraints, ..map }.simplify()
    }

    /// Plans of all outputs, in order.
    pub fn outputs(&self, grid: &Grid, problem: &Problem) -> Vec<OutputPlan> {
        outputs(problem, |roots| self.written(grid, roots))
    }

    /// What is computed of the sums.
    pub fn visits<'a>(&'a self, grid: &'a Grid, problem: &'a Problem) -> impl Iterator<Item = Visit> + 'a {
        visits(problem, |roots| self.written(grid, roots))
    }
}

/// Plans of all outputs, in order, by the map of those that are written together.
pub fn outputs(problem: &Problem, map: impl Fn(&Roots) -> IndexingMap) -> Vec<OutputPlan> {
    let mut outputs: Vec<(usize, OutputPlan)> = Vec::new();
    for roots in &problem.roots {
        outputs.extend(roots.outputs.iter().map(|&output| (output, OutputPlan::unique(map(roots)))));
    }
    outputs.sort_by_key(|(output, _)| *output);
    outputs.into_iter().map(|(_, output)| output).collect()
}

/// What is computed of the sums, by the same maps.
pub fn visits<'a>(problem: &'a Problem, map: impl Fn(&Roots) -> IndexingMap + 'a) -> impl Iterator<Item = Visit> + 'a {
    problem.roots.iter().map(move |roots| Visit {
        map: map(roots),
        values: roots.instructions.clone(),
        given: vec![problem.dot],
    })
}

/// What writes results.
pub struct Results<'a> {
    pub problem: &'a Problem,
    /// One for each group of roots.
    pub epilogues: Vec<Subgraph>,
}

impl Results<'_> {
    /// Writes all sums of a block. `put` writes a thread's sums of one pass to shared memory.
    pub fn write(
        &self,
        b: &mut FunctionBuilder,
        (grid, passes): (&Grid, &Passes),
        [thread, block]: [Value; 2],
        outputs: &[Value],
        put: impl Fn(&mut FunctionBuilder, usize, Value) -> Value,
    ) -> Vec<Value> {
        let sum = fusebox_core::builder::Scalar::of_element(self.problem.sum);
        let tile = b.allocate_shared(&passes.dims(grid), sum);
        let map = passes.map(grid);
        let (zero, one, count) = (b.index(0), b.index(1), b.index(passes.count));
        let state = [&[tile], outputs].concat();
        let state = b.scf_for(zero, count, one, &state, |b, pass, state| {
            let types = b.types_of(&state[..1]);
            let tile = (0..passes.count).fold(state[0], |tile, number| {
                let own = b.index(number);
                let is_own = b.cmpi(IntPredicate::Eq, pass, own);
                b.scf_if(is_own, &types, |b| vec![put(b, number as usize, tile)], |_| vec![tile])[0]
            });
            let tile = b.sync_threads(&[tile])[0];
            let outputs = b.indexed_loop(&map, &[thread, block, pass], &state[1..], &[], |b, _, at, outputs| {
                let sum = b.extract(tile, &at[..2]);
                self.written(b, [at[2], at[3], at[4]], sum, outputs)
            });
            let tile = b.sync_threads(&[tile]);
            [tile, outputs].concat()
        });
        state[1..].to_vec()
    }

    /// Writes what becomes of one sum.
    pub fn written(&self, b: &mut FunctionBuilder, point: [Value; 3], sum: Value, outputs: &[Value]) -> Vec<Value> {
        let value = convert(b, self.problem.sum, self.problem.result, sum);
        let mut outputs = outputs.to_vec();
        for (roots, epilogue) in self.problem.roots.iter().zip(&self.epilogues) {
            let index = b.apply_indexing(&roots.at, &point);
            let results = b.call_subgraph(epilogue, &index, &[value]);
            for (&output, result) in roots.outputs.iter().zip(results) {
                outputs[output] = b.insert(result, outputs[output], &index);
            }
        }
        outputs
    }
}
