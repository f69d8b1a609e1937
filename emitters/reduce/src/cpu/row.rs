//! The loops of a block for row problems, in which adjacent elements belong to one result.
//!
//! ```text
//! for row in the block's rows
//!   total = start
//!   for major                                   many majors: sums of four, of four sums, and so on
//!     by a cascade                              long sums, unless functions compute the elements
//!     or for segment                            long lines only; sums of four segments, and so on
//!       for minor in segment                    simple reductions, which LLVM vectorises
//!       or for chunk in segment, lane in chunk  others: a tile of lanes, combined at the end
//!   epilogue(total)
//! ```

use fusebox_core::builder::{FunctionBuilder, Value};

use super::cascade::{self, BRANCHES, Cascade};
use super::group::GroupKernel;
use super::tile::AccumulatorTile;
use super::tiling::LANES;
use crate::body::write;

/// Number of elements that one partial result combines.
const SEGMENT: i64 = 2 << 10;
/// Size of one partial sum: the number of elements that it adds up, multiplied by the bytes of the
/// widest accumulator. This size applies to sums without a cascade, for example because functions
/// such as `exp` compute the elements. With this size, adding up the lanes of a vector takes a
/// hundredth of the time of computing the partial sum's elements.
const SUM_BYTES: i64 = 2 << 10;
/// Least number of a row's majors for which the kernel adds the majors' sums in groups of four. A
/// *major* is an index of the problem's first dimension.
const FEWEST_MAJORS: i64 = 16;

/// A range of majors (a row's indices in the first dimension), or a range of a line's elements.
struct ReducedRange {
    first: Value,
    end: Value,
    /// Length of the range, if it is known when the kernel is built.
    length: Option<i64>,
}

/// A function that reduces a range and returns the new accumulators and outputs.
type ReduceRange<'r> = dyn Fn(&mut FunctionBuilder, &ReducedRange, &[Value]) -> Vec<Value> + 'r;

impl ReducedRange {
    fn whole(b: &mut FunctionBuilder, length: i64) -> ReducedRange {
        ReducedRange { first: b.index(0), end: b.index(length), length: Some(length) }
    }
}

impl GroupKernel<'_, '_> {
    /// Reduces the block's rows.
    pub fn rows(&self, b: &mut FunctionBuilder, block: Value, rows: i64, outputs: &[Value]) -> Vec<Value> {
        let (one, count) = (b.index(1), b.index(self.problem.dims[1]));
        let rows_per_block = b.index(rows);
        let first = b.muli(block, rows_per_block);
        let end = b.addi(first, rows_per_block);
        let end = b.minsi(end, count);
        let (first, outputs) = match self.rows_side_by_side(rows) {
            Some(lanes) => self.short_rows(b, [first, end], lanes, outputs),
            None => (first, outputs.to_vec()),
        };
        b.scf_for(first, end, one, &outputs, |b, row, outputs| {
            let (state, outputs) = self.row(b, row, outputs);
            let totals = self.accumulators.totals(b, &state);
            let writes = self.body.finish(b, &self.starts, &[row], &totals);
            write(b, &writes, &outputs)
        })
    }

    /// Returns the accumulators of a row, and the outputs.
    fn row(&self, b: &mut FunctionBuilder, row: Value, outputs: &[Value]) -> (Vec<Value>, Vec<Value>) {
        let [majors, _, minors] = self.problem.dims;
        let one = b.index(1);
        let is_separate = majors.saturating_mul(minors) > SEGMENT;
        let whole = ReducedRange::whole(b, majors);
        let sizes = if majors < FEWEST_MAJORS { Vec::new() } else { self.sizes(BRANCHES, majors) };
        let state = [self.start.as_slice(), outputs].concat();
        let mut results = self.in_parts(b, &whole, &sizes, &state, &|b, part, state| {
            b.scf_for(part.first, part.end, one, state, |b, major, state| {
                self.line(b, [major, row], is_separate, state)
            })
        });
        let outputs = results.split_off(self.start.len());
        (results, outputs)
    }

    /// Reduces the contiguous elements of a line, and returns the new accumulators and outputs. A
    /// line consists of the elements of a row that have the same index in the first dimension.
    fn line(&self, b: &mut FunctionBuilder, at: [Value; 2], is_separate: bool, state: &[Value]) -> Vec<Value> {
        let length = self.problem.dims[2];
        let lanes = if self.holds_functions { None } else { cascade::lanes(&self.accumulators, length) };
        if let Some(lanes) = lanes {
            let visit = |b: &mut FunctionBuilder, minor: Value, outputs: &[Value]| {
                self.visit(b, &[at[0], at[1], minor], outputs)
            };
            let cascade = Cascade { accumulators: &self.accumulators, start: &self.empty, lanes, visit };
            let (before, outputs) = state.split_at(self.start.len());
            let (partial, outputs) = cascade.reduce(b, length, outputs);
            return [self.accumulators.merge(b, before, &partial), outputs].concat();
        }
        let is_sum = self.accumulators.hold_rounded();
        let segment = if is_sum { SUM_BYTES / self.accumulators.widest_bytes() } else { SEGMENT };
        let whole = ReducedRange::whole(b, length);
        if length <= segment {
            return self.segment_after(b, (at, &whole), is_separate, state);
        }
        let sizes = self.sizes(segment, length);
        self.in_parts(b, &whole, &sizes, state, &|b, part, state| self.segment_after(b, (at, part), true, state))
    }

    /// Returns the lengths of the parts into which a range of `length` is divided. For sums that
    /// round, the lengths are `smallest`, four times `smallest`, and so on. For other reductions,
    /// the only length is `smallest`.
    fn sizes(&self, smallest: i64, length: i64) -> Vec<i64> {
        let most = if self.accumulators.hold_rounded() { usize::MAX } else { 1 };
        let sizes = std::iter::successors(Some(smallest), |size| size.checked_mul(BRANCHES));
        sizes.take_while(|&size| size < length).take(most).collect()
    }

    /// Reduces a range, and returns the new accumulators and outputs. `reduce(part, state)` reduces
    /// a part whose length is the first of `sizes`. Several parts of the first size form a part of
    /// the second size, and so on.
    fn in_parts(
        &self,
        b: &mut FunctionBuilder,
        whole: &ReducedRange,
        sizes: &[i64],
        state: &[Value],
        reduce: &ReduceRange<'_>,
    ) -> Vec<Value> {
        let Some((&size, smaller)) = sizes.split_last() else { return reduce(b, whole, state) };
        let step = b.index(size);
        b.scf_for(whole.first, whole.end, step, state, |b, first, state| {
            let next = b.addi(first, step);
            let (end, length) = match whole.length {
                Some(length) if length % size == 0 => (next, Some(size)),
                _ => (b.minsi(next, whole.end), None),
            };
            let (before, outputs) = state.split_at(self.start.len());
            let start = [self.empty.as_slice(), outputs].concat();
            let mut partial = self.in_parts(b, &ReducedRange { first, end, length }, smaller, &start, reduce);
            let outputs = partial.split_off(self.start.len());
            [self.accumulators.merge(b, before, &partial), outputs].concat()
        })
    }

    /// Reduces one more segment, and returns the new accumulators and outputs. If `is_separate`,
    /// the segment has separate accumulators, which the kernel then merges into the previous
    /// accumulators.
    fn segment_after(
        &self,
        b: &mut FunctionBuilder,
        segment: ([Value; 2], &ReducedRange),
        is_separate: bool,
        state: &[Value],
    ) -> Vec<Value> {
        let (before, outputs) = state.split_at(self.start.len());
        let is_separate = is_separate || !self.accumulators.are_simple();
        let start = if is_separate { &self.empty } else { before };
        let (partial, outputs) = self.segment(b, segment, start, outputs);
        let after = if is_separate { self.accumulators.merge(b, before, &partial) } else { partial };
        [after, outputs].concat()
    }

    fn segment(
        &self,
        b: &mut FunctionBuilder,
        (at, segment): ([Value; 2], &ReducedRange),
        start: &[Value],
        outputs: &[Value],
    ) -> (Vec<Value>, Vec<Value>) {
        let lanes = self.lanes(segment);
        if self.accumulators.are_simple() || lanes < 4 {
            return self.elements(b, (at, segment), segment.first, start, outputs);
        }
        let step = b.index(lanes);
        // End of the whole chunks.
        let length = b.subi(segment.end, segment.first);
        let rest = b.remui(length, step);
        let whole = b.subi(segment.end, rest);
        let tile = AccumulatorTile::filled(b, lanes, &self.accumulators.types(), start);
        let width = tile.tensors().len();
        let state = [tile.tensors(), outputs].concat();
        let mut results = b.scf_for(segment.first, whole, step, &state, |b, chunk, state| {
            let (tensors, outputs) = state.split_at(width);
            let (tile, outputs) = tile.carried(tensors).each_lane(b, lanes, outputs, |b, lane, held, outputs| {
                let minor = b.addi(chunk, lane);
                self.absorb(b, &[at[0], at[1], minor], held, outputs)
            });
            [tile.tensors(), &outputs].concat()
        });
        let outputs = results.split_off(width);
        let state = tile.carried(&results).folded(b, [0, lanes], |b, a, c| self.accumulators.merge(b, a, c));
        match segment.length {
            Some(length) if length % lanes == 0 => (state, outputs),
            _ => self.elements(b, (at, segment), whole, &state, &outputs),
        }
    }

    /// Reduces elements one by one.
    fn elements(
        &self,
        b: &mut FunctionBuilder,
        (at, segment): ([Value; 2], &ReducedRange),
        first: Value,
        start: &[Value],
        outputs: &[Value],
    ) -> (Vec<Value>, Vec<Value>) {
        let one = b.index(1);
        let width = start.len();
        let mut results = b.scf_for(first, segment.end, one, &[start, outputs].concat(), |b, minor, state| {
            let (held, outputs) = state.split_at(width);
            let (held, outputs) = self.absorb(b, &[at[0], at[1], minor], held, outputs);
            [held, outputs].concat()
        });
        let outputs = results.split_off(width);
        (results, outputs)
    }

    /// Returns the number of lanes of a tile with accumulators of the widest type.
    pub fn lanes_of_a_tile(&self) -> i64 {
        LANES * 4 / self.accumulators.widest_bytes()
    }

    /// Returns the number of lanes of a tile for a segment. The number is at most the number of the
    /// segment's elements.
    fn lanes(&self, segment: &ReducedRange) -> i64 {
        let most = self.lanes_of_a_tile();
        let length = segment.length.unwrap_or(most);
        std::iter::successors(Some(most), |lanes| Some(lanes / 2)).find(|&lanes| lanes <= length).unwrap_or(1)
    }
}
