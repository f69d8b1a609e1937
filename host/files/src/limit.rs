//! Size limits of files that are read.

use std::fmt;
use std::str::FromStr;

/// The largest size of a file that is read, in bytes, or no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeLimit(Option<u64>);

impl SizeLimit {
    /// The command line flag that changes the limit in every program.
    pub const FLAG: &str = "--file-limit";

    /// Allows files of at most `most` bytes.
    pub const fn bytes(most: u64) -> SizeLimit {
        SizeLimit(Some(most))
    }

    /// Allows files of any size.
    pub const fn none() -> SizeLimit {
        SizeLimit(None)
    }

    /// Returns the maximum number of bytes, if there is a limit.
    pub fn most(self) -> Option<u64> {
        self.0
    }

    /// Whether a file of this many bytes may be read.
    pub fn allows(self, bytes: u64) -> bool {
        self.0.is_none_or(|most| bytes <= most)
    }
}

impl Default for SizeLimit {
    /// Returns a limit of 2 GiB, ten times the size of the largest known module.
    fn default() -> Self {
        SizeLimit::bytes(2 << 30)
    }
}

/// Letters for powers of 1024, each with the base-2 logarithm of its power.
const UNITS: [(char, u32); 4] = [('T', 40), ('G', 30), ('M', 20), ('K', 10)];

impl fmt::Display for SizeLimit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Some(most) = self.0 else { return f.write_str("none") };
        match UNITS.iter().find(|(_, shift)| most != 0 && most.trailing_zeros() >= *shift) {
            Some((letter, shift)) => write!(f, "{}{letter}", most >> shift),
            None => write!(f, "{most}"),
        }
    }
}

/// The error for a text that is not a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a size: write a number of bytes like 1000000, or 64K, 512M, 4G, or `none`")]
pub struct BadSize(String);

impl FromStr for SizeLimit {
    type Err = BadSize;

    /// Parses `512M`, `4G`, `1000000`, `none`. The letters stand for powers of 1024.
    fn from_str(text: &str) -> Result<SizeLimit, BadSize> {
        if text.eq_ignore_ascii_case("none") {
            return Ok(SizeLimit::none());
        }
        let unit = UNITS.iter().find_map(|&(letter, shift)| {
            let digits = text.strip_suffix([letter, letter.to_ascii_lowercase()])?;
            Some((digits, shift))
        });
        let (digits, shift) = unit.unwrap_or((text, 0));
        let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u64>().ok()).flatten();
        let bytes = number.and_then(|number| number.checked_mul(1 << shift));
        bytes.map(SizeLimit::bytes).ok_or_else(|| BadSize(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_printed() {
        for (text, most) in [("0", 0), ("1000000", 1_000_000), ("64K", 65536), ("512m", 512 << 20), ("4G", 4 << 30)] {
            let limit: SizeLimit = text.parse().unwrap();
            assert_eq!(limit.most(), Some(most), "{text}");
            assert_eq!(limit.to_string().parse(), Ok(limit), "{text}");
        }
        assert_eq!("none".parse(), Ok(SizeLimit::none()));
        assert_eq!(SizeLimit::default().to_string(), "2G");
        for text in ["", "G", "-1", "+1", "1.5G", "1 G", "4GG", "many", "99999999999T", "18446744073709551616"] {
            assert!(text.parse::<SizeLimit>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_limit_includes_its_bound() {
        assert!(SizeLimit::bytes(3).allows(3) && !SizeLimit::bytes(3).allows(4) && SizeLimit::none().allows(u64::MAX));
    }
}
