//! Sums of multiples of expressions.

use super::{Algebra, Interval, Ix, Kind};

/// Largest number of terms of a sum. A larger sum becomes a single term.
const MAX_TERMS: usize = 24;

/// `constant + Σ coefficient · term`. In an expression, terms are sorted and distinct, no term is a
/// sum, and no coefficient is 0.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Sum {
    /// Terms and their coefficients.
    pub terms: Vec<(Ix, i64)>,
    /// The constant.
    pub constant: i64,
}

impl Sum {
    /// Returns the coefficient of `term`; 0 if the sum does not contain `term`.
    pub fn coefficient(&self, term: Ix) -> i64 {
        self.terms.iter().find(|(known, _)| *known == term).map_or(0, |(_, coefficient)| *coefficient)
    }

    /// Adds `coefficient · term`. Returns `None` if a number overflows; `self` is then unspecified.
    #[must_use]
    pub(crate) fn add_term(&mut self, term: Ix, coefficient: i64) -> Option<()> {
        match self.terms.iter_mut().find(|(known, _)| *known == term) {
            Some((_, sum)) => *sum = sum.checked_add(coefficient)?,
            None => self.terms.push((term, coefficient)),
        }
        Some(())
    }

    /// Adds `factor · other`. Returns `None` if a number overflows, like
    /// [`add_term`](Sum::add_term).
    #[must_use]
    pub(crate) fn add_sum(&mut self, other: &Sum, factor: i64) -> Option<()> {
        self.constant = self.constant.checked_add(other.constant.checked_mul(factor)?)?;
        for &(term, coefficient) in &other.terms {
            self.add_term(term, coefficient.checked_mul(factor)?)?;
        }
        Some(())
    }

    pub(super) fn is_zero(&self) -> bool {
        self.terms.is_empty() && self.constant == 0
    }
}

impl Algebra {
    /// Returns `a + b`.
    pub fn add(&mut self, a: Ix, b: Ix) -> Ix {
        self.combined(a, b, 1)
    }

    /// Returns `a - b`.
    pub fn sub(&mut self, a: Ix, b: Ix) -> Ix {
        self.combined(a, b, -1)
    }

    /// Returns `factor · ix`.
    pub fn scaled(&mut self, ix: Ix, factor: i64) -> Ix {
        let zero = self.constant(0);
        if factor == 1 { ix } else { self.combined(zero, ix, factor) }
    }

    fn combined(&mut self, a: Ix, b: Ix, factor: i64) -> Ix {
        let mut sum = self.as_sum(a);
        match sum.add_sum(&self.as_sum(b), factor) {
            Some(()) => self.sum(sum),
            None => {
                let (first, second) = (self.whole(a), self.whole(b));
                // The terms of a sum must be distinct.
                let second = if a == b { self.whole(second) } else { second };
                let first = if self.as_constant(a) == Some(0) { None } else { Some((first, 1)) };
                self.sum(Sum { terms: first.into_iter().chain([(second, factor)]).collect(), constant: 0 })
            }
        }
    }

    fn whole(&mut self, ix: Ix) -> Ix {
        self.intern_unfolded(Kind::Whole(ix))
    }

    /// Returns the expression without its constant, and the constant.
    pub fn split_constant(&mut self, ix: Ix) -> (Ix, i64) {
        let mut sum = self.as_sum(ix);
        let constant = std::mem::take(&mut sum.constant);
        if constant == 0 { (ix, 0) } else { (self.sum(sum), constant) }
    }

    /// Returns the expression without this term, and the term's coefficient.
    pub fn without_term(&mut self, ix: Ix, term: Ix) -> Option<(Ix, i64)> {
        let mut sum = self.as_sum(ix);
        let position = sum.terms.iter().position(|&(known, _)| known == term)?;
        let (_, coefficient) = sum.terms.remove(position);
        Some((self.sum(sum), coefficient))
    }

    /// Returns the expression as a sum, possibly of one term.
    pub fn as_sum(&self, ix: Ix) -> Sum {
        match &*self.node(ix).kind {
            Kind::Sum(sum) => sum.clone(),
            _ => Sum { terms: vec![(ix, 1)], constant: 0 },
        }
    }

    /// Returns the expression for a sum. The terms of the sum must be distinct, and no term may be
    /// a sum.
    pub fn sum(&mut self, mut sum: Sum) -> Ix {
        sum.terms.retain(|&(_, coefficient)| coefficient != 0);
        if sum.terms.len() > 1 && sum.terms.iter().any(|&(term, _)| self.divided(term).is_some()) {
            self.limited(|this| this.recombine(&mut sum));
        }
        sum.terms.sort_unstable_by(|a, b| self.compare(a.0, b.0));
        match sum.terms.as_slice() {
            &[(term, 1)] if sum.constant == 0 => return term,
            [] => return self.constant(sum.constant),
            terms if terms.len() <= MAX_TERMS => return self.intern(Kind::Sum(sum)),
            _ => {}
        }
        let constant = std::mem::take(&mut sum.constant);
        let whole = self.intern(Kind::Sum(sum));
        let whole = self.whole(whole);
        self.sum(Sum { terms: vec![(whole, 1)], constant })
    }

    /// Whether all values of a sum fit into 64 bits. The caller has derived the sum, by a rule,
    /// from an expression whose values fit into 64 bits. The function assumes that terms without
    /// known bounds cause no overflow.
    pub(super) fn fits(&self, sum: &Sum) -> bool {
        let (lower, upper) = ends(sum.constant, self.parts(sum));
        lower.is_none_or(|lower| lower >= i64::MIN.into()) && upper.is_none_or(|upper| upper <= i64::MAX.into())
    }

    /// Returns the range that follows from the terms' ranges and from facts.
    pub(super) fn range_of_sum(&self, sum: &Sum) -> Interval {
        let range = range_of_parts(sum.constant, self.parts(sum));
        if self.facts.is_empty() { range } else { self.by_facts(sum, range) }
    }

    fn parts(&self, sum: &Sum) -> impl Iterator<Item = (Interval, i64)> + Clone {
        sum.terms.iter().map(|&(term, factor)| (self.range(term), factor))
    }
}

/// Returns the range of a sum of `constant` and multiples of values. `parts` contains the range and
/// the factor of each value.
pub(super) fn range_of_parts(constant: i64, parts: impl Iterator<Item = (Interval, i64)> + Clone) -> Interval {
    if parts.clone().any(|(range, _)| range.is_empty()) {
        return Interval::EMPTY;
    }
    let (lower, upper) = ends(constant, parts);
    let clamped = |end: i128| end.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
    Interval::new(lower.map_or(i64::MIN, clamped), upper.map_or(i64::MAX, clamped))
}

/// Returns the ends of the range that [`range_of_parts`] computes, before they are limited to 64
/// bits. An end is `None` if it depends on an unknown end of a part.
fn ends(constant: i64, parts: impl Iterator<Item = (Interval, i64)>) -> (Option<i128>, Option<i128>) {
    let times = |end: i64, factor: i64| {
        let known = end != i64::MIN && end != i64::MAX;
        known.then(|| i128::from(end) * i128::from(factor))
    };
    let plus = |sum: Option<i128>, end: Option<i128>| sum?.checked_add(end?);
    let constant = Some(constant.into());
    parts.fold((constant, constant), |(lower, upper), (Interval { lower: low, upper: high }, factor)| {
        let (low, high) = if factor < 0 { (high, low) } else { (low, high) };
        (plus(lower, times(low, factor)), plus(upper, times(high, factor)))
    })
}
