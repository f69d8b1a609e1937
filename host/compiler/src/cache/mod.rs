//! Cache of earlier compilations. A folder contains whole programs and the machine code of kernels.
//!
//! ```text
//! key      keys: hashes of everything that an entry depends on
//! program  executables of whole modules
//! code     machine code of kernels, reused by other programs and after changes of the module
//! ```

mod code;
mod key;
mod program;

#[cfg(test)]
mod tests;

use std::fmt;

use fusebox_files::Store;

use crate::Options;

pub use code::{cached_or_compiled, found, keep};
pub use program::compile_or_load;

/// Folder where compilations store and find results. By default there is none.
#[derive(Clone, Debug, Default)]
pub struct Cache(Option<Store>);

/// Parts of a program that came from the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cached {
    /// The whole program.
    Program,
    /// Machine code of some pieces. A piece is a kernel, or a loop with its kernels.
    Code {
        /// Number of pieces that came from the cache.
        found: usize,
        /// Number of all pieces.
        of: usize,
    },
}

impl Cache {
    /// Creates a cache that uses this store.
    pub fn of(store: Store) -> Cache {
        Cache(Some(store))
    }
}

impl Options {
    /// Returns the store of the cache. `None` if the compilation needs results that cache entries
    /// lack: texts of stages, checks after each pass, or code that departures change.
    pub(crate) fn store(&self) -> Option<&Store> {
        let wants_texts = self.dump.is_active() || !self.stages.is_empty();
        let departures = &self.departures;
        self.cache.0.as_ref().filter(|_| !departures.change_code() && !departures.verify_each && !wants_texts)
    }
}

impl Cached {
    /// Returns `hit` for a whole program, else `miss`.
    pub fn name(self) -> &'static str {
        match self {
            Cached::Program => "hit",
            Cached::Code { .. } => "miss",
        }
    }
}

impl fmt::Display for Cached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cached::Program => f.write_str("hit"),
            Cached::Code { found, of } => write!(f, "miss, {found} of {of} pieces of code were there"),
        }
    }
}
