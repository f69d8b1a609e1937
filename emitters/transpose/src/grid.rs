//! Blocks and the tiles of the operand that they take.

use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, Variable, delinearize};

use crate::index::ceil_div;

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
}
