//! What is decided by measuring.

use std::fmt;
use std::str::FromStr;

use fusebox_plugins::Fingerprint;

/// Before the fingerprint of a region, where a decision about a cut is written down.
const CUT: &str = "cut-";

/// What is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// Who makes a fusion.
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
