//! Rules for sums that contain quotients and remainders. The rules undo the splitting of an index
//! into quotient and remainder.

use super::{Algebra, Ix, Sum};

impl Algebra {
    /// Applies the rules until none applies.
    pub(super) fn recombine(&mut self, sum: &mut Sum) {
        while sum.terms.len() > 1 && self.step() {
            sum.terms.sort_unstable_by(|a, b| self.compare(a.0, b.0));
            let next = self.merge_quotient_and_remainder(sum);
            let next = next.or_else(|| self.complete_quotient(sum));
            let next = next.or_else(|| self.merge_remainders(sum));
            let next = next.or_else(|| self.difference_of_remainders(sum));
            match next.or_else(|| self.difference_to_remainder(sum)) {
                Some(next) => *sum = next,
                None => break,
            }
            sum.terms.retain(|&(_, coefficient)| coefficient != 0);
        }
    }

    /// Applies `k·(y mod c) + k·c·(y / c) = k·y`.
    fn merge_quotient_and_remainder(&mut self, sum: &Sum) -> Option<Sum> {
        for &(term, k) in &sum.terms {
            let Some((dividend, c)) = self.as_remainder(term) else { continue };
            let Some(kc) = k.checked_mul(c) else { continue };
            let quotient = self.floor_div(dividend, c);
            let quotient = self.as_sum(quotient);
            let present = quotient.terms.iter().all(|&(t, q)| q.checked_mul(kc) == Some(sum.coefficient(t)));
            if !present || quotient.terms.is_empty() {
                continue;
            }
            return self.exchanged(sum, [(term, k)], (&quotient, kc), (dividend, k));
        }
        None
    }

    /// Applies the rule of `merge_quotient_and_remainder`, starting from the quotient. The
    /// remainder may lack the terms of `y` whose coefficients are multiples of `c`.
    fn complete_quotient(&mut self, sum: &Sum) -> Option<Sum> {
        for &(term, kc) in &sum.terms {
            for (whole, c) in self.divisions(term, sum) {
                if kc % c != 0 {
                    continue;
                }
                let k = kc / c;
                let remainder = self.modulo(whole, c);
                let remainder = self.as_sum(remainder);
                if !covers(sum, &remainder, k) {
                    continue;
                }
                return self.exchanged(sum, [(term, kc)], (&remainder, k), (whole, k));
            }
        }
        None
    }

    /// Returns pairs of dividend and divisor whose quotient is `quotient`. One pair is the dividend
    /// and the divisor of `quotient` itself. Further pairs undo the absorption of another quotient,
    /// `(a·s + n) / (a·b) = (s + n / a) / b`. The function finds a further pair only if `n / a`
    /// occurs in `sum`.
    fn divisions(&mut self, quotient: Ix, sum: &Sum) -> Vec<(Ix, i64)> {
        let Some((dividend, c)) = self.as_quotient(quotient) else { return Vec::new() };
        let mut candidates: Vec<Ix> = Vec::new();
        for &(term, _) in &sum.terms {
            let inner = self.as_remainder(term).map(|(dividend, _)| self.as_sum(dividend).terms);
            let inner = inner.into_iter().flatten().map(|(term, _)| term).chain([term]);
            candidates.extend(inner.filter(|&t| t != quotient && self.as_quotient(t).is_some()));
        }
        candidates.sort_unstable_by(|a, b| self.compare(*a, *b));
        candidates.dedup();
        let mut divisions = vec![(dividend, c)];
        for absorbed in candidates {
            let Some((numerator, a)) = self.as_quotient(absorbed).filter(|(_, a)| c % a == 0) else { continue };
            let Some(mut whole) = self.difference_divided(dividend, numerator, a) else { continue };
            if whole.add_term(absorbed, 1).is_none() {
                continue;
            }
            let whole = self.sum(whole);
            if self.floor_div(whole, c / a) == quotient {
                divisions.push((whole, c / a));
            }
        }
        divisions
    }

    /// Applies `k·(y mod c) + k·c·(z mod d) = k·((c·z + y mod c) mod (c·d))` if `c·z + y mod c`
    /// simplifies.
    fn merge_remainders(&mut self, sum: &Sum) -> Option<Sum> {
        for &(low, k) in &sum.terms {
            let Some((_, c)) = self.as_remainder(low) else { continue };
            for &(high, kc) in &sum.terms {
                let Some((z, d)) = self.as_remainder(high) else { continue };
                let (Some(cd), true) = (c.checked_mul(d), k.checked_mul(c) == Some(kc)) else { continue };
                let mut whole = Sum { terms: vec![(low, 1)], constant: 0 };
                whole.add_sum(&self.as_sum(z), c)?;
                if !self.fits(&whole) {
                    continue;
                }
                let whole = self.sum(whole);
                if self.as_sum(whole).coefficient(low) != 0 {
                    continue;
                }
                let merged = self.modulo(whole, cd);
                return self.exchanged(sum, [(low, k), (high, kc)], (&Sum::default(), 0), (merged, k));
            }
        }
        None
    }

    /// Applies `k·(y mod (c·d)) - k·c·((y / c) mod d) = k·(y mod c)`.
    fn difference_of_remainders(&mut self, sum: &Sum) -> Option<Sum> {
        for &(low, k) in &sum.terms {
            let Some((y, cd)) = self.as_remainder(low) else { continue };
            for &(high, kc) in &sum.terms {
                let Some((z, d)) = self.as_remainder(high) else { continue };
                let c = cd / d;
                let fits = cd % d == 0 && high != low && k.checked_mul(c).and_then(i64::checked_neg) == Some(kc);
                if !fits || self.floor_div(y, c) != z {
                    continue;
                }
                let remainder = self.modulo(y, c);
                return self.exchanged(sum, [(low, k), (high, kc)], (&Sum::default(), 0), (remainder, k));
            }
        }
        None
    }

    /// Applies `m·y - m·c·(y / c) = m·(y mod c)`.
    fn difference_to_remainder(&mut self, sum: &Sum) -> Option<Sum> {
        for &(term, k) in &sum.terms {
            for (whole, c) in self.divisions(term, sum) {
                let dividend = self.as_sum(whole);
                if k % c != 0 || k == i64::MIN || !covers(sum, &dividend, -(k / c)) {
                    continue;
                }
                let m = -(k / c);
                let remainder = self.modulo(whole, c);
                return self.exchanged(sum, [(term, k)], (&dividend, m), (remainder, m));
            }
        }
        None
    }

    /// Returns `sum - terms - m · part + k · with`.
    fn exchanged<const N: usize>(
        &self,
        sum: &Sum,
        terms: [(Ix, i64); N],
        (part, m): (&Sum, i64),
        (with, k): (Ix, i64),
    ) -> Option<Sum> {
        let mut next = sum.clone();
        terms.into_iter().try_for_each(|(term, factor)| next.add_term(term, factor.checked_neg()?))?;
        next.add_sum(part, m.checked_neg()?)?;
        next.add_sum(&self.as_sum(with), k)?;
        Some(next)
    }

    /// Returns `(x - y) / a`, if `a` divides every coefficient.
    fn difference_divided(&self, x: Ix, y: Ix, a: i64) -> Option<Sum> {
        let mut difference = self.as_sum(x);
        difference.add_sum(&self.as_sum(y), -1)?;
        difference.terms.retain(|(_, k)| *k != 0);
        let divides = difference.constant % a == 0 && difference.terms.iter().all(|(_, k)| k % a == 0);
        let terms = difference.terms.iter().map(|&(term, k)| (term, k / a)).collect();
        divides.then(|| Sum { constant: difference.constant / a, terms })
    }
}

/// Whether `sum` contains `m · part` exactly. Subtracting only a part of a coefficient would split
/// the coefficient in two, and the expression would lose the common factor that alignment and
/// vectorisation need.
fn covers(sum: &Sum, part: &Sum, m: i64) -> bool {
    let held = |&(term, c): &(Ix, i64)| c != 0 && c.checked_mul(m) == Some(sum.coefficient(term));
    !part.terms.is_empty() && part.terms.iter().all(held)
}
