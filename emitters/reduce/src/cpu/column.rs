//! The loops of a block for column problems, in which adjacent elements belong to adjacent results.
//!
//! ```text
//! for major in the block's majors
//!   tile = start, a lane per column             few columns: a lane per column of several rows
//!   for rows, lane, row in rows: tile[lane] += element
//!   for column: epilogue(tile[column])
//! ```

use fusebox_core::builder::{FunctionBuilder, Value};
use fusebox_core::indexing::{Expr, IndexingMap, Variable, ceil_div};

use super::group::GroupKernel;
use super::levels::{SumLevels, SumTree};
use super::tile::AccumulatorTile;
use super::tiling::ColumnWork;
use crate::body::write;

/// Number of iterations whose sums are added sequentially.
const CHUNK: i64 = 8;
/// Number of rows that are added sequentially, if iterations have no separate sums.
const ROWS: i64 = 16;
/// Binary logarithm of the number of sums that form one sum of the next level.
const GROUP_BITS: i64 = 3;
/// Number of bytes. The emitter rounds the total size of a level's lanes up to a multiple of this
/// number.
const BYTES_OF_LEVELS: i64 = 256;

/// The columns of one block.
struct BlockColumns<'c> {
    columns: &'c ColumnWork,
    major: Value,
    first: Value,
    count: Value,
}

/// Returns, for each level below the highest, the number of rows that one sum of this level adds
/// up.
fn sizes_of_levels(rows: i64, chunk: i64) -> impl Iterator<Item = i64> {
    let sizes = std::iter::successors(Some(chunk), |size| size.checked_mul(1 << GROUP_BITS));
    sizes.take_while(move |&size| size < rows)
}

impl GroupKernel<'_, '_> {
    /// Reduces the block's columns.
    pub fn columns(
        &self,
        b: &mut FunctionBuilder,
        block: Value,
        columns: &ColumnWork,
        outputs: &[Value],
    ) -> Vec<Value> {
        let [majors, _, width] = self.problem.dims;
        let (one, cuts) = (b.index(1), b.index(columns.cuts));
        let (of_majors, cut) = (b.divui(block, cuts), b.remui(block, cuts));
        let (majors_per_block, size) = (b.index(columns.majors), b.index(columns.width));
        let first_major = b.muli(of_majors, majors_per_block);
        let end = b.addi(first_major, majors_per_block);
        let all = b.index(majors);
        let end = b.minsi(end, all);
        let first = b.muli(cut, size);
        let count = match width % columns.width {
            0 => size,
            _ => {
                let all = b.index(width);
                let left = b.subi(all, first);
                b.minsi(left, size)
            }
        };
        b.scf_for(first_major, end, one, outputs, |b, major, outputs| {
            let piece = BlockColumns { columns, major, first, count };
            if columns.rows_abreast > 1 { self.abreast(b, &piece, outputs) } else { self.piece(b, &piece, outputs) }
        })
    }

    fn piece(&self, b: &mut FunctionBuilder, piece: &BlockColumns<'_>, outputs: &[Value]) -> Vec<Value> {
        let rows = self.problem.dims[1];
        let per_turn = piece.columns.rows_per_turn;
        let whole = rows - rows % per_turn;
        let chunk = if piece.columns.is_turn_apart { CHUNK * per_turn } else { ROWS.max(per_turn) };
        let above = if self.accumulators.hold_rounded() { sizes_of_levels(whole, chunk).count() } else { 0 };
        if above > 0 {
            let (levels, outputs) = self.in_levels(b, piece, (above, chunk), outputs);
            return self.write_columns(b, piece, &outputs, |b, column| {
                let total = levels.total(b, column);
                self.accumulators.merge(b, &self.start, &total)
            });
        }
        let tile = AccumulatorTile::filled(b, piece.columns.width, &self.accumulators.types(), &self.start);
        let range = [0, whole].map(|row| b.index(row));
        let (tile, outputs) = self.turns(b, piece, tile, outputs, (range, per_turn));
        let (tile, outputs) = self.rows_left(b, piece, tile, outputs, [whole, rows]);
        self.write_columns(b, piece, &outputs, |b, column| tile.lane(b, column))
    }

    /// Computes sums of chunks of rows, then of groups of chunks, and so on, because rounding
    /// errors grow with the number of sequential additions.
    fn in_levels(
        &self,
        b: &mut FunctionBuilder,
        piece: &BlockColumns<'_>,
        (above, chunk): (usize, i64),
        outputs: &[Value],
    ) -> (SumLevels, Vec<Value>) {
        let (rows, per_turn) = (self.problem.dims[1], piece.columns.rows_per_turn);
        let whole = rows - rows % per_turn;
        // The lanes fill whole vectors, so that the loops over levels have no remainders.
        let vectors = (BYTES_OF_LEVELS / self.accumulators.widest_bytes()).max(1);
        let lanes = ceil_div(piece.columns.width, vectors) * vectors;
        let tree = SumTree { lanes, branch_bits: GROUP_BITS, above: above as i64, is_block_complete: true };
        let levels = SumLevels::new(b, tree, &self.accumulators, &self.empty);
        // The rows that remain after the last chunk are added to the first chunk's sum. All levels
        // are added up in the end.
        let (tile, outputs) = self.rows_left(b, piece, levels.tile().clone(), outputs.to_vec(), [whole, rows]);
        let blocks = whole / chunk;
        let (tile, outputs) = if blocks * chunk < whole {
            let range = [blocks * chunk, whole].map(|row| b.index(row));
            self.turns(b, piece, tile, &outputs, (range, per_turn))
        } else {
            (tile, outputs)
        };
        let width = tile.tensors().len();
        let [zero, one, size, blocks] = [0, 1, chunk, blocks].map(|value| b.index(value));
        let state = [tile.tensors(), &outputs].concat();
        let mut results = b.scf_for(zero, blocks, one, &state, |b, block, state| {
            let (tensors, outputs) = state.split_at(width);
            let first = b.muli(block, size);
            let next = b.addi(first, size);
            let lowest = levels.tile().carried(tensors);
            let (lowest, outputs) = self.turns(b, piece, lowest, outputs, ([first, next], per_turn));
            let levels = levels.carried(lowest.tensors()).after(b, &self.accumulators, &self.empty, [block, blocks]);
            [levels.tile().tensors(), &outputs].concat()
        });
        let outputs = results.split_off(width);
        (levels.carried(&results), outputs)
    }

    /// Returns a tile with the sums of `rows` rows. `add` adds a range of rows to a tile. Like
    /// [`in_levels`](Self::in_levels), this function sums in levels, but emits a separate loop for
    /// each level. If there are few lanes, the sums stay in registers through all loops.
    fn in_chunks(
        &self,
        b: &mut FunctionBuilder,
        (lanes, [rows, chunk]): (i64, [i64; 2]),
        outputs: &[Value],
        add: impl Fn(&mut FunctionBuilder, AccumulatorTile, &[Value], [Value; 2]) -> (AccumulatorTile, Vec<Value>),
    ) -> (AccumulatorTile, Vec<Value>) {
        let mut sizes: Vec<i64> = Vec::new();
        if self.accumulators.hold_rounded() {
            sizes.extend(sizes_of_levels(rows, chunk));
            sizes.reverse();
        }
        let left = sizes.last().map_or(0, |smallest| rows % smallest);
        let tile = AccumulatorTile::filled(b, lanes, &self.accumulators.types(), &self.start);
        let range = [0, rows - left, rows].map(|row| b.index(row));
        let (tile, outputs) = self.chunks(b, (lanes, &sizes), tile, outputs, ([range[0], range[1]], &add));
        match left {
            0 => (tile, outputs),
            _ => add(b, tile, &outputs, [range[1], range[2]]),
        }
    }

    /// Uses `add` to add a range of rows to the tile. Splits the range into chunks of `sizes[0]`
    /// rows, splits each chunk into chunks of `sizes[1]` rows, and so on. The length of the range
    /// is a multiple of the last number in `sizes`.
    fn chunks<F>(
        &self,
        b: &mut FunctionBuilder,
        (lanes, sizes): (i64, &[i64]),
        tile: AccumulatorTile,
        outputs: &[Value],
        ([first, end], add): ([Value; 2], &F),
    ) -> (AccumulatorTile, Vec<Value>)
    where
        F: Fn(&mut FunctionBuilder, AccumulatorTile, &[Value], [Value; 2]) -> (AccumulatorTile, Vec<Value>),
    {
        let Some((&size, smaller)) = sizes.split_first() else {
            return add(b, tile, outputs, [first, end]);
        };
        let size = b.index(size);
        let width = tile.tensors().len();
        let mut results = b.scf_for(first, end, size, &[tile.tensors(), outputs].concat(), |b, first, state| {
            let (tensors, outputs) = state.split_at(width);
            let next = b.addi(first, size);
            let next = if smaller.is_empty() { next } else { b.minsi(next, end) };
            let part = AccumulatorTile::filled(b, lanes, &self.accumulators.types(), &self.empty);
            let (part, outputs) = self.chunks(b, (lanes, smaller), part, outputs, ([first, next], add));
            let all = self.accumulators.merge_lanes(b, tile.carried(tensors), &part, lanes);
            [all.tensors(), &outputs].concat()
        });
        let outputs = results.split_off(width);
        (tile.carried(&results), outputs)
    }

    /// Adds to the tile, one row at a time, the rows that fill no whole iteration.
    fn rows_left(
        &self,
        b: &mut FunctionBuilder,
        piece: &BlockColumns<'_>,
        tile: AccumulatorTile,
        outputs: Vec<Value>,
        [first, end]: [i64; 2],
    ) -> (AccumulatorTile, Vec<Value>) {
        if first == end {
            return (tile, outputs);
        }
        let range = [b.index(first), b.index(end)];
        self.turns(b, piece, tile, &outputs, (range, 1))
    }

    /// Adds the rows of a range to the tile, `step` rows per iteration.
    fn turns(
        &self,
        b: &mut FunctionBuilder,
        piece: &BlockColumns<'_>,
        tile: AccumulatorTile,
        outputs: &[Value],
        ([first, end], step): ([Value; 2], i64),
    ) -> (AccumulatorTile, Vec<Value>) {
        // Sums the rows of an iteration separately, because a sum of few equal numbers is exact.
        let is_apart = step > 1 && piece.columns.is_turn_apart && self.accumulators.hold_rounded();
        let step = b.index(step);
        let (zero, one) = (b.index(0), b.index(1));
        let width = tile.tensors().len();
        let mut results = b.scf_for(first, end, step, &[tile.tensors(), outputs].concat(), |b, turn, state| {
            let (tensors, outputs) = state.split_at(width);
            let tile = tile.carried(tensors);
            let next = |b: &mut FunctionBuilder, lane: Value, held: &[Value], outputs: &[Value]| {
                let column = b.addi(piece.first, lane);
                let start = if is_apart { &self.empty } else { held };
                let mut results = b.scf_for(zero, step, one, &[start, outputs].concat(), |b, row, state| {
                    let (held, outputs) = state.split_at(width);
                    let row = b.addi(turn, row);
                    let (held, outputs) = self.absorb(b, &[piece.major, row, column], held, outputs);
                    [held, outputs].concat()
                });
                let outputs = results.split_off(width);
                let results = if is_apart { self.accumulators.merge(b, held, &results) } else { results };
                (results, outputs)
            };
            let (tile, outputs) = match piece.columns.line {
                Some(line) => tile.each_lane_of_lines(b, [piece.columns.width / line, line], outputs, next),
                None => tile.each_lane_below(b, piece.count, outputs, next),
            };
            [tile.tensors(), &outputs].concat()
        });
        let outputs = results.split_off(width);
        (tile.carried(&results), outputs)
    }

    /// Reduces the columns of a problem with few columns. Each iteration processes several rows.
    /// Lane `row * columns + column` adds up the elements of column `column` in row number `row` of
    /// each iteration.
    fn abreast(&self, b: &mut FunctionBuilder, piece: &BlockColumns<'_>, outputs: &[Value]) -> Vec<Value> {
        let [_, rows, width] = self.problem.dims;
        let abreast = piece.columns.rows_abreast;
        let lanes = abreast * width;
        let whole = rows - rows % abreast;
        let place = IndexingMap {
            dims: vec![Variable::from_size(lanes)],
            results: vec![Expr::dim(0).floor_div(width), Expr::dim(0).modulo(width)],
            ..IndexingMap::default()
        };
        let add = |b: &mut FunctionBuilder, tile: AccumulatorTile, outputs: &[Value], [first, end]: [Value; 2]| {
            let step = b.index(abreast);
            let values = tile.tensors().len();
            let mut results = b.scf_for(first, end, step, &[tile.tensors(), outputs].concat(), |b, turn, state| {
                let (tensors, outputs) = state.split_at(values);
                let (tile, outputs) = tile.carried(tensors).each_lane(b, lanes, outputs, |b, lane, held, outputs| {
                    let place = b.apply_indexing(&place, &[lane]);
                    let row = b.addi(turn, place[0]);
                    self.absorb(b, &[piece.major, row, place[1]], held, outputs)
                });
                [tile.tensors(), &outputs].concat()
            });
            let outputs = results.split_off(values);
            (tile.carried(&results), outputs)
        };
        let (tile, outputs) = self.in_chunks(b, (lanes, [whole, CHUNK * abreast]), outputs, add);
        // The remaining rows are added to the first lanes.
        let (tile, outputs) = self.rows_left(b, piece, tile, outputs, [whole, rows]);
        self.write_columns(b, piece, &outputs, |b, column| {
            let mut state = tile.lane(b, column);
            for row in 1..abreast {
                let distance = b.index(row * width);
                let lane = b.addi(column, distance);
                let others = tile.lane(b, lane);
                state = self.accumulators.merge(b, &state, &others);
            }
            state
        })
    }

    /// Applies the epilogues to each column's accumulators.
    fn write_columns(
        &self,
        b: &mut FunctionBuilder,
        piece: &BlockColumns<'_>,
        outputs: &[Value],
        state: impl FnOnce(&mut FunctionBuilder, Value) -> Vec<Value>,
    ) -> Vec<Value> {
        let (zero, one) = (b.index(0), b.index(1));
        b.scf_for(zero, piece.count, one, outputs, |b, lane, outputs| {
            let state = state(b, lane);
            let column = b.addi(piece.first, lane);
            let totals = self.accumulators.totals(b, &state);
            let writes = self.body.finish(b, &self.starts, &[piece.major, column], &totals);
            write(b, &writes, outputs)
        })
    }
}
