//! Numbers as unevaluated sums of two floats, for twice the precision.
//!
//! Exact sums use Knuth's algorithm. Exact products use FMA. On targets without FMA, exact products
//! use Dekker's algorithm with Veltkamp's splitting.

use fusebox_core::builder::Term;

/// The number `high + low`, where |low| is at most half an ulp of `high`.
#[derive(Clone, Copy)]
pub struct Pair<'f> {
    pub high: Term<'f>,
    pub low: Term<'f>,
}

/// Computes `a + b` and its rounding error.
pub fn two_sum<'f>(a: Term<'f>, b: Term<'f>) -> Pair<'f> {
    let high = a + b;
    let other = high - a;
    Pair { high, low: (a - (high - other)) + (b - other) }
}

/// Computes `a + b` and its rounding error. Requires |a| ≥ |b| or a = 0.
pub fn fast_two_sum<'f>(a: Term<'f>, b: Term<'f>) -> Pair<'f> {
    let high = a + b;
    Pair { high, low: b - (high - a) }
}

/// Computes `a · b` and its rounding error.
pub fn two_product<'f>(a: Term<'f>, b: Term<'f>) -> Pair<'f> {
    let high = a * b;
    if a.has_fma() {
        return Pair { high, low: a.mul_add(b, -high) };
    }
    let (a, b) = (halves(a), halves(b));
    let low = ((a.high * b.high - high) + a.high * b.low + a.low * b.high) + a.low * b.low;
    Pair { high, low }
}

/// Splits a number into the sum of two numbers of half as many digits.
fn halves(a: Term<'_>) -> Pair<'_> {
    let spread = a * a.choose(4097.0, 134217729.0);
    let high = spread - (spread - a);
    Pair { high, low: a - high }
}

impl<'f> Pair<'f> {
    /// Builds the constant `high + low` in the type of `like`.
    pub fn of(like: Term<'f>, high: f64, low: f64) -> Pair<'f> {
        Pair { high: like.number(high), low: like.number(low) }
    }

    pub fn times(self, other: Pair<'f>) -> Pair<'f> {
        let product = two_product(self.high, other.high);
        let low = self.high.mul_add(other.low, self.low.mul_add(other.high, product.low));
        fast_two_sum(product.high, low)
    }
}
