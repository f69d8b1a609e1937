//! The loops of a block of many lines: step after step, with what all lines come to in tiles. What is combined becomes
//! vectors, wherever it lies in memory.

use fusebox_core::builder::{FunctionBuilder, IntPredicate, Value};
use fusebox_core::indexing::IndexingMap;

use crate::body::{Body, Point};
use crate::plan::ColumnPlan;

/// Tensors that change.
struct State {
    /// `[column]`: of all chunks before.
    before: Value,
    /// `[column]`: of this chunk.
    within: Value,
    /// `[column]`: both together.
    last: Value,
    outputs: Vec<Value>,
}

impl State {
    fn list(&self) -> Vec<Value> {
        [&[self.before, self.within, self.last], self.outputs.as_slice()].concat()
    }

    fn of(list: &[Value]) -> State {
        State { before: list[0], within: list[1], last: list[2], outputs: list[3..].to_vec() }
    }
}

/// The lines of a block.
#[derive(Clone, Copy)]
struct Part<'a> {
    /// `(group, line of it)` to outer and inner.
    place: &'a IndexingMap,
    group: Value,
    first: Value,
    count: Value,
}

impl Body<'_> {
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
        let part = Part { place: &cut.place, group, first, count };
        let tile = |b: &mut FunctionBuilder| b.allocate_shared(&[cut.columns], self.element_type);
        let initial = self.initial(b);
        let state = State { before: tile(b), within: tile(b), last: tile(b), outputs: outputs.to_vec() };
        let state = self.row(b, part, state, |b, column, state| {
            let [before, within] = [state.before, state.within].map(|tile| b.insert(initial, tile, &[column]));
            State { before, within, ..state }
        });
        let state = self.chunks(b, &state.list(), |b, [first, end], state| {
            let one = b.index(1);
            let state = b.scf_for(first, end, one, state, |b, step, state| {
                let is_first = b.cmpi(IntPredicate::Eq, step, first);
                self.step_of_tile(b, part, step, is_first, State::of(state)).list()
            });
            let after = self.row(b, part, State::of(&state), |b, column, state| {
                let last = b.extract(state.last, &[column]);
                let before = b.insert(last, state.before, &[column]);
                State { before, ..state }
            });
            after.list()
        });
        State::of(&state).outputs
    }

    /// All lines of the block.
    fn row(
        &self,
        b: &mut FunctionBuilder,
        part: Part<'_>,
        state: State,
        body: impl FnOnce(&mut FunctionBuilder, Value, State) -> State,
    ) -> State {
        let (zero, one) = (b.index(0), b.index(1));
        let state = b
            .scf_for(zero, part.count, one, &state.list(), |b, column, state| body(b, column, State::of(state)).list());
        State::of(&state)
    }

    /// One step of all lines.
    fn step_of_tile(
        &self,
        b: &mut FunctionBuilder,
        part: Part<'_>,
        step: Value,
        is_first: Value,
        state: State,
    ) -> State {
        self.row(b, part, state, |b, column, state| {
            let line = b.addi(part.first, column);
            let place = b.apply_indexing(part.place, &[part.group, line]);
            let point: Point = [place[0], step, place[1]];
            let (before, within) = (b.extract(state.before, &[column]), b.extract(state.within, &[column]));
            let [within, value] = self.combinations(b, point, is_first, before, within);
            let tile = b.insert(within, state.within, &[column]);
            let last = b.insert(value, state.last, &[column]);
            let outputs = self.write(b, point, value, &state.outputs);
            State { within: tile, last, outputs, ..state }
        })
    }
}
