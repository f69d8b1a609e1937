//! Numbers as unevaluated sums of two floats, for twice the precision.
//!
//! The exact sum is Knuth's, the exact product Dekker's with FMA, or with Veltkamp's splitting without.

use super::code::Value;

/// `high + low`, |low| at most half an ulp of `high`.
#[derive(Clone, Copy)]
pub struct Pair<'c> {
    pub high: Value<'c>,
    pub low: Value<'c>,
}

/// `a + b` and its rounding error.
pub fn two_sum<'c>(a: Value<'c>, b: Value<'c>) -> Pair<'c> {
    let high = a + b;
    let other = high - a;
    Pair { high, low: (a - (high - other)) + (b - other) }
}

/// The same if |a| ≥ |b| or a is 0.
pub fn fast_two_sum<'c>(a: Value<'c>, b: Value<'c>) -> Pair<'c> {
    let high = a + b;
    Pair { high, low: b - (high - a) }
}

/// `a · b` and its rounding error.
pub fn two_product<'c>(a: Value<'c>, b: Value<'c>) -> Pair<'c> {
    let high = a * b;
    if a.has_fma() {
        return Pair { high, low: a.mul_add(b, -high) };
    }
    let (a, b) = (halves(a), halves(b));
    let low = ((a.high * b.high - high) + a.high * b.low + a.low * b.high) + a.low * b.low;
    Pair { high, low }
}

/// Two numbers of half as many digits.
fn halves(a: Value<'_>) -> Pair<'_> {
    let spread = a * a.choose(4097.0, 134217729.0);
    let high = spread - (spread - a);
    Pair { high, low: a - high }
}

impl<'c> Pair<'c> {
    /// A constant.
    pub fn of(like: Value<'c>, high: f64, low: f64) -> Pair<'c> {
        Pair { high: like.number(high), low: like.number(low) }
    }

    pub fn times(self, other: Pair<'c>) -> Pair<'c> {
        let product = two_product(self.high, other.high);
        let low = self.high.mul_add(other.low, self.low.mul_add(other.high, product.low));
        fast_two_sum(product.high, low)
    }
}
