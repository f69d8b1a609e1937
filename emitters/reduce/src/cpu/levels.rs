//! Sums of sums. Each addition to a large sum rounds. A sum of short sums has few such additions,
//! so its rounding errors are small.
//!
//! ```text
//! level[0..] = start
//! for block
//!   level[0] += elements of the block
//!   for each level that is complete:  level[l + 1] += level[l]; level[l] = start
//! ```
//!
//! After the last block, the kernel treats all levels as complete, so that the highest level holds
//! the sum.

use fusebox_core::builder::{FunctionBuilder, IntPredicate, Scalar, Value};

use super::accumulate::Accumulators;
use super::tile::AccumulatorTile;

/// The shape of a tree of sums.
#[derive(Clone, Copy, Debug)]
pub struct SumTree {
    /// Number of independent sums of a level.
    pub lanes: i64,
    /// Binary logarithm of the number of sums that form one sum of the next level.
    pub branch_bits: i64,
    /// Number of levels above the lowest.
    pub above: i64,
    /// Whether each block completes the lowest level. If not, `2^branch_bits` blocks complete the
    /// lowest level.
    pub is_block_complete: bool,
}

/// The sums of all levels, level after level. One tensor holds all levels, so that one loop can add
/// any level to the next. LLVM would take longer to compile a separate loop for each level.
pub struct SumLevels {
    tree: SumTree,
    tile: AccumulatorTile,
}

impl SumLevels {
    /// Creates the levels with `empty` in all lanes.
    pub fn new(
        b: &mut FunctionBuilder,
        tree: SumTree,
        accumulators: &Accumulators<'_, '_>,
        empty: &[Value],
    ) -> SumLevels {
        let tile = AccumulatorTile::filled(b, tree.lanes * (tree.above + 1), &accumulators.types(), empty);
        SumLevels { tree, tile }
    }

    /// Returns all lanes, the lowest level first.
    pub fn tile(&self) -> &AccumulatorTile {
        &self.tile
    }

    /// Returns these levels with new tensors, for example the loop-carried tensors of a loop.
    pub fn carried(&self, tensors: &[Value]) -> SumLevels {
        SumLevels { tree: self.tree, tile: self.tile.carried(tensors) }
    }

    /// Returns a lane's sum. All levels must be complete.
    pub fn total(&self, b: &mut FunctionBuilder, lane: Value) -> Vec<Value> {
        let top = b.index(self.tree.above * self.tree.lanes);
        let lane = b.addi(top, lane);
        self.tile.lane(b, lane)
    }

    /// Returns the sum of all lanes. All levels must be complete.
    pub fn folded(self, b: &mut FunctionBuilder, accumulators: &Accumulators<'_, '_>) -> Vec<Value> {
        let SumTree { lanes, above, .. } = self.tree;
        self.tile.folded(b, [above * lanes, lanes], |b, mine, others| accumulators.merge(b, mine, others))
    }

    /// After block `block` of `blocks`, adds each complete level to the next level.
    pub fn after(
        self,
        b: &mut FunctionBuilder,
        accumulators: &Accumulators<'_, '_>,
        empty: &[Value],
        [block, blocks]: [Value; 2],
    ) -> SumLevels {
        let SumTree { lanes, above, .. } = self.tree;
        if above == 0 {
            return self;
        }
        let complete = self.complete(b, [block, blocks]);
        let (zero, one, width) = (b.index(0), b.index(1), b.index(lanes));
        let tensors = b.scf_for(zero, complete, one, self.tile.tensors(), |b, level, tensors| {
            let first = b.muli(level, width);
            b.scf_for(zero, width, one, tensors, |b, lane, tensors| {
                let mine = b.addi(first, lane);
                let next = b.addi(mine, width);
                let sums = self.tile.carried(tensors);
                let (sum, upper) = (sums.lane(b, mine), sums.lane(b, next));
                let merged = accumulators.merge(b, &upper, &sum);
                let sums = sums.with_lane(b, next, &merged);
                sums.with_lane(b, mine, empty).tensors().to_vec()
            })
        });
        self.carried(&tensors)
    }

    /// Returns the number of levels that are complete after a block.
    fn complete(&self, b: &mut FunctionBuilder, [block, blocks]: [Value; 2]) -> Value {
        let SumTree { branch_bits, above, is_block_complete, .. } = self.tree;
        let (one, above) = (b.index(1), b.index(above));
        let number = b.addi(block, one);
        let is_last = b.cmpi(IntPredicate::Eq, number, blocks);
        let number = b.index_cast(number, Scalar::I64);
        let zeros = b.cttz(number);
        let bits = b.int(branch_bits, Scalar::I64);
        let full = b.divui(zeros, bits);
        let full = b.index_cast(full, Scalar::Index);
        let full = if is_block_complete { b.addi(full, one) } else { full };
        let full = b.minsi(full, above);
        b.select(is_last, above, full)
    }
}
