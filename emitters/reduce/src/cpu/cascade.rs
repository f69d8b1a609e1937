//! Long sums as sums of short ones, so that rounding errors stay small. Each addition to a large sum rounds, and where
//! all elements are equal, such as those of a padded or a masked row, the errors have one sign: the mean of 4,096 such
//! numbers, added up in 64 chains, is 8 ulp off. Sums of four equal numbers are exact, as are those of four such sums.
//!
//! ```text
//! block(1):  for 4 chunks, lane in chunk:     tile[0][lane] += element
//! block(d):  for 4 blocks of depth d - 1:     block(d - 1); for lane: tile[d - 1][lane] += tile[d - 2][lane]
//! the row:   for d from the largest down, for whole blocks of depth d:  block(d); tile[last] += tile[d - 1]
//! ```

use fusebox_core::builder::{FunctionBuilder, Value};

use super::accumulate::Accumulators;
use super::tile::Tile;

/// Lanes of a tile: they fill several registers, so that additions need not wait for each other.
const LANES: i64 = 32;
/// Blocks in a block, and chunks in the smallest: of as many equal numbers the sum is exact.
const BRANCHES: i64 = 4;
/// Sums of fewer elements are as exact as they are.
const SHORTEST: i64 = LANES * BRANCHES * BRANCHES;

/// Whether so many elements are better added up so.
pub fn is_long(accumulators: &Accumulators<'_, '_>, length: i64) -> bool {
    accumulators.are_rounded() && length >= SHORTEST
}

/// Combines the elements of a row, by `absorb(element, accumulators, outputs)`.
pub struct Cascade<'c, 'b, 'g, F> {
    pub accumulators: &'c Accumulators<'b, 'g>,
    /// Accumulators that nothing was combined with.
    pub start: &'c [Value],
    pub absorb: F,
}

impl<F> Cascade<'_, '_, '_, F>
where
    F: Fn(&mut FunctionBuilder, Value, &[Value], &[Value]) -> (Vec<Value>, Vec<Value>),
{
    /// The accumulators and outputs after the elements below `length`.
    pub fn reduce(&self, b: &mut FunctionBuilder, length: i64, outputs: &[Value]) -> (Vec<Value>, Vec<Value>) {
        let types = self.accumulators.types();
        let largest = (2..).take_while(|&depth| size(depth) <= length).last().unwrap_or(1);
        let mut tiles: Vec<Tile> = (0..largest).map(|_| Tile::unfilled(b, LANES, &types)).collect();
        tiles.push(Tile::filled(b, LANES, &types, self.start));
        let (zero, end, one, lanes) = (b.index(0), b.index(length), b.index(1), b.index(LANES));
        // As many of the largest blocks as there are, of the next smaller ones, and so on, then what is left by itself.
        let (mut outputs, mut past) = (outputs.to_vec(), zero);
        for depth in (1..=largest).rev() {
            let first = std::mem::replace(&mut past, b.index(length - length % size(depth)));
            if depth == largest || length % size(depth + 1) >= size(depth) {
                (tiles, outputs) = self.blocks(b, depth, [first, past], tiles, &outputs);
            }
        }
        let total = b.scf_for(zero, lanes, one, self.start, |b, lane, state| {
            let others = tiles[largest as usize].lane(b, lane);
            self.accumulators.merge(b, state, &others)
        });
        if length % size(1) == 0 {
            return (total, outputs);
        }
        let width = self.start.len();
        let mut results = b.scf_for(past, end, one, &[self.start, &outputs].concat(), |b, element, state| {
            let (held, outputs) = state.split_at(width);
            let (held, outputs) = (self.absorb)(b, element, held, outputs);
            [held, outputs].concat()
        });
        let outputs = results.split_off(width);
        (self.accumulators.merge(b, &total, &results), outputs)
    }

    /// Adds blocks of a depth, between two elements, to the last tile.
    fn blocks(
        &self,
        b: &mut FunctionBuilder,
        depth: u32,
        [first, end]: [Value; 2],
        tiles: Vec<Tile>,
        outputs: &[Value],
    ) -> (Vec<Tile>, Vec<Value>) {
        let step = b.index(size(depth));
        let last = tiles.len() - 1;
        self.carried(b, [first, end, step], tiles, outputs, |b, at, tiles, outputs| {
            let (mut tiles, outputs) = self.block(b, depth, at, tiles, outputs);
            self.add(b, &mut tiles, depth as usize - 1, last);
            (tiles, outputs)
        })
    }

    /// Leaves the sums of a block in the tile of the depth below its own.
    fn block(
        &self,
        b: &mut FunctionBuilder,
        depth: u32,
        at: Value,
        mut tiles: Vec<Tile>,
        outputs: &[Value],
    ) -> (Vec<Tile>, Vec<Value>) {
        let (own, part, whole) = (depth as usize - 1, b.index(size(depth - 1)), b.index(size(depth)));
        let end = b.addi(at, whole);
        tiles[own] = tiles[own].clone().filled_again(b, self.start);
        self.carried(b, [at, end, part], tiles, outputs, |b, at, mut tiles, outputs| {
            if own == 0 {
                let (tile, outputs) = tiles[0].clone().each_lane(b, LANES, outputs, |b, lane, held, outputs| {
                    let element = b.addi(at, lane);
                    (self.absorb)(b, element, held, outputs)
                });
                tiles[0] = tile;
                return (tiles, outputs);
            }
            let (mut tiles, outputs) = self.block(b, depth - 1, at, tiles, outputs);
            self.add(b, &mut tiles, own - 1, own);
            (tiles, outputs)
        })
    }

    /// Adds one tile to another.
    fn add(&self, b: &mut FunctionBuilder, tiles: &mut [Tile], from: usize, to: usize) {
        let part = tiles[from].clone();
        let (sum, _) = tiles[to].clone().each_lane(b, LANES, &[], |b, lane, held, _| {
            let others = part.lane(b, lane);
            (self.accumulators.merge(b, held, &others), Vec::new())
        });
        tiles[to] = sum;
    }

    /// A loop that carries tiles and outputs.
    fn carried(
        &self,
        b: &mut FunctionBuilder,
        [first, end, step]: [Value; 3],
        tiles: Vec<Tile>,
        outputs: &[Value],
        body: impl FnOnce(&mut FunctionBuilder, Value, Vec<Tile>, &[Value]) -> (Vec<Tile>, Vec<Value>),
    ) -> (Vec<Tile>, Vec<Value>) {
        let width = self.start.len();
        let of_state = |state: &[Value]| -> Vec<Tile> {
            tiles.iter().zip(state.chunks(width)).map(|(tile, tensors)| tile.carried(tensors)).collect()
        };
        let flat = |tiles: &[Tile]| tiles.iter().flat_map(|tile| tile.tensors().to_vec()).collect::<Vec<_>>();
        let count = tiles.len() * width;
        let state = [flat(&tiles), outputs.to_vec()].concat();
        let mut results = b.scf_for(first, end, step, &state, |b, at, state| {
            let (tensors, outputs) = state.split_at(count);
            let (tiles, outputs) = body(b, at, of_state(tensors), outputs);
            [flat(&tiles), outputs].concat()
        });
        let outputs = results.split_off(count);
        (of_state(&results), outputs)
    }
}

/// Elements of a block.
fn size(depth: u32) -> i64 {
    LANES.saturating_mul(BRANCHES.saturating_pow(depth))
}
