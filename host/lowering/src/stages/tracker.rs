//! Tracks the indices of a function. Each index is an expression. The leaves of an expression are
//! values that are not results of index arithmetic.

use fusebox_core::indexing::{IndexingMap, Interval};
use fusebox_core::ir::{Attribute, Function, OpKind, Operation, Scalar, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{Done, Unsupported};
use crate::indices::{Indices, Ix};

/// Maximum number of definitions that the analysis of an integer's range follows.
const RANGE_DEPTH: u32 = 8;

/// Number of operations above which an expression for a map's result counts as large. The stage
/// does not use a large expression if computing the map's result from the values of the operands
/// takes fewer operations.
const LARGE: u32 = 24;

/// Expressions of indices, and the values that the leaves of these expressions represent.
#[derive(Default)]
pub(crate) struct Tracker {
    pub(crate) algebra: Indices,
    leaves: FxHashMap<Ix, Value>,
    /// Leaves that replace whole expressions. The key is the value of the expression.
    cut: FxHashMap<Value, Ix>,
    /// Expressions that are parts of earlier map results. The values of these expressions count as
    /// already computed.
    computed: FxHashSet<Ix>,
}

impl Tracker {
    /// Creates a leaf for a value. The value is in `range` and is defined at the nesting depth
    /// `depth`.
    pub(crate) fn leaf(&mut self, value: Value, range: Interval, depth: u32) -> Ix {
        let ix = self.algebra.leaf(range, depth);
        self.leaves.insert(ix, value);
        ix
    }

    /// Returns the value that a leaf represents.
    pub(crate) fn leaf_value(&self, ix: Ix) -> Option<Value> {
        self.leaves.get(&ix).copied()
    }

    /// Returns a leaf for `value`, which is the value of the expression `ix`.
    pub(crate) fn leaf_for(&mut self, ix: Ix, value: Value) -> Ix {
        if let Some(&known) = self.cut.get(&value) {
            return known;
        }
        let leaf = self.algebra.leaf_for(ix);
        self.leaves.insert(leaf, value);
        self.cut.insert(value, leaf);
        leaf
    }

    /// Returns the expression that an operation on indices computes, if the algebra can express it.
    pub(crate) fn arithmetic(&mut self, kind: OpKind, a: Ix, b: Ix) -> Option<Ix> {
        let algebra = &mut self.algebra;
        let divisor = algebra.as_constant(b).filter(|&value| value > 0);
        let not_negative = algebra.range(a).lower >= 0;
        Some(match (kind, divisor) {
            (OpKind::AddI, _) => algebra.add(a, b),
            (OpKind::SubI, _) => algebra.sub(a, b),
            (OpKind::MulI, _) => algebra.product(a, b),
            (OpKind::MinSI, _) => algebra.min(a, b),
            (OpKind::MaxSI, _) => algebra.max(a, b),
            (OpKind::FloorDivSI, Some(divisor)) => algebra.floor_div(a, divisor),
            (OpKind::DivSI | OpKind::DivUI, Some(divisor)) if not_negative => algebra.floor_div(a, divisor),
            (OpKind::RemSI | OpKind::RemUI, Some(divisor)) if not_negative => algebra.modulo(a, divisor),
            (OpKind::CeilDivSI, Some(divisor)) => {
                let shift = algebra.constant(divisor - 1);
                let shifted = algebra.add(a, shift);
                algebra.floor_div(shifted, divisor)
            }
            _ => return None,
        })
    }

    /// Returns the results of a map.
    pub(crate) fn apply(&mut self, map: &IndexingMap, operands: &[Ix]) -> Done<Vec<Ix>> {
        let (dims, rest) = operands.split_at(map.dims.len());
        let (ranges, runtime) = rest.split_at(map.ranges.len());
        let value = |expr| self.algebra.substitute(expr, dims, ranges, runtime).map_err(Unsupported);
        map.results.iter().map(value).collect()
    }

    /// Whether computing a map from the values of its operands (`direct`) takes fewer operations
    /// than computing the map from the expressions of its operands (`results`). If no leaves
    /// replace the operands' expressions, simplification rules may rewrite these expressions. If
    /// rules rewrite the operands' expressions in a chain of maps, each map repeats more operations
    /// of the maps before it.
    pub(crate) fn is_better_cut(&mut self, results: &[Ix], direct: &[Ix]) -> bool {
        // Operands have other uses too, so their values are available anyway.
        let composed = self.algebra.operations_beyond(&mut self.computed, results);
        let direct = self.algebra.operations_beyond(&mut self.computed, direct);
        direct < composed
    }

    /// Whether an expression is so large that leaves may have to replace its operands.
    pub(crate) fn is_large(&self, ix: Ix) -> bool {
        self.algebra.takes_more_than(LARGE, ix)
    }

    /// Returns the outcome of a comparison, if the range of `a - b` decides the outcome.
    pub(crate) fn decided(&mut self, predicate: i64, a: Ix, b: Ix) -> Option<bool> {
        let difference = self.algebra.sub(a, b);
        let range = self.algebra.range(difference);
        // A saturated range says nothing about the sign of the real difference.
        let trusted = range.lower > i64::MIN && range.upper < i64::MAX;
        decide(predicate, range).filter(|_| trusted)
    }
}

/// Returns the outcome of a comparison, if `difference`, the range of the operands' difference,
/// decides the outcome. `predicate` is the number of a predicate of `arith.cmpi`: `==`, `!=`, and
/// the signed `<`, `<=`, `>`, `>=`.
fn decide(predicate: i64, difference: Interval) -> Option<bool> {
    let Interval { lower, upper } = difference;
    match predicate {
        0 if lower == 0 && upper == 0 => Some(true),
        0 if lower > 0 || upper < 0 => Some(false),
        1 => decide(0, difference).map(|equal| !equal),
        2 if upper < 0 => Some(true),
        2 if lower >= 0 => Some(false),
        3 if upper <= 0 => Some(true),
        3 if lower > 0 => Some(false),
        4 => decide(3, difference).map(|at_most| !at_most),
        5 => decide(2, difference).map(|less| !less),
        _ => None,
    }
}

/// The operations that define the values of a function.
pub(crate) struct Definitions<'s> {
    function: &'s Function,
    by_value: Vec<Option<&'s Operation>>,
}

impl<'s> Definitions<'s> {
    pub(crate) fn of(function: &'s Function) -> Self {
        let mut by_value = vec![None; function.types.len()];
        function.body.walk(&mut |op| op.results.iter().for_each(|result| by_value[result.number()] = Some(op)));
        Definitions { function, by_value }
    }

    /// Returns the range of the index to which an integer is cast.
    pub(crate) fn range_of_index(&self, integer: Value, bits: u32, signed: bool) -> Interval {
        // An unsigned integer of 64 bits may have any range, because the cast keeps its bits and
        // indices are signed.
        if !signed && bits == 64 { Interval::ALL } else { self.range(integer, bits, signed, RANGE_DEPTH) }
    }

    /// Derives the range of an integer from the integer's definition.
    fn range(&self, value: Value, bits: u32, signed: bool, depth: u32) -> Interval {
        let full = full_range(bits, signed);
        let Some(op) = self.by_value[value.number()].filter(|_| depth > 0) else { return full };
        let operand = |at: usize, signed| match self.function.type_of(op.operands[at]) {
            Type::Scalar(Scalar::Int(bits)) => self.range(op.operands[at], *bits, signed, depth - 1),
            _ => Interval::ALL,
        };
        let found = match (op.kind, signed) {
            (OpKind::Constant, true) => {
                op.attribute("value").and_then(Attribute::as_integer).map_or(full, Interval::point)
            }
            (OpKind::MaxSI, true) => operand(0, true).max(operand(1, true)),
            (OpKind::MinSI, true) => operand(0, true).min(operand(1, true)),
            (OpKind::MaxUI, false) => operand(0, false).max(operand(1, false)),
            (OpKind::MinUI, false) => operand(0, false).min(operand(1, false)),
            (OpKind::ExtSI, true) => operand(0, true),
            (OpKind::ExtUI, _) => operand(0, false),
            (OpKind::Select, _) => operand(1, signed).hull(operand(2, signed)),
            _ => full,
        };
        found.intersect(full)
    }
}

/// Returns the range of all integers of this width.
fn full_range(bits: u32, signed: bool) -> Interval {
    match (signed, bits) {
        (_, 64..) => Interval::ALL,
        (true, bits) => Interval::new(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        (false, bits) => Interval::new(0, (1 << bits) - 1),
    }
}
