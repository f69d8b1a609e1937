//! Row problems: the elements of a result follow one another.
//!
//! ```text
//! for row in the block's rows
//!   total = start
//!   for major, segment                          long rows only
//!     for minor in segment                      simple reductions: vectorised as such
//!     or for chunk in segment, lane in chunk    others: a tile of lanes, folded at the end
//!   epilogue(total)
//! ```

use fusebox_core::builder::{FunctionBuilder, Value};

use super::group::Group;
use super::tile::Tile;
use crate::body::write;

/// Elements after which a partial result is set aside: long sums gain the precision of shorter ones.
const SEGMENT: i64 = 2 << 10;
/// Segments whose results are set aside again, and so on.
const SEGMENTS: i64 = 8;
/// Lanes of a tile, if the accumulators take no more than four bytes.
const LANES: i64 = 32;

/// A stretch of one row.
struct Segment {
    major: Value,
    row: Value,
    first: Value,
    end: Value,
    /// Number of elements, if it is known.
    length: Option<i64>,
}

impl Group<'_, '_> {
    /// The block's rows.
    pub fn rows(&self, b: &mut FunctionBuilder, block: Value, rows: i64, outputs: &[Value]) -> Vec<Value> {
        let (one, count) = (b.index(1), b.index(self.problem.dims[1]));
        let share = b.index(rows);
        let first = b.muli(block, share);
        let end = b.addi(first, share);
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

    /// The accumulators of a row, and the outputs.
    fn row(&self, b: &mut FunctionBuilder, row: Value, outputs: &[Value]) -> (Vec<Value>, Vec<Value>) {
        let [majors, _, minors] = self.problem.dims;
        let (zero, one) = (b.index(0), b.index(1));
        let (count, end) = (b.index(majors), b.index(minors));
        let is_long = majors.saturating_mul(minors) > SEGMENT;
        let width = self.start.len();
        let state = [self.start.as_slice(), outputs].concat();
        let mut results = b.scf_for(zero, count, one, &state, |b, major, state| {
            if minors <= SEGMENT {
                let segment = Segment { major, row, first: zero, end, length: Some(minors) };
                return self.segment_after(b, &segment, is_long, state);
            }
            let rounded = |&size: &i64| size < minors && self.accumulators.are_rounded();
            let larger = std::iter::successors(Some(SEGMENT), |size| size.checked_mul(SEGMENTS)).skip(1);
            let sizes: Vec<i64> = std::iter::once(SEGMENT).chain(larger.take_while(rounded)).collect();
            self.segments(b, &Segment { major, row, first: zero, end, length: Some(minors) }, &sizes, state)
        });
        let outputs = results.split_off(width);
        (results, outputs)
    }

    /// Accumulators and outputs after a long segment: that of parts of the last of `sizes`, each of which is made of parts of the one
    /// before.
    fn segments(&self, b: &mut FunctionBuilder, whole: &Segment, sizes: &[i64], state: &[Value]) -> Vec<Value> {
        let Some((&size, smaller)) = sizes.split_last() else { return self.segment_after(b, whole, true, state) };
        let step = b.index(size);
        b.scf_for(whole.first, whole.end, step, state, |b, first, state| {
            let next = b.addi(first, step);
            let (end, length) = match whole.length {
                Some(length) if length % size == 0 => (next, Some(size)),
                _ => (b.minsi(next, whole.end), None),
            };
            let part = Segment { major: whole.major, row: whole.row, first, end, length };
            if smaller.is_empty() {
                return self.segment_after(b, &part, true, state);
            }
            let (before, outputs) = state.split_at(self.start.len());
            let mut found = self.segments(b, &part, smaller, &[self.start.as_slice(), outputs].concat());
            let outputs = found.split_off(self.start.len());
            [self.accumulators.merge(b, before, &found), outputs].concat()
        })
    }

    /// Accumulators and outputs after a further segment, which has accumulators of its own if it `is_apart`.
    fn segment_after(&self, b: &mut FunctionBuilder, segment: &Segment, is_apart: bool, state: &[Value]) -> Vec<Value> {
        let (before, outputs) = state.split_at(self.start.len());
        let is_apart = is_apart || !self.accumulators.are_simple();
        let start = if is_apart { &self.start } else { before };
        let (found, outputs) = self.segment(b, segment, start, outputs);
        let after = if is_apart { self.accumulators.merge(b, before, &found) } else { found };
        [after, outputs].concat()
    }

    fn segment(
        &self,
        b: &mut FunctionBuilder,
        segment: &Segment,
        start: &[Value],
        outputs: &[Value],
    ) -> (Vec<Value>, Vec<Value>) {
        let lanes = self.lanes(segment);
        if self.accumulators.are_simple() || lanes < 4 {
            return self.elements(b, segment, segment.first, start, outputs);
        }
        let step = b.index(lanes);
        // The end of whole chunks.
        let length = b.subi(segment.end, segment.first);
        let rest = b.remui(length, step);
        let whole = b.subi(segment.end, rest);
        let tile = Tile::filled(b, lanes, &self.accumulators.types(), start);
        let width = tile.tensors().len();
        let state = [tile.tensors(), outputs].concat();
        let mut results = b.scf_for(segment.first, whole, step, &state, |b, chunk, state| {
            let (tensors, outputs) = state.split_at(width);
            let (tile, outputs) = tile.carried(tensors).each_lane(b, lanes, outputs, |b, lane, held, outputs| {
                let minor = b.addi(chunk, lane);
                self.absorb(b, &[segment.major, segment.row, minor], held, outputs)
            });
            [tile.tensors(), &outputs].concat()
        });
        let outputs = results.split_off(width);
        let state = tile.carried(&results).folded(b, |b, a, c| self.accumulators.merge(b, a, c));
        match segment.length {
            Some(length) if length % lanes == 0 => (state, outputs),
            _ => self.elements(b, segment, whole, &state, &outputs),
        }
    }

    /// Elements one by one.
    fn elements(
        &self,
        b: &mut FunctionBuilder,
        segment: &Segment,
        first: Value,
        start: &[Value],
        outputs: &[Value],
    ) -> (Vec<Value>, Vec<Value>) {
        let one = b.index(1);
        let width = start.len();
        let mut results = b.scf_for(first, segment.end, one, &[start, outputs].concat(), |b, minor, state| {
            let (held, outputs) = state.split_at(width);
            let (held, outputs) = self.absorb(b, &[segment.major, segment.row, minor], held, outputs);
            [held, outputs].concat()
        });
        let outputs = results.split_off(width);
        (results, outputs)
    }

    /// Lanes that fill four vector registers of the widest accumulator, and not more than there are elements.
    fn lanes(&self, segment: &Segment) -> i64 {
        let widest = self.accumulators.types().iter().map(|ty| i64::from(ty.bits()).max(32)).max().unwrap_or(32);
        let most = LANES * 32 / widest;
        let length = segment.length.unwrap_or(most);
        std::iter::successors(Some(most), |lanes| Some(lanes / 2)).find(|&lanes| lanes <= length).unwrap_or(1)
    }
}
