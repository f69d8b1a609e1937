//! Sums.

use fusebox_core::indexing::Interval;

use super::{Indices, Ix, Kind, Sum};

/// A sum of more terms is not taken apart any more.
const MAX_TERMS: usize = 24;

impl Indices {
    pub(crate) fn add(&mut self, a: Ix, b: Ix) -> Ix {
        let mut sum = self.sum_of(a);
        let other = self.sum_of(b);
        sum.constant = sum.constant.saturating_add(other.constant);
        for (term, coefficient) in other.terms {
            accumulate(&mut sum.terms, term, coefficient);
        }
        self.normal(sum)
    }

    pub(crate) fn sub(&mut self, a: Ix, b: Ix) -> Ix {
        let negative = self.scaled(b, -1);
        self.add(a, negative)
    }

    pub(crate) fn scaled(&mut self, ix: Ix, factor: i64) -> Ix {
        if factor == 1 {
            return ix;
        }
        let mut sum = self.sum_of(ix);
        sum.constant = sum.constant.saturating_mul(factor);
        sum.terms.iter_mut().for_each(|(_, coefficient)| *coefficient = coefficient.saturating_mul(factor));
        self.normal(sum)
    }

    /// The expression without its constant, and the constant.
    pub(crate) fn split_constant(&mut self, ix: Ix) -> (Ix, i64) {
        let mut sum = self.sum_of(ix);
        let constant = std::mem::take(&mut sum.constant);
        if constant == 0 { (ix, 0) } else { (self.normal(sum), constant) }
    }

    /// The expression without this term, and the term's coefficient.
    pub(crate) fn without_term(&mut self, ix: Ix, term: Ix) -> Option<(Ix, i64)> {
        let mut sum = self.sum_of(ix);
        let position = sum.terms.iter().position(|&(known, _)| known == term)?;
        let (_, coefficient) = sum.terms.remove(position);
        Some((self.normal(sum), coefficient))
    }

    /// The expression of a sum.
    pub(crate) fn sum(&mut self, sum: Sum) -> Ix {
        self.normal(sum)
    }

    /// As a sum, if only of one term.
    pub(super) fn sum_of(&self, ix: Ix) -> Sum {
        match &*self.kind(ix) {
            Kind::Sum(sum) => sum.clone(),
            _ => Sum { terms: vec![(ix, 1)], constant: 0 },
        }
    }

    /// The expression of a sum whose terms are distinct but not yet simplified.
    pub(super) fn normal(&mut self, mut sum: Sum) -> Ix {
        sum.terms.retain(|&(_, coefficient)| coefficient != 0);
        self.recombine(&mut sum);
        sum.terms.sort_unstable();
        if sum.constant == 0 && sum.terms.len() == 1 && sum.terms[0].1 == 1 {
            return sum.terms[0].0;
        }
        if sum.terms.len() <= MAX_TERMS {
            let range = self.range_of_sum(&sum);
            return self.intern(Kind::Sum(sum), range);
        }
        let constant = std::mem::take(&mut sum.constant);
        let range = self.range_of_sum(&sum);
        let whole = self.intern(Kind::Sum(sum), range);
        let whole = self.intern(Kind::Whole(whole), range);
        self.normal(Sum { terms: vec![(whole, 1)], constant })
    }

    pub(super) fn range_of_sum(&self, sum: &Sum) -> Interval {
        let start = Interval::point(sum.constant);
        sum.terms.iter().fold(start, |range, &(term, factor)| range + self.range(term) * Interval::point(factor))
    }

    /// Puts together what was divided: `(x / c) * c + x mod c` is `x`, and `((x / c) mod m) * c + x mod c` is
    /// `x mod (c * m)`, each with any factor.
    fn recombine(&mut self, sum: &mut Sum) {
        while let Some((quotient, remainder, factor, whole)) = self.divided_pair(sum) {
            // The higher position first, so that the lower stays valid.
            sum.terms.swap_remove(quotient.max(remainder));
            sum.terms.swap_remove(quotient.min(remainder));
            let whole = self.sum_of(whole);
            sum.constant = sum.constant.saturating_add(whole.constant.saturating_mul(factor));
            for (term, coefficient) in whole.terms {
                accumulate(&mut sum.terms, term, coefficient.saturating_mul(factor));
            }
            sum.terms.retain(|&(_, coefficient)| coefficient != 0);
        }
    }

    /// Positions of a quotient and a remainder that belong together, the remainder's factor, and what they make.
    fn divided_pair(&mut self, sum: &Sum) -> Option<(usize, usize, i64, Ix)> {
        for (low, &(remainder, factor)) in sum.terms.iter().enumerate() {
            let Kind::Mod(value, modulus) = *self.kind(remainder) else { continue };
            let Some(wanted) = factor.checked_mul(modulus) else { continue };
            let plain = self.floor_div(value, modulus);
            for (high, &(quotient, coefficient)) in sum.terms.iter().enumerate() {
                if high == low || coefficient != wanted {
                    continue;
                }
                if quotient == plain {
                    return Some((high, low, factor, value));
                }
                if let Kind::Mod(inner, outer) = *self.kind(quotient)
                    && inner == plain
                    && let Some(product) = outer.checked_mul(modulus)
                {
                    let whole = self.modulo(value, product);
                    return Some((high, low, factor, whole));
                }
            }
        }
        None
    }
}

fn accumulate(terms: &mut Vec<(Ix, i64)>, term: Ix, coefficient: i64) {
    match terms.iter_mut().find(|(known, _)| *known == term) {
        Some((_, sum)) => *sum = sum.saturating_add(coefficient),
        None => terms.push((term, coefficient)),
    }
}
