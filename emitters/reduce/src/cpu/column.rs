//! Column problems: the elements that follow one another belong to neighbouring results.
//!
//! ```text
//! for major in the block's majors
//!   tile = start, a lane per column             few columns: a lane per column of several rows
//!   for rows, lane, row in rows: tile[lane] += element
//!   for column: epilogue(tile[column])
//! ```

use fusebox_core::builder::{FunctionBuilder, Value};
use fusebox_core::indexing::{Expr, IndexingMap, Variable};

use super::group::Group;
use super::tile::Tile;
use super::tiling::Columns;
use crate::body::write;

/// The columns of one block.
struct Piece<'c> {
    columns: &'c Columns,
    major: Value,
    first: Value,
    count: Value,
}

impl Group<'_, '_> {
    /// The block's columns.
    pub fn columns(&self, b: &mut FunctionBuilder, block: Value, columns: &Columns, outputs: &[Value]) -> Vec<Value> {
        let [majors, _, width] = self.problem.dims;
        let (one, cuts) = (b.index(1), b.index(columns.cuts));
        let (of_majors, cut) = (b.divui(block, cuts), b.remui(block, cuts));
        let (share, size) = (b.index(columns.majors), b.index(columns.width));
        let first_major = b.muli(of_majors, share);
        let end = b.addi(first_major, share);
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
            let piece = Piece { columns, major, first, count };
            if columns.rows_abreast > 1 { self.abreast(b, &piece, outputs) } else { self.piece(b, &piece, outputs) }
        })
    }

    fn piece(&self, b: &mut FunctionBuilder, piece: &Piece<'_>, outputs: &[Value]) -> Vec<Value> {
        let rows = self.problem.dims[1];
        let per_turn = piece.columns.rows_per_turn;
        let whole = rows - rows % per_turn;
        let tile = Tile::filled(b, piece.columns.width, &self.accumulators.types(), &self.start);
        let (tile, outputs) = self.turns(b, piece, tile, outputs, (0, whole, per_turn));
        let (tile, outputs) = self.turns(b, piece, tile, &outputs, (whole, rows, 1));
        self.write_columns(b, piece, &outputs, |b, column| tile.lane(b, column))
    }

    /// Rows `first..end`, `step` at a time.
    fn turns(
        &self,
        b: &mut FunctionBuilder,
        piece: &Piece<'_>,
        tile: Tile,
        outputs: &[Value],
        (first, end, step): (i64, i64, i64),
    ) -> (Tile, Vec<Value>) {
        if first == end {
            return (tile, outputs.to_vec());
        }
        let (first, end, step) = (b.index(first), b.index(end), b.index(step));
        let (zero, one) = (b.index(0), b.index(1));
        let width = tile.tensors().len();
        let mut results = b.scf_for(first, end, step, &[tile.tensors(), outputs].concat(), |b, turn, state| {
            let (tensors, outputs) = state.split_at(width);
            let tile = tile.carried(tensors);
            let next = |b: &mut FunctionBuilder, lane: Value, held: &[Value], outputs: &[Value]| {
                let column = b.addi(piece.first, lane);
                let mut results = b.scf_for(zero, step, one, &[held, outputs].concat(), |b, row, state| {
                    let (held, outputs) = state.split_at(width);
                    let row = b.addi(turn, row);
                    let (held, outputs) = self.absorb(b, &[piece.major, row, column], held, outputs);
                    [held, outputs].concat()
                });
                let outputs = results.split_off(width);
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

    /// Few columns: lane `row * columns + column` for the rows abreast.
    fn abreast(&self, b: &mut FunctionBuilder, piece: &Piece<'_>, outputs: &[Value]) -> Vec<Value> {
        let [_, rows, width] = self.problem.dims;
        let abreast = piece.columns.rows_abreast;
        let lanes = abreast * width;
        let whole = rows - rows % abreast;
        let tile = Tile::filled(b, lanes, &self.accumulators.types(), &self.start);
        let (zero, end, step) = (b.index(0), b.index(whole), b.index(abreast));
        let values = tile.tensors().len();
        let place = IndexingMap {
            dims: vec![Variable::from_size(lanes)],
            results: vec![Expr::dim(0).floor_div(width), Expr::dim(0).modulo(width)],
            ..IndexingMap::default()
        };
        let mut results = b.scf_for(zero, end, step, &[tile.tensors(), outputs].concat(), |b, turn, state| {
            let (tensors, outputs) = state.split_at(values);
            let (tile, outputs) = tile.carried(tensors).each_lane(b, lanes, outputs, |b, lane, held, outputs| {
                let place = b.apply_indexing(&place, &[lane]);
                let row = b.addi(turn, place[0]);
                self.absorb(b, &[piece.major, row, place[1]], held, outputs)
            });
            [tile.tensors(), &outputs].concat()
        });
        let outputs = results.split_off(values);
        let tile = tile.carried(&results);
        // Rows that are left go to the first lanes.
        let (tile, outputs) = match whole == rows {
            true => (tile, outputs),
            false => self.turns(b, piece, tile, &outputs, (whole, rows, 1)),
        };
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
        piece: &Piece<'_>,
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
