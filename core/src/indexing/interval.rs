//! Closed intervals of `i64`.

/// All integers from `lower` to `upper`, both included. Empty if `lower > upper`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Interval {
    /// Smallest member.
    pub lower: i64,
    /// Largest member.
    pub upper: i64,
}

impl Interval {
    /// `lower..=upper`.
    pub const fn new(lower: i64, upper: i64) -> Self {
        Interval { lower, upper }
    }

    /// `0..size`.
    pub const fn from_size(size: i64) -> Self {
        Interval { lower: 0, upper: size - 1 }
    }

    /// Exactly one member.
    pub const fn point(value: i64) -> Self {
        Interval { lower: value, upper: value }
    }

    /// Whether there is no member.
    pub const fn is_empty(self) -> bool {
        self.lower > self.upper
    }

    /// Whether `value` is a member.
    pub const fn contains(self, value: i64) -> bool {
        self.lower <= value && value <= self.upper
    }
}
