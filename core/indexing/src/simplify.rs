//! The simplifier brings expressions of maps into canonical form, given bounds of their variables.
//!
//! The simplifier converts expressions of maps to expressions of an [`Algebra`], which the algebra
//! simplifies. Then the simplifier converts the simplified expressions back. The canonical form is
//! a sum of ordered terms with coefficients, with the constant last. Terms are variables, products,
//! quotients, remainders, minima and maxima.

use rustc_hash::FxHashMap;
use std::convert::Infallible;

use super::algebra::{Algebra, Ix, Kind, Unread};
use super::expr::{Expr, ExprKind, ExprMap};
use super::{Bounds, Interval};

/// Largest number of passes. Each pass simplifies the result of the previous pass. Passes after the
/// first few never change anything.
const MAX_PASSES: usize = 4;

/// Returns an expression in canonical form that has the same value at every point within `bounds`.
/// The returned expression is usually cheaper than `expr`. Equal arguments give equal results.
/// Shared subexpressions are simplified once.
pub fn simplify_expr(expr: &Expr, bounds: &Bounds) -> Expr {
    Simplifier::new(bounds).simplify(expr)
}

/// Returns an interval that contains every value of `expr` for variables within `bounds`. The
/// interval is not always as small as possible, because operands are mostly assumed to be
/// independent.
pub fn range_of(expr: &Expr, bounds: &Bounds) -> Interval {
    Simplifier::new(bounds).range(expr)
}

/// An algebra whose leaves are variables of maps, and the bounds of these variables.
#[derive(Default)]
pub(super) struct Simplifier {
    pub(super) algebra: Algebra,
    bounds: Bounds,
    /// The expressions of the leaves, in the order of the leaves' numbers. The expression of a leaf
    /// is a variable, or a division whose divisor is not a positive constant.
    leaves: Vec<Expr>,
    variables: FxHashMap<ExprKind, Ix>,
    read: ExprMap<Ix>,
    written: FxHashMap<Ix, Expr>,
}

impl Simplifier {
    pub(super) fn new(bounds: &Bounds) -> Self {
        let variables = Bounds { facts: Vec::new(), ..bounds.clone() };
        let mut simplifier = Simplifier { bounds: variables, ..Simplifier::default() };
        // Reads the variables in this order, so that terms are sorted in this order.
        let dims = (0..bounds.dims.len()).map(|i| ExprKind::Dim(i as u32));
        let ranges = (0..bounds.ranges.len()).map(|i| ExprKind::Range(i as u32));
        let runtime = (0..bounds.runtime.len()).map(|i| ExprKind::Runtime(i as u32));
        for variable in dims.chain(ranges).chain(runtime) {
            simplifier.read(&Expr::new(variable));
        }
        let facts: Vec<_> = bounds.facts.iter().map(|fact| (simplifier.read(&fact.expr), fact.bounds)).collect();
        if !facts.is_empty() {
            simplifier.algebra.assume(facts);
            simplifier.read.clear();
        }
        simplifier
    }

    pub(super) fn simplify(&mut self, expr: &Expr) -> Expr {
        let ix = self.canonical(expr);
        self.write(ix)
    }

    /// Returns the expression in a form that does not change when the simplifier writes and reads
    /// it again.
    pub(super) fn canonical(&mut self, expr: &Expr) -> Ix {
        let mut ix = self.read(expr);
        for _ in 1..MAX_PASSES {
            let written = self.write(ix);
            let next = self.read(&written);
            if next == ix {
                break;
            }
            ix = next;
        }
        ix
    }

    pub(super) fn range(&mut self, expr: &Expr) -> Interval {
        let ix = self.read(expr);
        self.algebra.range(ix)
    }

    /// Whether a leaf is a dimension or a range variable. The points of a domain differ in the
    /// values of dimensions and range variables.
    pub(super) fn is_counted(&self, leaf: Ix) -> bool {
        match *self.algebra.kind(leaf) {
            Kind::Leaf(number) => {
                matches!(self.leaves[number as usize].kind(), ExprKind::Dim(_) | ExprKind::Range(_))
            }
            _ => false,
        }
    }

    pub(super) fn read(&mut self, expr: &Expr) -> Ix {
        let Simplifier { algebra, bounds, leaves, variables, read, written } = self;
        let result = algebra.read(expr, read, &mut |algebra, part| {
            let (kind, range) = match part {
                Unread::Variable(kind) => (kind.clone(), bounds.leaf(kind)),
                Unread::Division(kind, a, b) => {
                    if let Some(divisor) = algebra.as_constant(b).filter(|&c| c < 0).and_then(i64::checked_neg) {
                        return Ok(divided_by_negative(algebra, kind, a, divisor));
                    }
                    let (x, y) = (algebra.range(a), algebra.range(b));
                    let [a, b] = [a, b].map(|ix| algebra.write(ix, written, &|number| leaves[number as usize].clone()));
                    match kind {
                        ExprKind::FloorDiv(..) => (ExprKind::FloorDiv(a, b), x.floor_div(y)),
                        _ => (ExprKind::Mod(a, b), x.modulo(y)),
                    }
                }
            };
            let ix = *variables.entry(kind).or_insert_with_key(|kind| {
                let ix = algebra.leaf(range, 0);
                if matches!(*algebra.kind(ix), Kind::Leaf(_)) {
                    leaves.push(Expr::new(kind.clone()));
                }
                ix
            });
            // A fact may allow only one value.
            let only = algebra.range(ix).as_point();
            Ok::<_, Infallible>(only.map_or(ix, |value| algebra.constant(value)))
        });
        result.unwrap_or_else(|never| match never {})
    }

    pub(super) fn write(&mut self, ix: Ix) -> Expr {
        self.algebra.write(ix, &mut self.written, &|number| self.leaves[number as usize].clone())
    }
}

/// Applies `x / -c = -x / c` and `x mod -c = -(-x mod c)`.
fn divided_by_negative(algebra: &mut Algebra, kind: &ExprKind, dividend: Ix, divisor: i64) -> Ix {
    let negated = algebra.scaled(dividend, -1);
    match kind {
        ExprKind::FloorDiv(..) => algebra.floor_div(negated, divisor),
        _ => {
            let remainder = algebra.modulo(negated, divisor);
            algebra.scaled(remainder, -1)
        }
    }
}
