//! Reduces short rows if LLVM does not recognise the reductions, for example a maximum with its
//! index. If LLVM recognises the reductions, this code reduces only rows that are too short to fill
//! a vector. Each lane of a tile reduces a different row, so that no reduction over lanes is
//! necessary at the end.
//!
//! ```text
//! for chunk of the block's rows
//!   tile = start, a lane per row
//!   for major, minor, lane: tile[lane] += element
//!   for lane: epilogue(tile[lane])
//! remaining rows, one by one
//! ```

use fusebox_core::builder::{FunctionBuilder, Value};

use super::group::GroupKernel;
use super::tile::AccumulatorTile;
use crate::body::write;

/// Least number of elements per row with which the emitter distributes several rows over lanes. For
/// shorter rows, LLVM itself vectorises across rows.
const SHORTEST: i64 = 3;
/// Least number of elements with which a single row fills enough vectors, so that lanes of other
/// rows are not necessary.
const LONG: i64 = 32;
/// Least number of elements with which LLVM reduces a row by a few operations on one vector. The
/// limit applies to reductions that LLVM recognises.
const LONG_IF_SIMPLE: i64 = 8;

impl GroupKernel<'_, '_> {
    /// Returns the number of rows to reduce in parallel lanes. Returns `None` if rows are long
    /// or very short, or if a block has too few rows.
    pub fn rows_side_by_side(&self, rows_per_block: i64) -> Option<i64> {
        let [majors, _, minors] = self.problem.dims;
        let lanes = self.lanes_of_a_tile();
        let long = if self.accumulators.are_simple() { LONG_IF_SIMPLE } else { LONG };
        let suits = majors == 1 && (SHORTEST..long).contains(&minors) && rows_per_block >= lanes;
        suits.then_some(lanes)
    }

    /// Reduces whole chunks of the rows `first..end`. Returns the first remaining row, and the
    /// outputs.
    pub fn short_rows(
        &self,
        b: &mut FunctionBuilder,
        [first, end]: [Value; 2],
        lanes: i64,
        outputs: &[Value],
    ) -> (Value, Vec<Value>) {
        let step = b.index(lanes);
        let count = b.subi(end, first);
        let left = b.remsi(count, step);
        let whole = b.subi(end, left);
        let outputs = b.scf_for(first, whole, step, outputs, |b, chunk, outputs| {
            let (tile, outputs) = self.chunk_of_rows(b, chunk, lanes, outputs);
            let (zero, one) = (b.index(0), b.index(1));
            b.scf_for(zero, step, one, &outputs, |b, lane, outputs| {
                let state = tile.lane(b, lane);
                let row = b.addi(chunk, lane);
                let totals = self.accumulators.totals(b, &state);
                let writes = self.body.finish(b, &self.starts, &[row], &totals);
                write(b, &writes, outputs)
            })
        });
        (whole, outputs)
    }

    /// Returns the accumulators of `lanes` rows from `chunk` on, and the outputs.
    fn chunk_of_rows(
        &self,
        b: &mut FunctionBuilder,
        chunk: Value,
        lanes: i64,
        outputs: &[Value],
    ) -> (AccumulatorTile, Vec<Value>) {
        let (zero, one, minors) = (b.index(0), b.index(1), b.index(self.problem.dims[2]));
        let tile = AccumulatorTile::filled(b, lanes, &self.accumulators.types(), &self.start);
        let width = tile.tensors().len();
        let state = [tile.tensors(), outputs].concat();
        let mut results = b.scf_for(zero, minors, one, &state, |b, minor, state| {
            let (tensors, outputs) = state.split_at(width);
            let (tile, outputs) = tile.carried(tensors).each_lane(b, lanes, outputs, |b, lane, held, outputs| {
                let row = b.addi(chunk, lane);
                self.absorb(b, &[zero, row, minor], held, outputs)
            });
            [tile.tensors(), &outputs].concat()
        });
        let outputs = results.split_off(width);
        (tile.carried(&results), outputs)
    }
}
