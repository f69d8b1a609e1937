//! The greatest common divisor of two numbers.

/// Returns the greatest common divisor, at least 1.
pub fn common_divisor(a: i64, b: i64) -> i64 {
    if b == 0 { a.max(1) } else { common_divisor(b, a % b) }
}
