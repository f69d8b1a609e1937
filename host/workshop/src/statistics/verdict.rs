//! Derives a verdict from the interval of a ratio.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Interval;

/// Times that differ by less than this factor count as equal, because so small a difference should
/// not decide between two emitters.
pub const MARGIN: f64 = 1.02;

/// The result of comparing B's time with A's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// B takes less time by more than the [margin](MARGIN).
    Faster,
    /// B takes more time by more than the [margin](MARGIN).
    Slower,
    /// The times differ by less than the margin.
    Same,
    /// The interval contains ratios that count as equal times, and also larger or smaller ratios. A
    /// clear verdict needs more pairs.
    Ambiguous,
}

impl Verdict {
    /// Returns the verdict for an interval of B's time divided by A's.
    pub fn of(interval: &Interval) -> Verdict {
        let Interval { low, high, .. } = *interval;
        match () {
            () if high < 1.0 / MARGIN => Verdict::Faster,
            () if low > MARGIN => Verdict::Slower,
            () if low >= 1.0 / MARGIN && high <= MARGIN => Verdict::Same,
            () => Verdict::Ambiguous,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Same => "same",
            Verdict::Ambiguous => "ambiguous",
        })
    }
}
