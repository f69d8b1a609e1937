//! Facts. A fact bounds an expression more tightly than the ranges of its leaves do.

use super::sum::range_of_parts;
use super::{Algebra, Interval, Ix, Sum};

impl Algebra {
    /// Adds facts. A fact states that an expression is within an interval. Expressions simplified
    /// earlier remain valid but do not use the facts, so callers must simplify them again.
    pub fn assume(&mut self, facts: impl IntoIterator<Item = (Ix, Interval)>) {
        for (ix, bounds) in facts {
            self.nodes[ix.0 as usize].range = self.range(ix).intersect(bounds);
            self.facts.push((self.as_sum(ix), bounds));
        }
        if !self.facts.is_empty() {
            self.quotients.clear();
            self.remainders.clear();
            // Parts come before the expressions that contain them.
            (0..self.nodes.len() as u32).for_each(|number| self.narrow(Ix(number)));
        }
    }

    /// Narrows the range of an expression to the values that the ranges of its parts and the facts
    /// allow.
    pub(super) fn narrow(&mut self, ix: Ix) {
        if self.facts.is_empty() {
            return;
        }
        let of_parts = self.range_of(&self.node(ix).kind);
        let as_sum = self.by_facts(&self.as_sum(ix), Interval::ALL);
        let range = self.range(ix).intersect(of_parts).intersect(as_sum);
        self.nodes[ix.0 as usize].range = range;
    }

    /// Narrows the range of a sum. Uses a fact if `sum` contains a constant multiple of the sum
    /// that the fact bounds.
    pub(super) fn by_facts(&self, sum: &Sum, mut range: Interval) -> Interval {
        for (known, bounds) in &self.facts {
            let Some(factor) = multiple(sum, known) else { continue };
            let mut rest = sum.clone();
            let Some(negative) = factor.checked_neg() else { continue };
            if rest.add_sum(known, negative).is_none() {
                continue;
            }
            let terms = rest.terms.iter().filter(|(_, coefficient)| *coefficient != 0);
            let terms = terms.map(|&(term, k)| (self.range(term), k)).chain([(*bounds, factor)]);
            let rest = range_of_parts(rest.constant, terms);
            range = range.intersect(rest);
        }
        // s + y / a = (a·s + y) / a, and the range of the inner sum may be tighter.
        if let Some((numerator, divisor)) = self.absorb_quotient(sum, 1) {
            range = range.intersect(self.range_of_sum(&numerator).floor_div(Interval::point(divisor)));
        }
        range
    }
}

/// Returns the factor `f` such that each term of `part` with coefficient `c` has the coefficient
/// `c * f` in `sum`. Returns `None` if there is no such factor.
fn multiple(sum: &Sum, part: &Sum) -> Option<i64> {
    let &(term, coefficient) = part.terms.first()?;
    let factor = sum.coefficient(term).checked_div(coefficient)?;
    let occurs = |&(term, c): &(Ix, i64)| c.checked_mul(factor) == Some(sum.coefficient(term));
    (factor != 0 && part.terms.iter().all(occurs)).then_some(factor)
}
