//! Loops in parts, so that conditions on a loop's variable are decided outside of it.
//!
//! What lies behind a `pad`, a `concatenate` or a shifted `slice` asks of every element on which side of a border it is. Where
//! such a condition is linear in the variable, the loop is written as one loop before the border and one after it,
//! in each of which the answer is known:
//!
//! ```text
//! for i in 0..4008 { if 3 <= i < 4003 { a } else { b } }
//!     ->  for i in 0..3 { b }   for i in 3..4003 { a }   for i in 4003..4008 { b }
//! ```
//!
//! The order of the turns stays, so this is right for any body.

use std::collections::HashMap;
use std::rc::Rc;

use fusebox_core::indexing::{IndexingMap, Interval};

use super::control::Bounds;
use super::function::{Done, Function};
use super::slot::Slot;
use crate::dialect::map_of;
use crate::error::Unsupported;
use crate::indices::Ix;
use crate::mlir::{Block, Operation, Type, Value, ValueKey};

/// Operations that may be written once more in a function, all parts together.
const MOST_REPEATED: usize = 2000;
/// Parts of one loop.
const MOST_PARTS: usize = 8;
/// A loop around other loops leaves room for these to be split too.
const ROOM_FOR_INNER: usize = 9;
/// A shorter loop is not worth a border.
const SHORTEST: u64 = 8;

/// What is decided outside of loops, and how much may still be spent on it.
pub(super) struct Splitting {
    /// Comparisons whose outcome is known in the current part.
    decided: HashMap<ValueKey, bool>,
    /// Maps that were read before, by the operation's first result.
    maps: HashMap<ValueKey, Rc<IndexingMap>>,
    repeatable: usize,
}

impl Default for Splitting {
    fn default() -> Self {
        Splitting { decided: HashMap::new(), maps: HashMap::new(), repeatable: MOST_REPEATED }
    }
}

/// Writes one turn: from the variable and the state to the next state.
type Turn<'a> = dyn Fn(&mut Function<'_, '_, '_>, Ix, Vec<Slot>) -> Done<Vec<Slot>> + 'a;

/// A loop that may be split. Steps are of one.
pub(super) struct Splittable<'a> {
    /// Where it is looked for conditions.
    pub(super) body: Block,
    /// Types of the iteration values.
    pub(super) types: &'a [Type],
    /// The index arguments of the body, given the loop's variable.
    pub(super) arguments: &'a dyn Fn(&mut Function<'_, '_, '_>, Ix) -> Done<Vec<Ix>>,
    /// Writes the body.
    pub(super) write: &'a Turn<'a>,
}

/// A place where the outcome of a comparison changes.
struct Border {
    /// The first value of the variable beyond it.
    at: Ix,
    /// The comparison and its outcome before, if it is decided everywhere.
    decides: Option<(ValueKey, bool)>,
}

/// Index expressions of what a loop's body computes.
struct Scan {
    variable: Ix,
    /// Nesting depth of the loop's body.
    depth: u32,
    /// `None` for what is not known before the body is written.
    known: HashMap<ValueKey, Option<Ix>>,
}

impl Function<'_, '_, '_> {
    /// Whether the outcome of a comparison is known in this part of the loops around.
    pub(super) fn decided(&self, comparison: Operation) -> Option<bool> {
        self.splitting.decided.get(&comparison.result(0).key()).copied()
    }

    /// A counted loop with steps of one, in parts if that decides conditions.
    pub(super) fn counted_in_parts(
        &mut self,
        lower: Ix,
        upper: Ix,
        inits: Vec<Slot>,
        splittable: &Splittable<'_>,
    ) -> Done<Vec<Slot>> {
        let mut parts = 1;
        if self.translation.traits.splits_loops {
            let (operations, has_loops) = size(splittable.body);
            let room = if has_loops { ROOM_FOR_INNER } else { 1 };
            parts = match operations.saturating_mul(room) <= self.splitting.repeatable {
                true => (self.splitting.repeatable / operations.max(1)).min(MOST_PARTS),
                false => 1,
            };
        }
        self.in_parts(lower, upper, inits, splittable, parts).map(|(state, _)| state)
    }

    /// Writes the loop in at most so many parts; gives the state after it and the number of parts.
    fn in_parts(
        &mut self,
        lower: Ix,
        upper: Ix,
        inits: Vec<Slot>,
        splittable: &Splittable<'_>,
        most: usize,
    ) -> Done<(Vec<Slot>, usize)> {
        let range = Interval::new(self.indices.range(lower).lower, self.indices.range(upper).upper.saturating_sub(1));
        let border = match most > 1 && range.size() >= SHORTEST {
            true => self.find_border(range, splittable)?,
            false => None,
        };
        let Some(border) = border else {
            let bounds = Bounds { lower, upper, step: 1 };
            let state = self.counted(bounds, inits, splittable.types, |this, variable, state| {
                (splittable.write)(this, variable, state)
            })?;
            return Ok((state, 1));
        };
        self.splitting.repeatable = self.splitting.repeatable.saturating_sub(size(splittable.body).0);
        let (end, start) = (self.indices.min(upper, border.at), self.indices.max(lower, border.at));
        let (state, before) =
            self.deciding(&border, true, |this| this.in_parts(lower, end, inits, splittable, most / 2))?;
        let (state, after) =
            self.deciding(&border, false, |this| this.in_parts(start, upper, state, splittable, most - before))?;
        Ok((state, before + after))
    }

    /// Runs `write` with the outcome of the border's comparison known.
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

    fn find_border(&mut self, range: Interval, splittable: &Splittable<'_>) -> Done<Option<Border>> {
        let depth = self.depth() + 1;
        let variable = self.indices.leaf(range, depth);
        let mut scan = Scan { variable, depth, known: HashMap::new() };
        let arguments = (splittable.arguments)(self, variable)?;
        scan.bind(splittable.body, arguments);
        self.scan(splittable.body, &mut scan)
    }

    /// The first border that a comparison of the block or of a region in it asks for.
    fn scan(&mut self, block: Block, scan: &mut Scan) -> Done<Option<Border>> {
        for op in block.operations() {
            if op.name() == "arith.cmpi" {
                match self.border_of(op, scan) {
                    None => continue,
                    found => return Ok(found),
                }
            }
            self.follow(op, scan)?;
            for region in 0..op.region_count() {
                let Some(inner) = op.block(region) else { continue };
                self.enter_loop(op, inner, scan)?;
                let found = self.scan(inner, scan)?;
                if found.is_some() {
                    return Ok(found);
                }
            }
        }
        Ok(None)
    }

    /// Remembers the index expressions that an operation computes.
    fn follow(&mut self, op: Operation, scan: &mut Scan) -> Done {
        let operands: Option<Vec<Ix>> = op.operands().map(|operand| self.known_index(operand, scan)).collect();
        let results: Vec<Option<Ix>> = match (op.name(), operands) {
            ("arith.constant", _) if op.result(0).ty() == Type::Index => {
                let value = op.attribute("value").and_then(|value| value.integer());
                vec![value.map(|value| self.indices.constant(value))]
            }
            ("xla_gpu.apply_indexing", Some(operands)) => {
                self.apply_map(op, &operands)?.into_iter().map(Some).collect()
            }
            (_, Some(operands)) if operands.len() == 2 && op.result_count() == 1 => {
                vec![self.index_result(op.name(), operands[0], operands[1])]
            }
            _ => vec![None; op.result_count()],
        };
        scan.known.extend(op.results().map(Value::key).zip(results));
        Ok(())
    }

    /// Inside a loop, its variables are anything in their bounds.
    fn enter_loop(&mut self, op: Operation, body: Block, scan: &mut Scan) -> Done {
        let count = body.arguments().len();
        let mut arguments: Vec<Option<Ix>> = vec![None; count];
        let depth = scan.depth + 1;
        match op.name() {
            "scf.for" => {
                let bound = |at| self.known_index(op.operand(at), scan).map(|ix| self.indices.range(ix));
                if let (Some(lower), Some(upper)) = (bound(0), bound(1)) {
                    let range = Interval::new(lower.lower, upper.upper.saturating_sub(1));
                    arguments[0] = (!range.is_empty()).then(|| self.indices.leaf(range, depth));
                }
            }
            "xla_gpu.loop" => {
                let map = self.map_once(op)?;
                let dims: Option<Vec<Ix>> =
                    op.operands().take(map.dims.len()).map(|operand| self.known_index(operand, scan)).collect();
                let ranges: Vec<Ix> = map.ranges.iter().map(|range| self.indices.leaf(range.bounds, depth)).collect();
                let known = arguments.iter_mut().zip(&ranges);
                known.for_each(|(argument, &range)| *argument = Some(range));
                if let Some(dims) = dims.filter(|_| map.runtime.is_empty()) {
                    for (argument, expr) in arguments.iter_mut().skip(ranges.len()).zip(&map.results) {
                        *argument = Some(self.indices.substitute(expr, &dims, &ranges, &[]).map_err(Unsupported)?);
                    }
                }
            }
            _ => {}
        }
        scan.known.extend(body.arguments().map(Value::key).zip(arguments));
        Ok(())
    }

    fn known_index(&self, value: Value, scan: &Scan) -> Option<Ix> {
        match scan.known.get(&value.key()) {
            Some(known) => *known,
            None => self.index(value).ok(),
        }
    }

    fn apply_map(&mut self, op: Operation, operands: &[Ix]) -> Done<Vec<Ix>> {
        let map = self.map_once(op)?;
        let (dims, rest) = operands.split_at(map.dims.len());
        let (ranges, runtime) = rest.split_at(map.ranges.len());
        let value = |expr| self.indices.substitute(expr, dims, ranges, runtime).map_err(Unsupported);
        map.results.iter().map(value).collect()
    }

    /// The map of an operation, read once however often the operation is met.
    pub(super) fn map_once(&mut self, op: Operation) -> Done<Rc<IndexingMap>> {
        let Some(key) = (op.result_count() > 0).then(|| op.result(0).key()) else {
            return map_of(op).map(Rc::new).map_err(Unsupported);
        };
        if let Some(map) = self.splitting.maps.get(&key) {
            return Ok(Rc::clone(map));
        }
        let map = Rc::new(map_of(op).map_err(Unsupported)?);
        self.splitting.maps.insert(key, Rc::clone(&map));
        Ok(map)
    }

    /// Where a comparison of indices changes its outcome, if that is within the variable's range.
    fn border_of(&mut self, op: Operation, scan: &Scan) -> Option<Border> {
        if op.operand(0).ty() != Type::Index || self.decided(op).is_some() {
            return None;
        }
        // `a - b < threshold`, or its contrary.
        let (threshold, outcome) = match op.attribute("predicate")?.integer()? {
            2 => (0, true),
            3 => (1, true),
            4 => (1, false),
            5 => (0, false),
            _ => return None,
        };
        let (a, b) = (self.known_index(op.operand(0), scan)?, self.known_index(op.operand(1), scan)?);
        let difference = self.indices.sub(a, b);
        let (rest, factor) = self.indices.without_term(difference, scan.variable)?;
        if factor == 0 || factor == i64::MIN {
            return None;
        }
        let within = |this: &Self, at: Ix| {
            let (at, variable) = (this.indices.range(at), this.indices.range(scan.variable));
            at.upper > variable.lower && at.lower <= variable.upper
        };
        if self.indices.depth(rest) < scan.depth {
            let at = self.border_at(rest, factor, threshold);
            return within(self, at)
                .then_some(Border { at, decides: Some((op.result(0).key(), outcome == (factor > 0))) });
        }
        // It depends on inner loops too: before the first and beyond the last of the borders, ranges decide.
        let rest = self.indices.range(rest);
        let far = |bound: i64| bound.unsigned_abs() > 1 << 48;
        if far(rest.lower) || far(rest.upper) {
            return None;
        }
        [rest.lower, rest.upper].into_iter().find_map(|rest| {
            let rest = self.indices.constant(rest);
            let at = self.border_at(rest, factor, threshold);
            within(self, at).then_some(Border { at, decides: None })
        })
    }

    /// The first value of the variable from which on `rest + factor * variable < threshold` is no longer as before.
    fn border_at(&mut self, rest: Ix, factor: i64, threshold: i64) -> Ix {
        let threshold = self.indices.constant(threshold);
        // Rising: ceil((threshold - rest) / factor). Falling: floor((rest - threshold) / -factor) + 1.
        let (from, to, shift, beyond) = match factor > 0 {
            true => (rest, threshold, factor - 1, 0),
            false => (threshold, rest, 0, 1),
        };
        let distance = self.indices.sub(to, from);
        let shift = self.indices.constant(shift);
        let distance = self.indices.add(distance, shift);
        let quotient = self.indices.floor_div(distance, factor.abs());
        let beyond = self.indices.constant(beyond);
        self.indices.add(quotient, beyond)
    }
}

impl Scan {
    fn bind(&mut self, body: Block, arguments: Vec<Ix>) {
        let all = arguments.into_iter().map(Some).chain(std::iter::repeat(None));
        self.known.extend(body.arguments().map(Value::key).zip(all));
    }
}

/// Number of operations in a block, and whether there is a loop among them.
fn size(block: Block) -> (usize, bool) {
    let (mut operations, mut has_loops) = (0, false);
    for op in block.operations() {
        op.walk(&mut |op| {
            operations += 1;
            has_loops |= matches!(op.name(), "scf.for" | "scf.while" | "xla_gpu.loop");
        });
    }
    (operations, has_loops)
}
