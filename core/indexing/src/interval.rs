//! Closed intervals of `i64` and their arithmetic.
//!
//! The arithmetic saturates at the ends of `i64`. Index arithmetic does not overflow, so a
//! saturated bound is still correct.

use std::fmt;

/// All integers from `lower` to `upper`, both inclusive. The interval is empty if `lower > upper`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Interval {
    /// Smallest member.
    pub lower: i64,
    /// Largest member.
    pub upper: i64,
}

impl Interval {
    /// The interval of all numbers.
    pub const ALL: Interval = Interval { lower: i64::MIN, upper: i64::MAX };

    /// The interval without numbers.
    pub const EMPTY: Interval = Interval { lower: 0, upper: -1 };

    /// Creates the interval `lower..=upper`.
    pub const fn new(lower: i64, upper: i64) -> Self {
        Interval { lower, upper }
    }

    /// Creates the interval `0..size`.
    pub const fn from_size(size: i64) -> Self {
        Interval { lower: 0, upper: size.saturating_sub(1) }
    }

    /// Creates the interval of one number.
    pub const fn point(value: i64) -> Self {
        Interval { lower: value, upper: value }
    }

    /// Whether the interval has no member.
    pub const fn is_empty(self) -> bool {
        self.lower > self.upper
    }

    /// Whether `value` is a member.
    pub const fn contains(self, value: i64) -> bool {
        self.lower <= value && value <= self.upper
    }

    /// Whether every member of `other` is a member of `self`.
    pub const fn contains_interval(self, other: Interval) -> bool {
        other.is_empty() || (self.lower <= other.lower && other.upper <= self.upper)
    }

    /// Returns the only member, if the interval has exactly one member. Returns `None` if this
    /// member is an end of `i64`, because the arithmetic may have saturated there.
    pub const fn as_point(self) -> Option<i64> {
        if self.lower == self.upper && self.lower != i64::MIN && self.lower != i64::MAX {
            Some(self.lower)
        } else {
            None
        }
    }

    /// Number of members, at most `u64::MAX`.
    pub const fn size(self) -> u64 {
        if self.is_empty() { 0 } else { self.upper.abs_diff(self.lower).saturating_add(1) }
    }

    /// Returns the interval of all numbers that are members of both intervals.
    pub fn intersect(self, other: Interval) -> Interval {
        Interval::new(self.lower.max(other.lower), self.upper.min(other.upper))
    }

    /// Returns the smallest interval that contains both intervals.
    pub fn hull(self, other: Interval) -> Interval {
        match (self.is_empty(), other.is_empty()) {
            (true, _) => other,
            (_, true) => self,
            _ => Interval::new(self.lower.min(other.lower), self.upper.max(other.upper)),
        }
    }

    /// Returns the range of `min(a, b)` for all members `a` of `self` and `b` of `other`.
    pub fn min(self, other: Interval) -> Interval {
        self.combine(other, |a, b| Interval::new(a.lower.min(b.lower), a.upper.min(b.upper)))
    }

    /// Returns the range of `max(a, b)` for all members `a` of `self` and `b` of `other`.
    pub fn max(self, other: Interval) -> Interval {
        self.combine(other, |a, b| Interval::new(a.lower.max(b.lower), a.upper.max(b.upper)))
    }

    /// Returns the range of all quotients, rounded down. The range contains all numbers if the
    /// divisor may be zero.
    pub fn floor_div(self, divisor: Interval) -> Interval {
        self.combine(divisor, |a, b| if b.contains(0) { Interval::ALL } else { corners(a, b, floor_div) })
    }

    /// Returns an interval that contains all remainders. The interval is exact if all dividends
    /// have the same quotient.
    pub fn modulo(self, divisor: Interval) -> Interval {
        self.combine(divisor, |a, b| match b.as_point() {
            Some(m) if m > 0 && floor_div(a.lower, m) == floor_div(a.upper, m) => {
                Interval::new(a.lower.rem_euclid(m), a.upper.rem_euclid(m))
            }
            _ if b.lower > 0 && a.lower >= 0 && a.upper < b.lower => a,
            _ if b.lower > 0 && a.lower >= 0 => Interval::new(0, a.upper.min(b.upper - 1)),
            _ if b.lower > 0 => Interval::new(0, b.upper - 1),
            _ if b.upper < 0 && b.lower != i64::MIN => Interval::new(b.lower + 1, 0),
            _ => Interval::ALL,
        })
    }

    fn combine(self, other: Interval, f: impl FnOnce(Interval, Interval) -> Interval) -> Interval {
        if self.is_empty() || other.is_empty() { Interval::EMPTY } else { f(self, other) }
    }
}

impl std::ops::Add for Interval {
    type Output = Interval;
    fn add(self, other: Interval) -> Interval {
        self.combine(other, |a, b| Interval::new(a.lower.saturating_add(b.lower), a.upper.saturating_add(b.upper)))
    }
}

impl std::ops::Mul for Interval {
    type Output = Interval;
    fn mul(self, other: Interval) -> Interval {
        self.combine(other, |a, b| corners(a, b, i64::saturating_mul))
    }
}

impl std::ops::Neg for Interval {
    type Output = Interval;
    fn neg(self) -> Interval {
        Interval::new(self.upper.saturating_neg(), self.lower.saturating_neg())
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {}]", self.lower, self.upper)
    }
}

/// Returns the range of `f` on two intervals. `f` must be monotonic in each argument.
fn corners(a: Interval, b: Interval, f: impl Fn(i64, i64) -> i64) -> Interval {
    let values = [f(a.lower, b.lower), f(a.lower, b.upper), f(a.upper, b.lower), f(a.upper, b.upper)];
    let lower = values.iter().copied().fold(i64::MAX, i64::min);
    let upper = values.iter().copied().fold(i64::MIN, i64::max);
    Interval::new(lower, upper)
}

/// `floor(a / b)`; 0 if `b` is 0.
pub(super) fn floor_div(a: i64, b: i64) -> i64 {
    if b == 0 {
        return 0;
    }
    let quotient = a.wrapping_div(b);
    if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient }
}

/// `a - b * floor(a / b)`.
pub(super) fn floor_mod(a: i64, b: i64) -> i64 {
    a.wrapping_sub(b.wrapping_mul(floor_div(a, b)))
}

/// `a / b` for positive `b`, rounded up.
pub fn ceil_div(a: i64, b: i64) -> i64 {
    let quotient = floor_div(a, b);
    if floor_mod(a, b) == 0 { quotient } else { quotient + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_contains_every_result_and_is_tight_for_sums_and_products() {
        let intervals: Vec<Interval> =
            (-4..4).flat_map(|lower| (lower..5).map(move |upper| Interval::new(lower, upper))).collect();
        for &a in &intervals {
            for &b in &intervals {
                check(a, b, a + b, |x, y| x + y, true);
                check(a, b, a * b, |x, y| x * y, true);
                check(a, b, a.min(b), i64::min, true);
                check(a, b, a.max(b), i64::max, true);
                check(a, b, a.floor_div(b), floor_div, !b.contains(0));
                check(a, b, a.modulo(b), floor_mod, false);
            }
        }
    }

    fn check(a: Interval, b: Interval, result: Interval, f: impl Fn(i64, i64) -> i64, tight: bool) {
        let values: Vec<i64> =
            (a.lower..=a.upper).flat_map(|x| (b.lower..=b.upper).map(move |y| (x, y))).map(|(x, y)| f(x, y)).collect();
        assert!(values.iter().all(|&v| result.contains(v)), "{a} {b}: {values:?} not in {result}");
        if tight {
            assert!(values.contains(&result.lower) && values.contains(&result.upper), "{a} {b}: {result} is loose");
        }
    }

    #[test]
    fn saturates_instead_of_wrapping() {
        let big = Interval::new(i64::MAX - 1, i64::MAX);
        assert_eq!((big + Interval::point(5)).as_point(), None);
        assert_eq!((big * Interval::point(-2)).lower, i64::MIN);
        assert!((Interval::EMPTY + big).is_empty());
    }
}
