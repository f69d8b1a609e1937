//! Distribution of the operand's tiles over blocks.

use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, Variable, ceil_div, delinearize};

/// Split of the operand into tiles. Each block has one tile. Blocks are numbered in row-major order
/// of the tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperandGrid {
    /// Dimensions of the operand in normal form.
    pub dims: Vec<i64>,
    /// Extent of a tile in each dimension.
    pub tile: Vec<i64>,
}

impl OperandGrid {
    /// Returns the number of tiles along each dimension.
    pub fn counts(&self) -> Vec<i64> {
        self.dims.iter().zip(&self.tile).map(|(&dim, &tile)| ceil_div(dim, tile)).collect()
    }

    pub fn blocks(&self) -> i64 {
        self.counts().iter().fold(1i64, |n, &count| n.saturating_mul(count))
    }

    pub fn tile_elements(&self) -> i64 {
        self.tile.iter().product()
    }

    /// Returns the coordinates of the block's tile: the tile's number along each dimension.
    pub fn tile_of_block(&self) -> Vec<Expr> {
        delinearize(&Expr::dim(1), &self.counts())
    }

    /// Returns the index in the operand for position `within` in the block's tile.
    pub fn index(&self, within: &[Expr]) -> Vec<Expr> {
        let tiles = self.tile_of_block();
        tiles.into_iter().zip(&self.tile).zip(within).map(|((tile, &size), at)| tile * size + at.clone()).collect()
    }

    /// Returns the constraints on an index of the operand. Only dimensions in which a tile can
    /// extend beyond the array need a constraint.
    pub fn constraints(&self, index: &[Expr]) -> Vec<Constraint> {
        let sizes = self.dims.iter().zip(&self.tile);
        let sticks_out = index.iter().zip(sizes).filter(|(_, (dim, tile))| **dim % **tile != 0);
        sticks_out.map(|(at, (&dim, _))| Constraint::new(at.clone(), Interval::from_size(dim))).collect()
    }
}

/// Returns a map without results. The map's dimensions are `th` and `bl`, and its range variables
/// are `loops`, with names and sizes.
pub fn map_over(threads: i64, blocks: i64, loops: &[(&str, i64)]) -> IndexingMap {
    IndexingMap {
        dims: vec![Variable::named("th", threads), Variable::named("bl", blocks)],
        ranges: loops.iter().map(|&(name, size)| Variable::named(name, size)).collect(),
        ..IndexingMap::default()
    }
}

/// A loop nest over part of a tile.
#[derive(Clone, Debug)]
pub struct TileNest {
    /// Map `(th, bl)[loops] -> operand's index in normal form`. If there is a tile, the map's last
    /// results are the position in the tile.
    pub map: IndexingMap,
    /// Range variables to unroll.
    pub unroll: Vec<usize>,
    /// Whether the last range variable selects adjacent elements of a row, in the operand and in
    /// the tile. The adjacent elements begin at a multiple of the variable's size, so that one
    /// vector access can move all of them.
    pub along_rows: bool,
}

impl TileNest {
    /// Creates a nest that visits elements one by one.
    pub fn new(map: IndexingMap, unroll: Vec<usize>) -> Self {
        TileNest { map, unroll, along_rows: false }
    }

    /// Splits the nest into three maps. The first map has all range variables except the last two.
    /// The second map has the last two variables, and the third map has these two variables
    /// swapped. The outer variables are dimensions of the second and third map.
    pub fn split(&self) -> (IndexingMap, [IndexingMap; 2]) {
        let outer = self.map.ranges.len().saturating_sub(2);
        let (before, last) = self.map.ranges.split_at(outer);
        let outside = IndexingMap { dims: self.map.dims.clone(), ranges: before.to_vec(), ..IndexingMap::default() };
        let count = self.map.dims.len() as u32;
        let dims: Vec<Expr> = (0..count).map(Expr::dim).collect();
        let inside = |order: [u32; 2]| {
            let further = (0..outer as u32).map(|range| Expr::dim(count + range));
            let ranges: Vec<Expr> = further.chain(order.map(Expr::range)).collect();
            let mut map = self.map.clone();
            map.dims.extend(before.iter().cloned());
            map.ranges = order.iter().filter_map(|&at| last.get(at as usize).cloned()).collect();
            map.results.iter_mut().for_each(|result| *result = result.substitute(&dims, &ranges, &[]));
            map.constraints.iter_mut().for_each(|c| c.expr = c.expr.substitute(&dims, &ranges, &[]));
            map
        };
        (outside, [inside([0, 1]), inside([1, 0])])
    }

    /// Returns the nest with one point per vector, and the number of lanes of a vector. Returns
    /// `None` if the nest does not move vectors.
    pub fn of_vectors(&self) -> Option<(IndexingMap, i64)> {
        let lanes = self.map.ranges.last().filter(|_| self.along_rows)?.bounds.size() as i64;
        Some((self.at_first(1), lanes))
    }

    /// Returns the nest with its last `count` range variables replaced by 0. No constraint of the
    /// nest may depend on the replaced variables.
    pub fn at_first(&self, count: usize) -> IndexingMap {
        let mut map = self.map.clone();
        let kept = map.ranges.len().saturating_sub(count);
        let range = |at: usize| if at < kept { Expr::range(at as u32) } else { Expr::constant(0) };
        let ranges: Vec<Expr> = (0..map.ranges.len()).map(range).collect();
        let dims: Vec<Expr> = (0..map.dims.len() as u32).map(Expr::dim).collect();
        map.ranges.truncate(kept);
        map.results.iter_mut().for_each(|result| *result = result.substitute(&dims, &ranges, &[]));
        map.constraints.iter_mut().for_each(|c| c.expr = c.expr.substitute(&dims, &ranges, &[]));
        map
    }
}
