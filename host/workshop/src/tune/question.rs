//! The questions that tuning decides by measuring.

use std::fmt;
use std::str::FromStr;

use fusebox_plugins::Fingerprint;

/// Prefix of a region's fingerprint in stored decisions about cuts.
const CUT: &str = "cut-";

/// A question to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// Which emitter builds a fusion's kernel.
    Emitter(Fingerprint),
    /// How a region is cut into kernels.
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
