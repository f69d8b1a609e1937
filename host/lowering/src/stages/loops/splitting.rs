//! Splits loops so that the outcome of a condition on the loop's variable is known in each part.
//!
//! A `pad`, a `concatenate` or a shifted `slice` compares the index of every element with a border.
//! If the comparison is linear in the loop's variable, the stage writes one loop up to the border
//! and one loop after the border. In each of the two loops, the outcome of the comparison is known.
//!
//! ```text
//! for i in 0..4008 { if 3 <= i < 4003 { a } else { b } }
//!     ->  for i in 0..3 { b }   for i in 3..4003 { a }   for i in 4003..4008 { b }
//! ```
//!
//! The order of iterations does not change, so splitting is correct for any body.

use fusebox_core::indexing::Interval;
use fusebox_core::ir::{Attribute, OpKind, Operation, Region, Type, Value};
use rustc_hash::FxHashMap;

use super::{Loops, map_of};
use crate::error::Done;
use crate::indices::Ix;
use crate::stages::rewrite::Stage;

/// Maximum number of operations that splitting may duplicate in a function.
const MOST_REPEATED: usize = 2000;
/// Maximum number of parts of one loop.
const MOST_PARTS: usize = 8;
/// An outer loop is split only if this number of copies of it fit into the limit [`MOST_REPEATED`].
/// The reserve allows the inner loops to be split too.
const ROOM_FOR_INNER: usize = 9;
/// Minimum number of iterations of a loop that may be split.
const SHORTEST: u64 = 8;

/// Comparisons with known outcomes, and the number of operations that splitting may still
/// duplicate.
pub(super) struct Splitting {
    /// Known outcomes of the source function's comparisons in the current part. The key is the
    /// result value of the comparison.
    decided: FxHashMap<Value, bool>,
    repeatable: usize,
}

impl Default for Splitting {
    fn default() -> Self {
        Splitting { decided: FxHashMap::default(), repeatable: MOST_REPEATED }
    }
}

impl Splitting {
    /// Returns the outcome of a comparison, if the outcome is known in the current part of the
    /// enclosing loops.
    pub(super) fn decided(&self, comparison: &Operation) -> Option<bool> {
        self.decided.get(&comparison.result()).copied()
    }
}

/// A loop that may be split. The loop's variable advances by one.
pub(super) struct Splittable<'a, 's, 'k> {
    /// The region to search for conditions.
    pub(super) body: &'s Region,
    /// Types of the loop-carried values.
    pub(super) types: &'a [Type],
    /// Returns the index arguments of the body for the loop's variable.
    pub(super) arguments: &'a dyn Fn(&mut Loops<'s, 'k>, Ix) -> Done<Vec<Ix>>,
    pub(super) write: &'a Turn<'a, 's, 'k>,
}

/// Writes one iteration of a loop, which maps the variable and the loop's state to the next state.
pub(super) type Turn<'a, 's, 'k> = dyn Fn(&mut Loops<'s, 'k>, Value, Vec<Value>) -> Done<Vec<Value>> + 'a;

/// A value of the variable at which the outcome of a comparison changes.
struct Border {
    /// The first value of the variable beyond the border.
    at: Ix,
    /// The result value of the comparison, and the outcome before the border. `None` if the
    /// comparison has both outcomes on one side of the border.
    decides: Option<(Value, bool)>,
}

/// Index expressions of the values that a loop's body computes.
struct Scan {
    variable: Ix,
    /// Nesting depth of the loop's body.
    depth: u32,
    /// Expressions of the source function's values. `None` if the expression is unknown until the
    /// body is written.
    known: FxHashMap<Value, Option<Ix>>,
}

impl<'s, 'k> Loops<'s, 'k> {
    /// Writes a loop whose variable advances by one. If possible, splits the loop into parts in
    /// which the outcomes of conditions are known.
    pub(super) fn counted_in_parts(
        &mut self,
        lower: Ix,
        upper: Ix,
        inits: Vec<Value>,
        splittable: &Splittable<'_, 's, 'k>,
    ) -> Done<Vec<Value>> {
        let mut parts = 1;
        if self.target.splits_loops {
            let (operations, has_loops) = size(splittable.body);
            let room = if has_loops { ROOM_FOR_INNER } else { 1 };
            parts = if operations.saturating_mul(room) <= self.splitting.repeatable {
                (self.splitting.repeatable / operations.max(1)).min(MOST_PARTS)
            } else {
                1
            };
        }
        self.in_parts(lower, upper, inits, splittable, parts).map(|(state, _)| state)
    }

    /// Writes the loop in at most `most` parts. Returns the state after the loop and the number of
    /// parts.
    fn in_parts(
        &mut self,
        lower: Ix,
        upper: Ix,
        inits: Vec<Value>,
        splittable: &Splittable<'_, 's, 'k>,
        most: usize,
    ) -> Done<(Vec<Value>, usize)> {
        let algebra = &self.tracker.algebra;
        let range = Interval::new(algebra.range(lower).lower, algebra.range(upper).upper.saturating_sub(1));
        let border = if most > 1 && range.size() >= SHORTEST { self.find_border(range, splittable)? } else { None };
        let Some(border) = border else {
            let state = self.counted(lower, upper, 1, inits, splittable.types, splittable.write)?;
            return Ok((state, 1));
        };
        self.splitting.repeatable = self.splitting.repeatable.saturating_sub(size(splittable.body).0);
        let algebra = &mut self.tracker.algebra;
        let (end, start) = (algebra.min(upper, border.at), algebra.max(lower, border.at));
        let (state, before) =
            self.deciding(&border, true, |this| this.in_parts(lower, end, inits, splittable, most / 2))?;
        let (state, after) =
            self.deciding(&border, false, |this| this.in_parts(start, upper, state, splittable, most - before))?;
        Ok((state, before + after))
    }

    /// Runs `write` with a known outcome of the border's comparison.
    fn deciding<T>(&mut self, border: &Border, before: bool, write: impl FnOnce(&mut Self) -> T) -> T {
        if let Some((comparison, outcome)) = border.decides {
            self.splitting.decided.insert(comparison, outcome == before);
        }
        let result = write(self);
        if let Some((comparison, _)) = border.decides {
            self.splitting.decided.remove(&comparison);
        }
        result
    }

    fn find_border(&mut self, range: Interval, splittable: &Splittable<'_, 's, 'k>) -> Done<Option<Border>> {
        let depth = self.out().depth() + 1;
        let variable = self.tracker.algebra.leaf(range, depth);
        let mut scan = Scan { variable, depth, known: FxHashMap::default() };
        let arguments = (splittable.arguments)(self, variable)?;
        scan.bind(splittable.body, arguments);
        self.scan(splittable.body, &mut scan)
    }

    /// Returns the first border of a comparison in the region or in nested regions.
    fn scan(&mut self, region: &'s Region, scan: &mut Scan) -> Done<Option<Border>> {
        for op in &region.operations {
            if op.kind == OpKind::CmpI {
                match self.border_of(op, scan) {
                    None => continue,
                    found => return Ok(found),
                }
            }
            self.scan_operation(op, scan)?;
            for inner in &op.regions {
                self.enter_loop(op, inner, scan)?;
                let found = self.scan(inner, scan)?;
                if found.is_some() {
                    return Ok(found);
                }
            }
        }
        Ok(None)
    }

    /// Records the index expressions that an operation computes.
    fn scan_operation(&mut self, op: &'s Operation, scan: &mut Scan) -> Done {
        let is_index = |value: &Value| *self.rewriter.source.type_of(*value) == Type::INDEX;
        if !op.results.iter().any(is_index) {
            return Ok(());
        }
        let operands: Option<Vec<Ix>> = op.operands.iter().map(|&operand| self.scanned(operand, scan)).collect();
        let results: Vec<Option<Ix>> = match (op.kind, operands) {
            (OpKind::Constant, _) => {
                let value = op.attribute("value").and_then(Attribute::as_integer);
                vec![value.map(|value| self.tracker.algebra.constant(value))]
            }
            (OpKind::ApplyIndexing, Some(operands)) => {
                self.tracker.apply(&*map_of(op)?, &operands)?.into_iter().map(Some).collect()
            }
            (_, Some(operands)) if operands.len() == 2 && op.results.len() == 1 => {
                vec![self.tracker.arithmetic(op.kind, operands[0], operands[1])]
            }
            _ => vec![None; op.results.len()],
        };
        scan.known.extend(op.results.iter().copied().zip(results));
        Ok(())
    }

    /// Records each variable of an inner loop as a leaf whose range is the variable's bounds.
    fn enter_loop(&mut self, op: &'s Operation, body: &'s Region, scan: &mut Scan) -> Done {
        let mut arguments: Vec<Option<Ix>> = vec![None; body.arguments.len()];
        let depth = scan.depth + 1;
        match op.kind {
            OpKind::For => {
                let mut bound =
                    |at: usize| self.scanned(op.operands[at], scan).map(|ix| self.tracker.algebra.range(ix));
                if let (Some(lower), Some(upper)) = (bound(0), bound(1)) {
                    let range = Interval::new(lower.lower, upper.upper.saturating_sub(1));
                    arguments[0] = (!range.is_empty()).then(|| self.tracker.algebra.leaf(range, depth));
                }
            }
            OpKind::Loop => {
                let map = map_of(op)?;
                let dims = op.operands.iter().take(map.dims.len());
                let dims: Option<Vec<Ix>> = dims.map(|&operand| self.scanned(operand, scan)).collect();
                let algebra = &mut self.tracker.algebra;
                let ranges: Vec<Ix> = map.ranges.iter().map(|range| algebra.leaf(range.bounds, depth)).collect();
                let known = arguments.iter_mut().zip(&ranges);
                known.for_each(|(argument, &range)| *argument = Some(range));
                if let Some(dims) = dims.filter(|_| map.runtime.is_empty()) {
                    let results = self.tracker.apply(&map, &[dims, ranges.clone()].concat())?;
                    let known = arguments.iter_mut().skip(ranges.len()).zip(results);
                    known.for_each(|(argument, result)| *argument = Some(result));
                }
            }
            _ => {}
        }
        scan.known.extend(body.arguments.iter().copied().zip(arguments));
        Ok(())
    }

    /// Returns the expression of an index in the source function.
    fn scanned(&mut self, value: Value, scan: &Scan) -> Option<Ix> {
        if let Some(known) = scan.known.get(&value) {
            return *known;
        }
        if *self.rewriter.source.type_of(value) != Type::INDEX {
            return None;
        }
        let written = self.rewriter.try_slot(value).copied()?;
        Some(self.index_of(written))
    }

    /// Returns the border at which a comparison of indices changes its outcome, if the border is
    /// within the variable's range.
    fn border_of(&mut self, op: &'s Operation, scan: &Scan) -> Option<Border> {
        if *self.rewriter.source.type_of(op.operands[0]) != Type::INDEX || self.splitting.decided(op).is_some() {
            return None;
        }
        // `a - b < threshold`, or its negation.
        let (threshold, outcome) = match op.integer("predicate")? {
            2 => (0, true),
            3 => (1, true),
            4 => (1, false),
            5 => (0, false),
            _ => return None,
        };
        let (a, b) = (self.scanned(op.operands[0], scan)?, self.scanned(op.operands[1], scan)?);
        let difference = self.tracker.algebra.sub(a, b);
        let (rest, factor) = self.tracker.algebra.without_term(difference, scan.variable)?;
        if factor == 0 || factor == i64::MIN {
            return None;
        }
        let within = |this: &Self, at: Ix| {
            let (at, variable) = (this.tracker.algebra.range(at), this.tracker.algebra.range(scan.variable));
            at.upper > variable.lower && at.lower <= variable.upper
        };
        if self.tracker.algebra.depth(rest) < scan.depth {
            let at = self.border_at(rest, factor, threshold);
            return within(self, at).then_some(Border { at, decides: Some((op.result(), outcome == (factor > 0))) });
        }
        // The comparison depends on inner loops too, so it has several borders. Before the first
        // border and beyond the last border, the ranges of the indices decide the outcome.
        let rest = self.tracker.algebra.range(rest);
        let far = |bound: i64| bound.unsigned_abs() > 1 << 48;
        if far(rest.lower) || far(rest.upper) {
            return None;
        }
        [rest.lower, rest.upper].into_iter().find_map(|rest| {
            let rest = self.tracker.algebra.constant(rest);
            let at = self.border_at(rest, factor, threshold);
            within(self, at).then_some(Border { at, decides: None })
        })
    }

    /// Returns the first value of the variable at which the outcome of `rest + factor * variable <
    /// threshold` has changed.
    fn border_at(&mut self, rest: Ix, factor: i64, threshold: i64) -> Ix {
        let algebra = &mut self.tracker.algebra;
        let threshold = algebra.constant(threshold);
        // If the factor is positive: ceil((threshold - rest) / factor). If it is negative:
        // floor((rest - threshold) / -factor) + 1.
        let (from, to, shift, beyond) =
            if factor > 0 { (rest, threshold, factor - 1, 0) } else { (threshold, rest, 0, 1) };
        let distance = algebra.sub(to, from);
        let shift = algebra.constant(shift);
        let distance = algebra.add(distance, shift);
        let quotient = algebra.floor_div(distance, factor.abs());
        let beyond = algebra.constant(beyond);
        algebra.add(quotient, beyond)
    }
}

impl Scan {
    fn bind(&mut self, body: &Region, arguments: Vec<Ix>) {
        let all = arguments.into_iter().map(Some).chain(std::iter::repeat(None));
        self.known.extend(body.arguments.iter().copied().zip(all));
    }
}

/// Returns the number of operations in a region, and whether any of them is a loop.
fn size(region: &Region) -> (usize, bool) {
    let (mut operations, mut has_loops) = (0, false);
    region.walk(&mut |op| {
        operations += 1;
        has_loops |= matches!(op.kind, OpKind::For | OpKind::While | OpKind::Loop);
    });
    (operations, has_loops)
}
