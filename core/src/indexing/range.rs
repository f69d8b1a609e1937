//! Which values an expression can take.

use std::rc::Rc;

use super::affine::Affine;
use super::expr::{Expr, ExprKind, ExprMap};
use super::simplify::absorb_quotient;
use super::{Constraint, IndexingMap, Interval};

/// What is known about variables: an interval for each, and facts about expressions.
///
/// A variable without an entry can be anything.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Bounds {
    /// Of `d0, d1, …`
    pub dims: Vec<Interval>,
    /// Of `s0, s1, …`
    pub ranges: Vec<Interval>,
    /// Of `rt0, rt1, …`
    pub runtime: Vec<Interval>,
    /// Expressions known to lie within an interval.
    pub facts: Vec<Constraint>,
}

impl Bounds {
    /// Dimensions only.
    pub fn of_dims(dims: impl IntoIterator<Item = Interval>) -> Self {
        Bounds { dims: dims.into_iter().collect(), ..Bounds::default() }
    }

    /// The variables of a map, without its constraints.
    pub fn of_variables(map: &IndexingMap) -> Self {
        let bounds = |variables: &[super::Variable]| variables.iter().map(|v| v.bounds).collect();
        Bounds {
            dims: bounds(&map.dims),
            ranges: bounds(&map.ranges),
            runtime: bounds(&map.runtime),
            facts: Vec::new(),
        }
    }

    /// The variables of a map and its constraints: what holds inside its domain.
    pub fn of_domain(map: &IndexingMap) -> Self {
        let mut bounds = Bounds::of_variables(map);
        for constraint in &map.constraints {
            bounds.assume(constraint.clone());
        }
        bounds
    }

    /// Adds a fact. One about a bare variable narrows the variable.
    pub fn assume(&mut self, fact: Constraint) {
        let (list, index) = match fact.expr.kind() {
            ExprKind::Dim(i) => (&mut self.dims, *i as usize),
            ExprKind::Range(i) => (&mut self.ranges, *i as usize),
            ExprKind::Runtime(i) => (&mut self.runtime, *i as usize),
            _ => return self.facts.push(fact),
        };
        match list.get_mut(index) {
            Some(bounds) => *bounds = bounds.intersect(fact.bounds),
            None => self.facts.push(fact),
        }
    }

    /// Of a leaf expression.
    pub(super) fn leaf(&self, leaf: &ExprKind) -> Interval {
        let pick = |list: &[Interval], i: u32| list.get(i as usize).copied().unwrap_or(Interval::ALL);
        match leaf {
            ExprKind::Constant(value) => Interval::point(*value),
            ExprKind::Dim(i) => pick(&self.dims, *i),
            ExprKind::Range(i) => pick(&self.ranges, *i),
            ExprKind::Runtime(i) => pick(&self.runtime, *i),
            _ => Interval::ALL,
        }
    }
}

/// An interval that contains every value of `expr` for variables within `bounds`. Not always the
/// smallest: operands are taken as independent of each other.
pub fn range_of(expr: &Expr, bounds: &Bounds) -> Interval {
    RangeEvaluator::new(bounds).range(expr)
}

/// Ranges of many expressions under the same bounds.
pub(super) struct RangeEvaluator<'a> {
    bounds: &'a Bounds,
    facts: ExprMap<Interval>,
    sums: Rc<[(Affine, Interval)]>,
    memo: ExprMap<Interval>,
}

impl<'a> RangeEvaluator<'a> {
    pub(super) fn new(bounds: &'a Bounds) -> Self {
        let mut facts = ExprMap::default();
        for fact in &bounds.facts {
            let known = facts.entry(fact.expr.clone()).or_insert(Interval::ALL);
            *known = known.intersect(fact.bounds);
        }
        let sums = bounds.facts.iter().map(|fact| (fact.expr.decompose(), fact.bounds)).collect();
        RangeEvaluator { bounds, facts, sums, memo: ExprMap::default() }
    }

    pub(super) fn range(&mut self, expr: &Expr) -> Interval {
        let Some((a, b)) = expr.kind().operands() else {
            return self.known(expr, self.bounds.leaf(expr.kind()));
        };
        if let Some(&known) = self.memo.get(expr) {
            return known;
        }
        let (a, b) = (self.range(a), self.range(b));
        let range = match expr.kind() {
            ExprKind::Add(..) => self.by_facts(expr, a + b),
            ExprKind::Mul(..) => a * b,
            ExprKind::FloorDiv(..) => a.floor_div(b),
            ExprKind::Mod(..) => a.modulo(b),
            ExprKind::Min(..) => a.min(b),
            ExprKind::Max(..) => a.max(b),
            _ => Interval::ALL,
        };
        let range = self.known(expr, range);
        self.memo.insert(expr.clone(), range);
        range
    }

    /// Narrows the range of a sum that contains a multiple of a sum something is known about.
    fn by_facts(&mut self, expr: &Expr, mut range: Interval) -> Interval {
        if self.sums.is_empty() {
            return range;
        }
        let sum = expr.decompose();
        let facts = Rc::clone(&self.sums);
        for (known, bounds) in facts.iter() {
            let Some(factor) = multiple(&sum, known) else { continue };
            let constant = Interval::point(sum.constant) + -(Interval::point(known.constant) * Interval::point(factor));
            let mut rest = *bounds * Interval::point(factor) + constant;
            for (term, coefficient) in &sum.terms {
                let left = coefficient - factor * known.coefficient(term);
                rest = rest + self.range(term) * Interval::point(left);
            }
            range = range.intersect(rest);
        }
        // s + y / a = (a·s + y) / a: more may be known about the sum inside.
        if let Some((numerator, divisor)) = absorb_quotient(&sum, 1) {
            range = range.intersect(self.range(&numerator.to_expr()).floor_div(Interval::point(divisor)));
        }
        range
    }

    fn known(&self, expr: &Expr, range: Interval) -> Interval {
        match self.facts.get(expr) {
            Some(&fact) => range.intersect(fact),
            None => range,
        }
    }
}

/// The factor by which all terms of `part` occur in `sum`.
fn multiple(sum: &Affine, part: &Affine) -> Option<i64> {
    let (term, coefficient) = part.terms.first()?;
    let factor = sum.coefficient(term).checked_div(*coefficient)?;
    let occurs = |(term, c): &(Expr, i64)| c.checked_mul(factor) == Some(sum.coefficient(term));
    (factor != 0 && part.terms.iter().all(occurs)).then_some(factor)
}
