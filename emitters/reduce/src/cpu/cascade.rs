//! Long sums as sums of short ones, so that rounding errors stay small. Each addition to a large
//! sum rounds, and where all elements are equal, such as those of a padded or a masked row, the
//! errors have one sign: the mean of 4,096 such numbers, added up in 64 chains, is 8 ulp off. Sums
//! of four equal numbers are exact, as are those of four such sums.
//!
//! ```text
//! for block of 16 chunks
//!   part = start
//!   for 4 chunks of the block:  short = start; for chunk, lane: short[lane] += element;  part += short
//!   level[0] += part
//!   for each level that has got its fourth sum:  level[l + 1] += level[l]; level[l] = start
//! chunks and elements that are left;  all levels;  all lanes
//! ```
//!
//! A sum of `n` elements takes `n` additions as one after the other does: a tree has no more, and
//! the first addition to an accumulator that holds the operation's identity is none.

use fusebox_core::analysis::ReductionGroup;
use fusebox_core::builder::{FunctionBuilder, Scalar, Value};
use fusebox_core::cost::is_function;
use fusebox_core::hlo::{Computation, InstrId};
use fusebox_core::indexing::ceil_div;

use super::accumulate::Accumulators;
use super::tile::Tile;

/// Sums that are added up one after the other: of as many equal numbers the result is exact.
pub const BRANCHES: i64 = 4;
/// Bits of a number of sums that make one more level.
const BRANCH_BITS: i64 = 2;
/// Chunks of a block.
const BLOCK: i64 = BRANCHES * BRANCHES;
/// Bytes of a chunk of the widest accumulators: they fill several registers, so that additions need
/// not wait for each other.
const CHUNK_BYTES: i64 = 128;

/// Elements that are added up side by side, if so many are better added up by a cascade: sums of
/// fewer are as exact as they are.
pub fn lanes(accumulators: &Accumulators<'_, '_>, length: i64) -> Option<i64> {
    let lanes = CHUNK_BYTES / accumulators.widest_bytes();
    (accumulators.are_rounded() && length >= lanes * BLOCK).then_some(lanes)
}

/// Whether functions compute the elements that a group combines: they want the registers that a
/// chunk takes. Instructions that are `is_known` are read, not computed.
pub fn holds_functions(computation: &Computation, group: &ReductionGroup, is_known: impl Fn(InstrId) -> bool) -> bool {
    let mut met: Vec<InstrId> = Vec::new();
    let mut pending: Vec<InstrId> =
        group.heroes.iter().flat_map(|hero| hero.values.iter().map(|value| value.operand)).collect();
    while let Some(id) = pending.pop() {
        if is_known(id) || met.contains(&id) {
            continue;
        }
        if is_function(&computation.instruction(id).op) {
            return true;
        }
        met.push(id);
        pending.extend(&computation.instruction(id).operands);
    }
    false
}

/// Combines the elements of a row: `visit(element, outputs)` gives accumulators of one element, and
/// outputs.
pub struct Cascade<'c, 'b, 'g, F> {
    pub accumulators: &'c Accumulators<'b, 'g>,
    /// Accumulators of parts that nothing was combined with.
    pub start: &'c [Value],
    /// Elements of a chunk, a power of two.
    pub lanes: i64,
    pub visit: F,
}

impl<F> Cascade<'_, '_, '_, F>
where
    F: Fn(&mut FunctionBuilder, Value, &[Value]) -> (Vec<Value>, Vec<Value>),
{
    /// The accumulators and outputs after the elements below `length`.
    pub fn reduce(&self, b: &mut FunctionBuilder, length: i64, outputs: &[Value]) -> (Vec<Value>, Vec<Value>) {
        let (chunk, width) = (self.lanes, self.start.len());
        let in_fours = length - length % (BRANCHES * chunk);
        let in_chunks = length - length % chunk;
        let (levels, outputs) = self.blocks(b, in_fours, outputs);
        let mut sum = self.filled(b);
        for level in 0..levels.count {
            let first = b.index(level * chunk);
            sum = self.each_lane(b, sum, |b, lane, held| {
                let lane = b.addi(first, lane);
                let others = levels.tile.lane(b, lane);
                self.accumulators.merge(b, held, &others)
            });
        }
        let ends = [in_fours, in_chunks, length].map(|at| b.index(at));
        let (sum, outputs) =
            if in_fours < in_chunks { self.chunks(b, sum, [ends[0], ends[1]], &outputs) } else { (sum, outputs) };
        let total = sum.folded(b, |b, mine, others| self.accumulators.merge(b, mine, others));
        if in_chunks == length {
            return (total, outputs);
        }
        let one = b.index(1);
        let mut results = b.scf_for(ends[1], ends[2], one, &[self.start, &outputs].concat(), |b, element, state| {
            let (held, outputs) = state.split_at(width);
            let (others, outputs) = (self.visit)(b, element, outputs);
            [self.accumulators.merge(b, held, &others), outputs].concat()
        });
        let outputs = results.split_off(width);
        (self.accumulators.merge(b, &total, &results), outputs)
    }

    /// The sums of whole blocks, and of the fours of chunks of the last, up to an element.
    fn blocks(&self, b: &mut FunctionBuilder, end: i64, outputs: &[Value]) -> (Levels, Vec<Value>) {
        let levels = Levels::new(b, self, ceil_div(end, BLOCK * self.lanes));
        let (zero, one, blocks) = (b.index(0), b.index(1), b.index(ceil_div(end, BLOCK * self.lanes)));
        let (size, end) = (b.index(BLOCK * self.lanes), b.index(end));
        let width = self.start.len();
        let state = [levels.tile.tensors(), outputs].concat();
        let mut results = b.scf_for(zero, blocks, one, &state, |b, block, state| {
            let (tensors, outputs) = state.split_at(width);
            let first = b.muli(block, size);
            let next = b.addi(first, size);
            let next = b.minsi(next, end);
            let (part, outputs) = self.block(b, [first, next], outputs);
            let levels = levels.carried(tensors).with(b, self, block, &part);
            [levels.tile.tensors(), &outputs].concat()
        });
        let outputs = results.split_off(width);
        (levels.carried(&results), outputs)
    }

    /// The sum of fours of chunks.
    fn block(&self, b: &mut FunctionBuilder, [first, end]: [Value; 2], outputs: &[Value]) -> (Tile, Vec<Value>) {
        let four = b.index(BRANCHES * self.lanes);
        let part = self.filled(b);
        let width = self.start.len();
        let state = [part.tensors(), outputs].concat();
        let mut results = b.scf_for(first, end, four, &state, |b, at, state| {
            let (tensors, outputs) = state.split_at(width);
            let next = b.addi(at, four);
            let (part, outputs) = self.chunks(b, part.carried(tensors), [at, next], outputs);
            [part.tensors(), &outputs].concat()
        });
        let outputs = results.split_off(width);
        (part.carried(&results), outputs)
    }

    /// A tile with the sum of at most four chunks.
    fn chunks(
        &self,
        b: &mut FunctionBuilder,
        sum: Tile,
        [first, end]: [Value; 2],
        outputs: &[Value],
    ) -> (Tile, Vec<Value>) {
        let short = self.filled(b);
        let width = self.start.len();
        let step = b.index(self.lanes);
        let mut results = b.scf_for(first, end, step, &[short.tensors(), outputs].concat(), |b, at, state| {
            let (tensors, outputs) = state.split_at(width);
            let short = short.carried(tensors);
            let (short, outputs) = short.each_lane(b, self.lanes, outputs, |b, lane, held, outputs| {
                let element = b.addi(at, lane);
                let (others, outputs) = (self.visit)(b, element, outputs);
                (self.accumulators.merge(b, held, &others), outputs)
            });
            [short.tensors(), &outputs].concat()
        });
        let outputs = results.split_off(width);
        (self.sum(b, sum, &short.carried(&results)), outputs)
    }

    fn filled(&self, b: &mut FunctionBuilder) -> Tile {
        Tile::filled(b, self.lanes, &self.accumulators.types(), self.start)
    }

    /// The first lanes of a tile with those of another.
    fn sum(&self, b: &mut FunctionBuilder, tile: Tile, other: &Tile) -> Tile {
        self.each_lane(b, tile, |b, lane, held| {
            let others = other.lane(b, lane);
            self.accumulators.merge(b, held, &others)
        })
    }

    fn each_lane(
        &self,
        b: &mut FunctionBuilder,
        tile: Tile,
        next: impl FnOnce(&mut FunctionBuilder, Value, &[Value]) -> Vec<Value>,
    ) -> Tile {
        tile.each_lane(b, self.lanes, &[], |b, lane, held, _| (next(b, lane, held), Vec::new())).0
    }
}

/// Sums of blocks, of fours of blocks, and so on: the lanes of one level behind those of the other.
struct Levels {
    tile: Tile,
    count: i64,
}

impl Levels {
    /// For so many blocks.
    fn new<F>(b: &mut FunctionBuilder, cascade: &Cascade<'_, '_, '_, F>, blocks: i64) -> Levels {
        let reach = |&levels: &u32| BRANCHES.saturating_pow(levels) >= blocks;
        let count = i64::from((1..).find(reach).unwrap_or(1));
        let tile = Tile::filled(b, count * cascade.lanes, &cascade.accumulators.types(), cascade.start);
        Levels { tile, count }
    }

    fn carried(&self, tensors: &[Value]) -> Levels {
        Levels { tile: self.tile.carried(tensors), count: self.count }
    }

    /// With the sum of a block of this number.
    fn with<F>(self, b: &mut FunctionBuilder, cascade: &Cascade<'_, '_, '_, F>, block: Value, part: &Tile) -> Levels
    where
        F: Fn(&mut FunctionBuilder, Value, &[Value]) -> (Vec<Value>, Vec<Value>),
    {
        let Levels { tile, count } = self;
        let tile = cascade.sum(b, tile, part);
        if count == 1 {
            return Levels { tile, count };
        }
        let (zero, one, lanes, last) = (b.index(0), b.index(1), b.index(cascade.lanes), b.index(count - 1));
        let complete = b.addi(block, one);
        let complete = b.index_cast(complete, Scalar::I64);
        let zeros = b.cttz(complete);
        let bits = b.int(BRANCH_BITS, Scalar::I64);
        let full = b.divui(zeros, bits);
        let full = b.index_cast(full, Scalar::Index);
        let full = b.minsi(full, last);
        let tensors = b.scf_for(zero, full, one, tile.tensors(), |b, level, tensors| {
            let first = b.muli(level, lanes);
            b.scf_for(zero, lanes, one, tensors, |b, lane, tensors| {
                let mine = b.addi(first, lane);
                let above = b.addi(mine, lanes);
                let sums = tile.carried(tensors);
                let (sum, upper) = (sums.lane(b, mine), sums.lane(b, above));
                let merged = cascade.accumulators.merge(b, &upper, &sum);
                let sums = sums.with_lane(b, above, &merged);
                sums.with_lane(b, mine, cascade.start).tensors().to_vec()
            })
        });
        Levels { tile: tile.carried(&tensors), count }
    }
}
