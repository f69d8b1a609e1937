//! The questions that tuning decides by measurements.

use std::fmt;
use std::str::FromStr;

use fusebox_plugins::Fingerprint;

/// Prefix that marks the fingerprint of a region in stored decisions about cuts.
const CUT: &str = "cut-";

/// A question that tuning decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// Which emitter builds the kernel of a fusion. The value is the fingerprint of the fusion.
    Emitter(Fingerprint),
    /// How a region is cut into kernels. The value is the fingerprint of the region.
    Cut(Fingerprint),
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Question::Emitter(fingerprint) => write!(f, "{fingerprint}"),
            Question::Cut(fingerprint) => write!(f, "{CUT}{fingerprint}"),
        }
    }
}

impl FromStr for Question {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix(CUT) {
            Some(fingerprint) => fingerprint.parse().map(Question::Cut),
            None => text.parse().map(Question::Emitter),
        }
    }
}
