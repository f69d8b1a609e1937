//! Quotients and remainders by positive constants.

use super::{Algebra, Interval, Ix, Kind, Sum, gcd};

impl Algebra {
    /// Returns `floor(ix / divisor)`. The divisor must be positive.
    pub fn floor_div(&mut self, ix: Ix, divisor: i64) -> Ix {
        debug_assert!(divisor > 0, "a divisor of {divisor}");
        if divisor == 1 {
            return ix;
        }
        if let Some(quotient) = self.common_quotient(self.range(ix), divisor) {
            return self.constant(quotient);
        }
        if let Some(&known) = self.quotients.get(&(ix, divisor)) {
            return known;
        }
        let simple = self.limited(|this| this.step().then(|| this.rewritten_quotient(ix, divisor)).flatten());
        let quotient = simple.unwrap_or_else(|| self.intern(Kind::FloorDiv(ix, divisor)));
        self.quotients.insert((ix, divisor), quotient);
        quotient
    }

    /// Returns `ix - divisor * floor(ix / divisor)`. The divisor must be positive.
    pub fn modulo(&mut self, ix: Ix, divisor: i64) -> Ix {
        debug_assert!(divisor > 0, "a divisor of {divisor}");
        if let Some(shift) = self.common_quotient(self.range(ix), divisor).and_then(|q| q.checked_mul(divisor)) {
            let shift = self.constant(shift);
            return self.sub(ix, shift);
        }
        if let Some(&known) = self.remainders.get(&(ix, divisor)) {
            return known;
        }
        let simple = self.limited(|this| this.step().then(|| this.rewritten_remainder(ix, divisor)).flatten());
        let remainder = simple.unwrap_or_else(|| self.intern(Kind::Mod(ix, divisor)));
        self.remainders.insert((ix, divisor), remainder);
        remainder
    }

    fn rewritten_quotient(&mut self, ix: Ix, divisor: i64) -> Option<Ix> {
        match *self.kind(ix) {
            Kind::FloorDiv(inner, first) => first.checked_mul(divisor).map(|both| self.floor_div(inner, both)),
            // (x mod c*d) / d = (x / d) mod c
            Kind::Mod(inner, modulus) if modulus % divisor == 0 => {
                let quotient = self.floor_div(inner, divisor);
                Some(self.modulo(quotient, modulus / divisor))
            }
            Kind::Sum(ref sum) => self.quotient_of_sum(sum, divisor),
            _ => None,
        }
    }

    fn quotient_of_sum(&mut self, sum: &Sum, divisor: i64) -> Option<Ix> {
        let (multiples, rest) = split_multiples(sum, divisor);
        if !multiples.is_zero() && self.fits(&rest) {
            let (multiples, rest) = (self.sum(multiples), self.sum(rest));
            let rest = self.floor_div(rest, divisor);
            return Some(self.add(multiples, rest));
        }
        if let Some((coarse, _, unit)) = self.split(sum, divisor) {
            return Some(self.floor_div(coarse, divisor / unit));
        }
        // Does not absorb a quotient that is constant in the innermost loop of the other terms.
        // Code then computes the quotient once, outside the loop, and the division inside the loop
        // is cheaper.
        let depth = sum.terms.iter().map(|&(term, _)| self.depth(term)).max()?;
        let outer = sum.terms.iter().any(|&(term, _)| self.as_quotient(term).is_some() && self.depth(term) < depth);
        let (numerator, whole_divisor) = if outer { None } else { self.absorb_quotient(sum, divisor) }?;
        let numerator = self.sum(numerator);
        Some(self.floor_div(numerator, whole_divisor))
    }

    fn rewritten_remainder(&mut self, ix: Ix, divisor: i64) -> Option<Ix> {
        let sum = self.as_sum(ix);
        let (multiples, rest) = split_multiples(&sum, divisor);
        if !multiples.is_zero() && self.fits(&rest) {
            let rest = self.sum(rest);
            return Some(self.modulo(rest, divisor));
        }
        if let Some(flat) = self.without_inner_remainder(&sum, divisor) {
            let flat = self.sum(flat);
            return Some(self.modulo(flat, divisor));
        }
        let (coarse, fine, unit) = self.split(&sum, divisor)?;
        let coarse = self.modulo(coarse, divisor / unit);
        let coarse = self.scaled(coarse, unit);
        Some(self.add(coarse, fine))
    }

    /// Returns the quotient by `divisor`, if all values of a range have the same quotient.
    fn common_quotient(&self, range: Interval, divisor: i64) -> Option<i64> {
        let bounded = range.lower != i64::MIN && range.upper != i64::MAX && !range.is_empty();
        let quotient = range.lower.div_euclid(divisor);
        (bounded && quotient == range.upper.div_euclid(divisor)).then_some(quotient)
    }

    /// Writes the sum as `coarse * unit + fine` with `0 <= fine < unit`, where `unit` divides
    /// `divisor` and exceeds 1. The function prefers large values of `unit`. The quotient
    /// `sum / divisor` is `coarse / (divisor / unit)`. The remainder is
    /// `(coarse mod (divisor / unit)) * unit + fine`.
    fn split(&mut self, sum: &Sum, divisor: i64) -> Option<(Ix, Ix, i64)> {
        for unit in units(sum, divisor) {
            let (mut coarse, mut fine) = split_multiples(sum, unit);
            let range = self.range_of_sum(&fine);
            let Some(offset) = self.common_quotient(range, unit).filter(|_| !coarse.terms.is_empty()) else { continue };
            coarse.constant = coarse.constant.checked_add(offset)?;
            fine.constant = fine.constant.checked_sub(offset.checked_mul(unit)?)?;
            return Some((self.sum(coarse), self.sum(fine), unit));
        }
        None
    }

    /// Applies `(s + y / a) / c = (a·s + y) / (a·c)`. Exactly one term must be a quotient with
    /// coefficient 1.
    pub(crate) fn absorb_quotient(&self, sum: &Sum, divisor: i64) -> Option<(Sum, i64)> {
        let mut quotients = sum.terms.iter().filter(|(term, k)| *k == 1 && self.as_quotient(*term).is_some());
        let &(term, _) = quotients.next()?;
        let (numerator, own) = self.as_quotient(term)?;
        if quotients.next().is_some() {
            return None;
        }
        let mut rest = sum.clone();
        rest.terms.retain(|(other, _)| *other != term);
        let mut result = self.as_sum(numerator);
        result.add_sum(&rest, own)?;
        let divisor = divisor.checked_mul(own)?;
        self.fits(&result).then_some((result, divisor))
    }

    /// Applies `(s + k·(y mod m)) mod c = (s + k·y) mod c`, which holds if `c` divides `k·m`.
    fn without_inner_remainder(&self, sum: &Sum, divisor: i64) -> Option<Sum> {
        let inner = |&(term, k): &(Ix, i64)| {
            let (dividend, modulus) = self.as_remainder(term)?;
            (k.checked_mul(modulus)? % divisor == 0).then_some((term, k, dividend))
        };
        let (term, k, dividend) = sum.terms.iter().find_map(inner)?;
        let mut result = sum.clone();
        result.terms.retain(|(other, _)| *other != term);
        result.add_sum(&self.as_sum(dividend), k)?;
        self.fits(&result).then_some(result)
    }

    /// Returns the dividend and the divisor, if the expression is a quotient.
    pub(crate) fn as_quotient(&self, ix: Ix) -> Option<(Ix, i64)> {
        match *self.node(ix).kind {
            Kind::FloorDiv(dividend, divisor) => Some((dividend, divisor)),
            _ => None,
        }
    }

    /// Returns the dividend and the divisor, if the expression is a remainder.
    pub(crate) fn as_remainder(&self, ix: Ix) -> Option<(Ix, i64)> {
        match *self.node(ix).kind {
            Kind::Mod(dividend, divisor) => Some((dividend, divisor)),
            _ => None,
        }
    }

    /// Returns the dividend and the divisor, if the expression is a quotient or a remainder.
    pub(super) fn divided(&self, ix: Ix) -> Option<(Ix, i64)> {
        self.as_quotient(ix).or_else(|| self.as_remainder(ix))
    }
}

/// Splits a sum in two. The first sum contains the terms whose coefficients are multiples of
/// `divisor`, divided by `divisor`. The second sum contains all other terms. The constant of the
/// first sum is the quotient of the old constant by `divisor`. The constant of the second sum is
/// the remainder.
pub(crate) fn split_multiples(sum: &Sum, divisor: i64) -> (Sum, Sum) {
    let multiple = |&&(_, factor): &&(Ix, i64)| factor % divisor == 0;
    let whole = sum.terms.iter().filter(multiple).map(|&(term, factor)| (term, factor / divisor)).collect();
    let rest = sum.terms.iter().filter(|term| !multiple(term)).copied().collect();
    (
        Sum { terms: whole, constant: sum.constant.div_euclid(divisor) },
        Sum { terms: rest, constant: sum.constant.rem_euclid(divisor) },
    )
}

/// Returns divisors of `divisor` that are above 1 and below `divisor` and divide some of the
/// coefficients. Larger divisors come first. For each coefficient, the result contains the greatest
/// common divisor of the coefficient and `divisor`. For each prefix of the list of these divisors
/// in descending order, the result also contains the greatest common divisor of the prefix.
fn units(sum: &Sum, divisor: i64) -> Vec<i64> {
    // The result divides `divisor`, so it fits.
    let with = |factor: i64| gcd(factor.unsigned_abs(), divisor.unsigned_abs()) as i64;
    let mut units: Vec<i64> = sum.terms.iter().map(|&(_, factor)| with(factor)).collect();
    units.sort_unstable_by(|a, b| b.cmp(a));
    let mut common = 0;
    for at in 0..units.len() {
        common = gcd(common, units[at].unsigned_abs());
        units.push(common as i64);
    }
    units.sort_unstable_by(|a, b| b.cmp(a));
    units.dedup();
    units.retain(|&unit| unit > 1 && unit < divisor);
    units
}
