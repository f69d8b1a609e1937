//! Distribution of the results over blocks. The threads of a block together compute one tile of the
//! results.

use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, Variable, ceil_div};

use crate::problem::{ProductRoots, ProductSizes};

/// Split of the results into tiles.
#[derive(Clone, Copy, Debug)]
pub struct ResultGrid {
    pub sizes: ProductSizes,
    /// Numbers of rows and columns of a tile.
    pub tile: [i64; 2],
}

impl ResultGrid {
    /// Returns the numbers of tiles of a batch, along rows and along columns.
    fn counts(&self) -> [i64; 2] {
        let ProductSizes { rows, columns, .. } = self.sizes;
        [ceil_div(rows, self.tile[0]), ceil_div(columns, self.tile[1])]
    }

    /// Returns the number of blocks, one per tile.
    pub fn blocks(&self) -> i64 {
        self.sizes.batch * self.counts()[0] * self.counts()[1]
    }

    /// Returns the number of sums of all tiles, including sums beyond the last row or column of the
    /// results.
    pub fn results(&self) -> f64 {
        self.blocks() as f64 * self.tile[0] as f64 * self.tile[1] as f64
    }

    /// Whether tiles extend beyond the results, along rows and along columns.
    pub fn sticks_out(&self) -> [bool; 2] {
        [self.sizes.rows % self.tile[0] != 0, self.sizes.columns % self.tile[1] != 0]
    }

    /// Returns the batch, first row and first column of a block's tile.
    pub fn place(&self, block: &Expr) -> [Expr; 3] {
        let [down, across] = self.counts();
        [
            block.clone().floor_div(down * across),
            block.clone().floor_div(across).modulo(down) * self.tile[0],
            block.clone().modulo(across) * self.tile[1],
        ]
    }

    /// Returns the map `(block) -> (batch, first row, first column)`.
    pub fn map(&self) -> IndexingMap {
        IndexingMap::from_tensor_sizes(self.place(&Expr::dim(0)).to_vec(), &[self.blocks()], &[]).simplify()
    }

    /// Returns a map `(th, bl)[ranges] -> index` whose results are the expressions `results`.
    pub fn over(&self, threads: i64, ranges: &[(&str, i64)], results: Vec<Expr>) -> IndexingMap {
        IndexingMap {
            dims: vec![Variable::named("th", threads), Variable::named("bl", self.blocks())],
            ranges: ranges.iter().map(|&(name, size)| Variable::named(name, size)).collect(),
            results,
            ..IndexingMap::default()
        }
    }

    /// Returns the constraints that keep `row` and `column` within the results. If no tile extends
    /// beyond the results in a dimension, this dimension needs no constraint.
    pub fn limits(&self, row: &Expr, column: &Expr) -> Vec<Constraint> {
        let sizes = [self.sizes.rows, self.sizes.columns];
        let limits = self.sticks_out().into_iter().zip([row, column].into_iter().zip(sizes));
        limits
            .filter(|(sticks_out, _)| *sticks_out)
            .map(|(_, (expr, size))| Constraint::new(expr.clone(), Interval::from_size(size)))
            .collect()
    }

    /// Returns the number of elements of the left and of the right operand that the kernel reads
    /// per result element.
    pub fn reads_per_result(&self) -> [f64; 2] {
        let ProductSizes { rows, columns, steps, .. } = self.sizes;
        let [down, across] = self.counts().map(|tiles| tiles as f64);
        [steps as f64 * across / columns as f64, steps as f64 * down / rows as f64]
    }
}

/// Returns the index of results at a point `(batch, row, column)`.
pub fn index_of(roots: &ProductRoots, point: &[Expr; 3]) -> Vec<Expr> {
    roots.at.results.iter().map(|expr| expr.substitute(point, &[], &[])).collect()
}
