//! Quotients and remainders by positive constants.

use fusebox_core::indexing::Interval;

use super::{Indices, Ix, Kind, Sum, gcd};

impl Indices {
    /// `floor(ix / divisor)`; the divisor is positive.
    pub(crate) fn floor_div(&mut self, ix: Ix, divisor: i64) -> Ix {
        let range = self.range(ix).floor_div(Interval::point(divisor));
        if divisor == 1 {
            return ix;
        }
        if let Some(value) = range.as_point() {
            return self.constant(value);
        }
        match *self.kind(ix) {
            Kind::FloorDiv(inner, first) if first.checked_mul(divisor).is_some() => {
                self.floor_div(inner, first * divisor)
            }
            // (x mod c*d) / d = (x / d) mod c
            Kind::Mod(inner, modulus) if modulus % divisor == 0 => {
                let quotient = self.floor_div(inner, divisor);
                self.modulo(quotient, modulus / divisor)
            }
            Kind::Sum(ref sum) => self.floor_div_sum(ix, sum.clone(), divisor),
            _ => self.intern(Kind::FloorDiv(ix, divisor), range),
        }
    }

    /// `ix - divisor * floor(ix / divisor)`; the divisor is positive.
    pub(crate) fn modulo(&mut self, ix: Ix, divisor: i64) -> Ix {
        let range = self.range(ix);
        if range.lower >= 0 && range.upper < divisor {
            return ix;
        }
        if range.lower >= i64::MIN / 2 && range.upper <= i64::MAX / 2 {
            // All values in one period: a remainder is the value less a constant.
            let first = range.lower.div_euclid(divisor);
            if range.upper.div_euclid(divisor) == first {
                let shift = self.constant(-first * divisor);
                return self.add(ix, shift);
            }
        }
        match *self.kind(ix) {
            Kind::Mod(inner, modulus) if modulus % divisor == 0 => self.modulo(inner, divisor),
            Kind::Sum(ref sum) => self.modulo_sum(sum.clone(), divisor),
            _ => self.intern(Kind::Mod(ix, divisor), Interval::new(0, divisor - 1)),
        }
    }

    fn floor_div_sum(&mut self, ix: Ix, mut sum: Sum, divisor: i64) -> Ix {
        // Multiples of the divisor come out whole.
        let outside = Sum {
            terms: take(&mut sum.terms, |factor| factor % divisor == 0).map(|(term, f)| (term, f / divisor)).collect(),
            constant: sum.constant.div_euclid(divisor),
        };
        sum.constant = sum.constant.rem_euclid(divisor);
        let inside = if outside.terms.is_empty() && outside.constant == 0 {
            self.floor_div_rest(ix, sum, divisor)
        } else {
            let rest = self.normal(sum);
            self.floor_div(rest, divisor)
        };
        let outside = self.normal(outside);
        self.add(outside, inside)
    }

    /// Of a sum of which no part is a multiple of the divisor.
    fn floor_div_rest(&mut self, ix: Ix, sum: Sum, divisor: i64) -> Ix {
        if let Some((coarse, fine, unit)) = self.split(&sum, divisor) {
            debug_assert!(self.range(fine).lower >= 0);
            return self.floor_div(coarse, divisor / unit);
        }
        let range = self.range(ix).floor_div(Interval::point(divisor));
        self.intern(Kind::FloorDiv(ix, divisor), range)
    }

    fn modulo_sum(&mut self, mut sum: Sum, divisor: i64) -> Ix {
        let before = (sum.terms.len(), sum.constant);
        sum.terms.retain(|&(_, factor)| factor % divisor != 0);
        sum.constant = sum.constant.rem_euclid(divisor);
        if before != (sum.terms.len(), sum.constant) {
            let rest = self.normal(sum);
            return self.modulo(rest, divisor);
        }
        if let Some((coarse, fine, unit)) = self.split(&sum, divisor) {
            let coarse = self.modulo(coarse, divisor / unit);
            let coarse = self.scaled(coarse, unit);
            return self.add(coarse, fine);
        }
        let ix = self.normal(sum);
        self.intern(Kind::Mod(ix, divisor), Interval::new(0, divisor - 1))
    }

    /// Writes the sum as `coarse * unit + fine` with `0 <= fine < unit` and `unit > 1` a divisor of `divisor`,
    /// the largest possible.
    fn split(&mut self, sum: &Sum, divisor: i64) -> Option<(Ix, Ix, i64)> {
        let mut units: Vec<i64> =
            sum.terms.iter().map(|&(_, factor)| gcd(factor.unsigned_abs(), divisor.unsigned_abs()) as i64).collect();
        units.sort_unstable();
        units.dedup();
        for &unit in units.iter().rev().filter(|&&unit| unit > 1) {
            let mut fine = sum.clone();
            let coarse = Sum {
                terms: take(&mut fine.terms, |factor| factor % unit == 0).map(|(term, f)| (term, f / unit)).collect(),
                constant: sum.constant.div_euclid(unit),
            };
            fine.constant = sum.constant.rem_euclid(unit);
            let range = self.range_of_sum(&fine);
            if range.lower >= 0 && range.upper < unit {
                return Some((self.normal(coarse), self.normal(fine), unit));
            }
        }
        None
    }
}

/// Takes the terms out whose factor satisfies the condition.
fn take(terms: &mut Vec<(Ix, i64)>, condition: impl Fn(i64) -> bool) -> impl Iterator<Item = (Ix, i64)> {
    let (taken, kept) = terms.iter().partition(|&&(_, factor)| condition(factor));
    *terms = kept;
    let taken: Vec<(Ix, i64)> = taken;
    taken.into_iter()
}
