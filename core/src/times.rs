//! Formats times for people to read.

/// Formats microseconds without the unit, with `decimals` digits after the point. For a value below
/// 1, prints enough digits after the point to show two significant digits, so that short times do
/// not read as zero.
pub fn microseconds(us: f64, decimals: usize) -> String {
    /// Largest number of decimals. Nine decimals are enough for the time of any kernel; further
    /// decimals are rounding errors.
    const MOST_DECIMALS: i32 = 9;
    if us == 0.0 || !us.is_finite() {
        return format!("{us:.decimals$}");
    }
    let first = us.abs().log10().floor() as i32;
    let needed = (1 - first).clamp(0, MOST_DECIMALS);
    let decimals = if first < 0 { decimals.max(needed as usize) } else { decimals };
    format!("{us:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::microseconds;

    #[test]
    fn short_times_are_not_zero() {
        for (us, text) in [
            (0.0, "0.0"),
            (1234.56, "1234.6"),
            (10.0, "10.0"),
            (1.04, "1.0"),
            (0.96, "0.96"),
            (0.04, "0.040"),
            (0.0432, "0.043"),
            (0.000_123_4, "0.00012"),
            (1e-30, "0.000000000"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(microseconds(us, 1), text);
        }
        assert_eq!((microseconds(2.345_6, 2), microseconds(0.5, 2)), ("2.35".to_owned(), "0.50".to_owned()));
    }
}
