//! Computes long sums as sums of short sums, so that rounding errors stay small. Each addition to a
//! large sum rounds. If all elements are equal, as in a padded or masked row, all errors have the
//! same sign. For example, if a kernel computes the mean of 4,096 equal numbers by 64 sequential
//! sums, the mean has an error of 8 ulp. A sum of four equal numbers is exact, and a sum of four of
//! these sums is exact too.
//!
//! ```text
//! level[0] += chunks that fill no group of four
//! for block of 16 chunks
//!   part = start
//!   for 4 chunks of the block:  short = start; for chunk, lane: short[lane] += element;  part += short
//!   level[0] += part; add complete levels to the next level
//! add up all lanes of the highest level;  add elements that fill no chunk
//! ```
//!
//! A sum of `n` elements takes `n` additions, like a sequential sum. A tree of sums needs no more
//! additions than a sequential sum. The first addition to an accumulator costs nothing, because the
//! accumulator holds the operation's identity.

use fusebox_core::analysis::ReductionGroup;
use fusebox_core::builder::{FunctionBuilder, Value};
use fusebox_core::cost::is_function;
use fusebox_core::hlo::{Computation, InstrId};
use fusebox_core::indexing::ceil_div;

use super::accumulate::Accumulators;
use super::levels::{SumLevels, SumTree};
use super::tile::AccumulatorTile;

/// Number of values that are added sequentially. A sum of four equal numbers is exact.
pub const BRANCHES: i64 = 4;
/// Binary logarithm of [`BRANCHES`].
const BRANCH_BITS: i64 = 2;
/// Number of chunks of a block.
const BLOCK: i64 = BRANCHES * BRANCHES;
/// Bytes of a chunk in which all accumulators have the widest type. A chunk fills several vector
/// registers, so that additions do not wait for each other.
const CHUNK_BYTES: i64 = 128;

/// Returns the number of elements of a chunk. The lanes of a chunk are summed independently.
/// Returns `None` if a cascade is not more exact than a plain loop, for example because the sum is
/// short.
pub fn lanes(accumulators: &Accumulators<'_, '_>, length: i64) -> Option<i64> {
    let lanes = CHUNK_BYTES / accumulators.widest_bytes();
    (accumulators.are_rounded() && length >= lanes * BLOCK).then_some(lanes)
}

/// Whether the computation of a group's elements contains functions such as `exp`. Functions such
/// as `exp` need the registers that a chunk would occupy. `is_known` holds for instructions whose
/// values the kernel reads instead of computing them.
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

/// A sum of short sums over the elements of a row. `visit(element, outputs)` returns the
/// accumulators of one element, and the outputs.
pub struct Cascade<'c, 'b, 'g, F> {
    pub accumulators: &'c Accumulators<'b, 'g>,
    /// Initial accumulators of a partial result.
    pub start: &'c [Value],
    /// Number of elements of a chunk, a power of two.
    pub lanes: i64,
    pub visit: F,
}

impl<F> Cascade<'_, '_, '_, F>
where
    F: Fn(&mut FunctionBuilder, Value, &[Value]) -> (Vec<Value>, Vec<Value>),
{
    /// Combines the elements below `length`. Returns the accumulators and the outputs.
    pub fn reduce(&self, b: &mut FunctionBuilder, length: i64, outputs: &[Value]) -> (Vec<Value>, Vec<Value>) {
        let (chunk, width) = (self.lanes, self.start.len());
        let in_fours = length - length % (BRANCHES * chunk);
        let in_chunks = length - length % chunk;
        let levels = self.levels(b, in_fours);
        // The chunks that remain after the last group of four are added to the sum of the first
        // block. All levels are added up in the end.
        let (levels, outputs) = if in_fours < in_chunks {
            let range = [in_fours, in_chunks].map(|at| b.index(at));
            let (lowest, outputs) = self.each_chunk(b, levels.tile().clone(), range, outputs);
            (levels.carried(lowest.tensors()), outputs)
        } else {
            (levels, outputs.to_vec())
        };
        let (levels, outputs) = self.blocks(b, levels, in_fours, &outputs);
        let total = levels.folded(b, self.accumulators);
        if in_chunks == length {
            return (total, outputs);
        }
        let (one, ends) = (b.index(1), [in_chunks, length].map(|at| b.index(at)));
        let mut results = b.scf_for(ends[0], ends[1], one, &[self.start, &outputs].concat(), |b, element, state| {
            let (held, outputs) = state.split_at(width);
            let (others, outputs) = (self.visit)(b, element, outputs);
            [self.accumulators.merge(b, held, &others), outputs].concat()
        });
        let outputs = results.split_off(width);
        (self.accumulators.merge(b, &total, &results), outputs)
    }

    /// Creates the levels for the elements below `end`. The lowest level adds up sums of single
    /// blocks, the next level adds up sums of four blocks, and so on.
    fn levels(&self, b: &mut FunctionBuilder, end: i64) -> SumLevels {
        let blocks = ceil_div(end, BLOCK * self.lanes);
        let reach = |&levels: &u32| BRANCHES.saturating_pow(levels) >= blocks;
        let above = (1..).find(reach).map_or(0, |levels| i64::from(levels) - 1);
        let tree = SumTree { lanes: self.lanes, branch_bits: BRANCH_BITS, above, is_block_complete: false };
        SumLevels::new(b, tree, self.accumulators, self.start)
    }

    /// Adds the blocks below element `end` to the levels. The last block may have fewer elements
    /// than the other blocks.
    fn blocks(
        &self,
        b: &mut FunctionBuilder,
        levels: SumLevels,
        end: i64,
        outputs: &[Value],
    ) -> (SumLevels, Vec<Value>) {
        let (zero, one, blocks) = (b.index(0), b.index(1), b.index(ceil_div(end, BLOCK * self.lanes)));
        let (size, end) = (b.index(BLOCK * self.lanes), b.index(end));
        let width = self.start.len();
        let state = [levels.tile().tensors(), outputs].concat();
        let mut results = b.scf_for(zero, blocks, one, &state, |b, block, state| {
            let (tensors, outputs) = state.split_at(width);
            let first = b.muli(block, size);
            let next = b.addi(first, size);
            let next = b.minsi(next, end);
            let (part, outputs) = self.block(b, [first, next], outputs);
            let lowest = self.accumulators.merge_lanes(b, levels.tile().carried(tensors), &part, self.lanes);
            let levels = levels.carried(lowest.tensors()).after(b, self.accumulators, self.start, [block, blocks]);
            [levels.tile().tensors(), &outputs].concat()
        });
        let outputs = results.split_off(width);
        (levels.carried(&results), outputs)
    }

    /// Returns the sum of the chunks of a block. Sums groups of four chunks first.
    fn block(
        &self,
        b: &mut FunctionBuilder,
        [first, end]: [Value; 2],
        outputs: &[Value],
    ) -> (AccumulatorTile, Vec<Value>) {
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

    /// Adds the sum of at most four chunks to a tile.
    fn chunks(
        &self,
        b: &mut FunctionBuilder,
        sum: AccumulatorTile,
        [first, end]: [Value; 2],
        outputs: &[Value],
    ) -> (AccumulatorTile, Vec<Value>) {
        let short = self.filled(b);
        let (short, outputs) = self.each_chunk(b, short, [first, end], outputs);
        (self.accumulators.merge_lanes(b, sum, &short, self.lanes), outputs)
    }

    /// Adds the elements of chunks to a tile.
    fn each_chunk(
        &self,
        b: &mut FunctionBuilder,
        tile: AccumulatorTile,
        [first, end]: [Value; 2],
        outputs: &[Value],
    ) -> (AccumulatorTile, Vec<Value>) {
        let (step, width) = (b.index(self.lanes), self.start.len());
        let mut results = b.scf_for(first, end, step, &[tile.tensors(), outputs].concat(), |b, at, state| {
            let (tensors, outputs) = state.split_at(width);
            let (tile, outputs) = tile.carried(tensors).each_lane(b, self.lanes, outputs, |b, lane, held, outputs| {
                let element = b.addi(at, lane);
                let (others, outputs) = (self.visit)(b, element, outputs);
                (self.accumulators.merge(b, held, &others), outputs)
            });
            [tile.tensors(), &outputs].concat()
        });
        let outputs = results.split_off(width);
        (tile.carried(&results), outputs)
    }

    fn filled(&self, b: &mut FunctionBuilder) -> AccumulatorTile {
        AccumulatorTile::filled(b, self.lanes, &self.accumulators.types(), self.start)
    }
}
