//! Blocks and the tiles of the operand that they take.

use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, Variable, ceil_div, delinearize};

/// The operand's dimensions cut into tiles, one to a block, counted in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Dimensions of the operand in normal form.
    pub dims: Vec<i64>,
    /// Extent of a tile in each.
    pub tile: Vec<i64>,
}

impl Grid {
    /// Tiles along each dimension.
    pub fn counts(&self) -> Vec<i64> {
        self.dims.iter().zip(&self.tile).map(|(&dim, &tile)| ceil_div(dim, tile)).collect()
    }

    /// Number of tiles.
    pub fn blocks(&self) -> i64 {
        self.counts().iter().fold(1i64, |n, &count| n.saturating_mul(count))
    }

    /// Elements of a tile.
    pub fn tile_elements(&self) -> i64 {
        self.tile.iter().product()
    }

    /// Which tile along each dimension the block takes.
    pub fn tile_of_block(&self) -> Vec<Expr> {
        delinearize(&Expr::dim(1), &self.counts())
    }

    /// The operand's index of a position in the block's tile.
    pub fn index(&self, within: &[Expr]) -> Vec<Expr> {
        let tiles = self.tile_of_block();
        tiles.into_iter().zip(&self.tile).zip(within).map(|((tile, &size), at)| tile * size + at.clone()).collect()
    }

    /// Demands that an operand's index is inside, where a tile could stick out.
    pub fn constraints(&self, index: &[Expr]) -> Vec<Constraint> {
        let sizes = self.dims.iter().zip(&self.tile);
        let sticks_out = index.iter().zip(sizes).filter(|(_, (dim, tile))| **dim % **tile != 0);
        sticks_out.map(|(at, (&dim, _))| Constraint::new(at.clone(), Interval::from_size(dim))).collect()
    }
}

/// A map of `th` and `bl` over loops of these names and sizes.
pub fn map_over(threads: i64, blocks: i64, loops: &[(&str, i64)]) -> IndexingMap {
    IndexingMap {
        dims: vec![Variable::named("th", threads), Variable::named("bl", blocks)],
        ranges: loops.iter().map(|&(name, size)| Variable::named(name, size)).collect(),
        ..IndexingMap::default()
    }
}

/// A loop nest over part of a tile.
#[derive(Clone, Debug)]
pub struct Nest {
    /// `(th, bl)[loops] -> operand's index in normal form, then the position in the tile, if there is one`
    pub map: IndexingMap,
    /// The range variables to be unrolled.
    pub unroll: Vec<usize>,
    /// The last range variable runs along rows of the operand as of the tile, from multiples of its size: its
    /// elements may be moved as one vector.
    pub along_rows: bool,
}

impl Nest {
    /// A nest whose elements are visited one by one.
    pub fn new(map: IndexingMap, unroll: Vec<usize>) -> Self {
        Nest { map, unroll, along_rows: false }
    }

    /// The nest in three: the variables but the last two; these two, in order and swapped, with the outer ones as
    /// further dimensions.
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

    /// The nest with whole vectors as points, and their lanes.
    pub fn of_vectors(&self) -> Option<(IndexingMap, i64)> {
        let lanes = self.map.ranges.last().filter(|_| self.along_rows)?.bounds.size() as i64;
        Some((self.at_first(1), lanes))
    }

    /// The nest at the first value of its last `count` range variables, which no constraint asks about.
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
