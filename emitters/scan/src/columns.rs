//! The loops of a block with many lines. The kernel processes one step of all lines at a time and
//! keeps the combined values of the lines in tiles. So LLVM vectorises the calls of the combiner
//! over the lines, for any layout in memory.

use fusebox_core::builder::{FunctionBuilder, IntPredicate, Value};
use fusebox_core::indexing::IndexingMap;

use crate::body::{Point, PrefixValues, ScanBody};
use crate::plan::ColumnPlan;

/// Loop-carried tensors.
struct ColumnLoopState {
    /// Tensors `[column]` with the combinations of each line's elements before the chunk.
    tiles: PrefixValues,
    /// Tensor `[column]` with the combination of each line's elements in the chunk.
    within: Value,
    outputs: Vec<Value>,
}

impl ColumnLoopState {
    fn list(&self) -> Vec<Value> {
        let PrefixValues { base, group, before } = self.tiles;
        [&[base, group, before, self.within], self.outputs.as_slice()].concat()
    }

    fn of(list: &[Value]) -> ColumnLoopState {
        let tiles = PrefixValues { base: list[0], group: list[1], before: list[2] };
        ColumnLoopState { tiles, within: list[3], outputs: list[4..].to_vec() }
    }
}

/// The lines of a block.
#[derive(Clone, Copy)]
struct BlockLines<'a> {
    /// Map from `(group, line of the group)` to `(outer, inner)`.
    place: &'a IndexingMap,
    group: Value,
    first: Value,
    count: Value,
}

impl ScanBody<'_> {
    pub fn columns(&self, b: &mut FunctionBuilder, cut: &ColumnPlan, block: Value, outputs: &[Value]) -> Vec<Value> {
        let (cuts, size) = (b.index(cut.cuts), b.index(cut.columns));
        let (group, number) = (b.divui(block, cuts), b.remui(block, cuts));
        let first = b.muli(number, size);
        let count = match cut.width % cut.columns {
            0 => size,
            _ => {
                let all = b.index(cut.width);
                let rest = b.subi(all, first);
                b.minsi(rest, size)
            }
        };
        let part = BlockLines { place: &cut.place, group, first, count };
        let tile = |b: &mut FunctionBuilder| b.allocate_shared(&[cut.columns], self.element_type);
        let initial = self.initial(b);
        let tiles = PrefixValues { base: tile(b), group: tile(b), before: tile(b) };
        let state = ColumnLoopState { tiles, within: tile(b), outputs: outputs.to_vec() };
        let state = self.row(b, part, state, |b, column, state| {
            let tiles = state.tiles.each(|tile| b.insert(initial, tile, &[column]));
            ColumnLoopState { tiles, within: b.insert(initial, state.within, &[column]), ..state }
        });
        let state = self.chunks(b, &state.list(), |b, chunk, state| {
            let one = b.index(1);
            let state = b.scf_for(chunk.first, chunk.end, one, state, |b, step, state| {
                let is_first = b.cmpi(IntPredicate::Eq, step, chunk.first);
                self.step_of_tile(b, part, step, is_first, ColumnLoopState::of(state)).list()
            });
            let after = self.row(b, part, ColumnLoopState::of(&state), |b, column, state| {
                let within = b.extract(state.within, &[column]);
                let before = state.tiles.each(|tile| b.extract(tile, &[column]));
                let behind = self.behind(b, chunk, within, before);
                ColumnLoopState {
                    tiles: state.tiles.with(behind, |tile, value| b.insert(value, tile, &[column])),
                    ..state
                }
            });
            after.list()
        });
        ColumnLoopState::of(&state).outputs
    }

    /// Builds a loop over all lines of the block.
    fn row(
        &self,
        b: &mut FunctionBuilder,
        part: BlockLines<'_>,
        state: ColumnLoopState,
        body: impl FnOnce(&mut FunctionBuilder, Value, ColumnLoopState) -> ColumnLoopState,
    ) -> ColumnLoopState {
        let (zero, one) = (b.index(0), b.index(1));
        let state = b.scf_for(zero, part.count, one, &state.list(), |b, column, state| {
            body(b, column, ColumnLoopState::of(state)).list()
        });
        ColumnLoopState::of(&state)
    }

    /// Processes one step of all lines: combines each line's element with the line's previous
    /// elements, and writes the results.
    fn step_of_tile(
        &self,
        b: &mut FunctionBuilder,
        part: BlockLines<'_>,
        step: Value,
        is_first: Value,
        state: ColumnLoopState,
    ) -> ColumnLoopState {
        self.row(b, part, state, |b, column, state| {
            let line = b.addi(part.first, column);
            let place = b.apply_indexing(part.place, &[part.group, line]);
            let point: Point = [place[0], step, place[1]];
            let [before, within] = [state.tiles.before, state.within].map(|tile| b.extract(tile, &[column]));
            let [within, value] = self.combinations(b, point, is_first, before, within);
            let outputs = self.write(b, point, value, &state.outputs);
            ColumnLoopState { within: b.insert(within, state.within, &[column]), outputs, ..state }
        })
    }
}
