//! The loops of a block that scans whole lines. The kernel scans a few lines together and keeps the
//! combined values of these lines in registers.

use fusebox_core::builder::{FunctionBuilder, IntPredicate, Value};
use fusebox_core::indexing::{Expr, IndexingMap};

use crate::body::{PrefixValues, ScanBody};
use crate::plan::{LINES, LinePlan};

impl ScanBody<'_> {
    pub fn lines(&self, b: &mut FunctionBuilder, cut: &LinePlan, block: Value, outputs: &[Value]) -> Vec<Value> {
        let (lines_per_block, all) = (b.index(cut.lines), b.index(self.scan.lines()));
        let first = b.muli(block, lines_per_block);
        let end = b.addi(first, lines_per_block);
        let end = if self.scan.lines() % cut.lines == 0 { end } else { b.minsi(end, all) };
        let count = b.subi(end, first);
        let (one, at_once) = (b.index(1), b.index(LINES));
        let rest = b.remui(count, at_once);
        let whole = b.subi(end, rest);
        let outputs = b.scf_for(first, whole, at_once, outputs, |b, line, outputs| self.some(b, line, LINES, outputs));
        b.scf_for(whole, end, one, &outputs, |b, line, outputs| self.some(b, line, 1, outputs))
    }

    /// Scans `count` lines from `first` on.
    fn some(&self, b: &mut FunctionBuilder, first: Value, count: i64, outputs: &[Value]) -> Vec<Value> {
        let inner = self.scan.sizes.inner;
        let place = vec![Expr::dim(0).floor_div(inner), Expr::dim(0).modulo(inner)];
        let place = IndexingMap::from_tensor_sizes(place, &[self.scan.lines()], &[]);
        let places: Vec<Vec<Value>> = (0..count)
            .map(|number| {
                let number = b.index(number);
                let line = b.addi(first, number);
                b.apply_indexing(&place, &[line])
            })
            .collect();
        let initial = self.initial(b);
        // The values `base`, `group` and `before` of each line.
        let before = vec![initial; 3 * places.len()];
        let mut state = self.chunks(b, &[before.as_slice(), outputs].concat(), |b, chunk, state| {
            let (before, outputs) = state.split_at(3 * places.len());
            let before: Vec<PrefixValues> =
                before.chunks(3).map(|it| PrefixValues { base: it[0], group: it[1], before: it[2] }).collect();
            let within: Vec<Value> = before.iter().map(|it| it.before).collect();
            let one = b.index(1);
            let state = b.scf_for(chunk.first, chunk.end, one, &[&within, outputs].concat(), |b, step, state| {
                let is_first = b.cmpi(IntPredicate::Eq, step, chunk.first);
                self.step_of_lines(b, &places, (step, is_first), &before, state)
            });
            let (within, outputs) = state.split_at(places.len());
            let behind = within.iter().zip(&before).flat_map(|(&within, &before)| {
                let PrefixValues { base, group, before } = self.behind(b, chunk, within, before);
                [base, group, before]
            });
            behind.collect::<Vec<Value>>().into_iter().chain(outputs.iter().copied()).collect()
        });
        state.split_off(3 * places.len())
    }

    /// Processes one step of all lines. Returns a list that begins with one value per line: the
    /// combination of the line's elements in the chunk so far. In this list, the outputs follow the
    /// values of the lines.
    fn step_of_lines(
        &self,
        b: &mut FunctionBuilder,
        places: &[Vec<Value>],
        (step, is_first): (Value, Value),
        before: &[PrefixValues],
        state: &[Value],
    ) -> Vec<Value> {
        let (within, outputs) = state.split_at(places.len());
        let (mut all_within, mut outputs) = (Vec::new(), outputs.to_vec());
        for (at, (before, &within)) in places.iter().zip(before.iter().zip(within)) {
            let point = [at[0], step, at[1]];
            let [within, result] = self.combinations(b, point, is_first, before.before, within);
            outputs = self.write(b, point, result, &outputs);
            all_within.push(within);
        }
        [all_within, outputs].concat()
    }
}
