//! Where an emitter comes from.

use std::fmt;
use std::path::{Path, PathBuf};

/// Origin of an emitter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Linked into this program.
    Linked,
    /// A library that is loaded into this process.
    Library(PathBuf),
    /// A library in a separate process.
    Process(PathBuf),
}

impl Origin {
    /// Returns the path of the library. Returns `None` for a linked emitter.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Origin::Linked => None,
            Origin::Library(path) | Origin::Process(path) => Some(path),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Linked => f.write_str("linked in"),
            Origin::Library(path) => write!(f, "{}", path.display()),
            Origin::Process(path) => write!(f, "{}, isolated", path.display()),
        }
    }
}
