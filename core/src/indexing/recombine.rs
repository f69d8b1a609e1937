//! Rules on sums that hold quotients and remainders: the inverse of splitting.

use super::affine::Affine;
use super::expr::Expr;
use super::simplify::{Simplifier, as_quotient, as_remainder};

/// In longer sums, quotients and remainders are not tried with each other: that takes time in proportion to
/// the square, and sums that index something are short.
const MAX_PAIRED_TERMS: usize = 24;

impl Simplifier<'_> {
    /// Applies the rules until none fits. Terms are sorted before and after.
    pub(super) fn recombine(&mut self, sum: &mut Affine) {
        let interesting = |sum: &Affine| {
            sum.terms.iter().any(|(term, _)| as_remainder(term).is_some() || as_quotient(term).is_some())
        };
        while sum.terms.len() > 1 && interesting(sum) && self.step() {
            let mut next = self.merge_quotient_and_remainder(sum);
            if sum.terms.len() <= MAX_PAIRED_TERMS {
                next = next
                    .or_else(|| self.complete_quotient(sum))
                    .or_else(|| self.merge_remainders(sum))
                    .or_else(|| self.difference_to_remainder(sum));
            }
            match next {
                Some(next) => *sum = next,
                None => break,
            }
            sum.sort();
        }
    }

    /// `k·(y mod c) + k·c·(y / c) = k·y`.
    fn merge_quotient_and_remainder(&mut self, sum: &Affine) -> Option<Affine> {
        for (term, k) in &sum.terms {
            let Some((dividend, c)) = as_remainder(term) else { continue };
            let Some(kc) = k.checked_mul(c) else { continue };
            let quotient = self.floor_div(dividend, c).decompose();
            let present = quotient.terms.iter().all(|(t, q)| q.checked_mul(kc) == Some(sum.coefficient(t)));
            if !present || quotient.terms.is_empty() {
                continue;
            }
            let mut next = sum.clone();
            next.add(term, k.checked_neg()?)?;
            next.add_sum(&quotient, kc.checked_neg()?)?;
            next.add(dividend, *k)?;
            return Some(next);
        }
        None
    }

    /// The same, found from the quotient: the remainder may have lost parts of `y` that `c` divides.
    fn complete_quotient(&mut self, sum: &Affine) -> Option<Affine> {
        for (term, kc) in &sum.terms {
            for (whole, c) in self.divisions(term, sum) {
                if kc % c != 0 {
                    continue;
                }
                let k = kc / c;
                let remainder = self.modulo(&whole, c).decompose();
                if !covers(sum, &remainder, k) {
                    continue;
                }
                let mut next = sum.clone();
                next.add(term, kc.checked_neg()?)?;
                next.add_sum(&remainder, k.checked_neg()?)?;
                next.add(&whole, k)?;
                return Some(next);
            }
        }
        None
    }

    /// Dividends and divisors that give the same quotient. It may have absorbed another one, as in
    /// `(s + n / a) / b = (a·s + n) / (a·b)`, of which `sum` still shows traces.
    fn divisions(&mut self, quotient: &Expr, sum: &Affine) -> Vec<(Expr, i64)> {
        let Some((dividend, c)) = as_quotient(quotient) else { return Vec::new() };
        let mut divisions = vec![(dividend.clone(), c)];
        let mut candidates: Vec<Expr> = Vec::new();
        for (term, _) in &sum.terms {
            let inner = as_remainder(term).map(|(dividend, _)| dividend.decompose());
            let inner = inner.into_iter().flat_map(|inner| inner.terms).map(|(term, _)| term);
            candidates.extend(inner.chain([term.clone()]).filter(|t| t != quotient && as_quotient(t).is_some()));
        }
        candidates.sort();
        candidates.dedup();
        for absorbed in candidates {
            let Some((numerator, a)) = as_quotient(&absorbed).filter(|(_, a)| c % a == 0) else { continue };
            let Some(mut whole) = difference_divided(dividend, numerator, a) else { continue };
            if whole.add(&absorbed, 1).is_none() {
                continue;
            }
            let whole = self.sum(whole);
            if self.floor_div(&whole, c / a) == *quotient {
                divisions.push((whole, c / a));
            }
        }
        divisions
    }

    /// `k·(y mod c) + k·c·(z mod d) = k·((c·z + y mod c) mod (c·d))`, where `c·z + y mod c` itself simplifies.
    fn merge_remainders(&mut self, sum: &Affine) -> Option<Affine> {
        for (low, k) in &sum.terms {
            let Some((_, c)) = as_remainder(low) else { continue };
            for (high, kc) in &sum.terms {
                let Some((z, d)) = as_remainder(high) else { continue };
                let (Some(cd), true) = (c.checked_mul(d), k.checked_mul(c) == Some(*kc)) else { continue };
                let mut whole = Affine::default();
                whole.add(z, c)?;
                whole.add(low, 1)?;
                let whole = self.sum(whole);
                if whole.decompose().coefficient(low) != 0 {
                    continue;
                }
                let merged = self.modulo(&whole, cd);
                let mut next = sum.clone();
                next.add(low, k.checked_neg()?)?;
                next.add(high, kc.checked_neg()?)?;
                next.add(&merged, *k)?;
                return Some(next);
            }
        }
        None
    }

    /// `m·y - m·c·(y / c) = m·(y mod c)`.
    fn difference_to_remainder(&mut self, sum: &Affine) -> Option<Affine> {
        for (term, k) in &sum.terms {
            for (whole, c) in self.divisions(term, sum) {
                if k % c != 0 || *k == i64::MIN || !covers(sum, &whole.decompose(), -(k / c)) {
                    continue;
                }
                let m = -(k / c);
                let remainder = self.modulo(&whole, c);
                return replaced(sum, term, *k, &whole, &remainder, m);
            }
        }
        None
    }
}

/// `sum - k·term - m·dividend + m·remainder`.
fn replaced(sum: &Affine, term: &Expr, k: i64, dividend: &Expr, remainder: &Expr, m: i64) -> Option<Affine> {
    let mut next = sum.clone();
    next.add(term, k.checked_neg()?)?;
    next.add(dividend, m.checked_neg()?)?;
    next.add(remainder, m)?;
    Some(next)
}

/// Whether taking `m · part` away makes every coefficient smaller.
fn covers(sum: &Affine, part: &Affine, m: i64) -> bool {
    !part.terms.is_empty()
        && part.terms.iter().all(|(term, c)| c.checked_mul(m).is_some_and(|cm| takes(sum.coefficient(term), cm)))
}

/// Whether `m` can be taken from `coefficient` without overshooting.
fn takes(coefficient: i64, m: i64) -> bool {
    m != 0 && (coefficient < 0) == (m < 0) && coefficient.unsigned_abs() >= m.unsigned_abs()
}

/// `(x - y) / a`, if every coefficient can be divided.
fn difference_divided(x: &Expr, y: &Expr, a: i64) -> Option<Affine> {
    let mut difference = Affine::default();
    difference.add(x, 1)?;
    difference.add(y, -1)?;
    difference.sort();
    let divides = difference.constant % a == 0 && difference.terms.iter().all(|(_, k)| k % a == 0);
    divides.then(|| Affine {
        constant: difference.constant / a,
        terms: difference.terms.into_iter().map(|(term, k)| (term, k / a)).collect(),
    })
}
