//! What earlier compilations left in a folder: whole programs, and the machine code of kernels.
//!
//! ```text
//! key      what an entry depends on
//! program  the executable of a module: all that a second start takes
//! code     what is compiled by itself: kernels that another program has too, or that stayed when the module changed
//! ```

mod code;
mod key;
mod program;

#[cfg(test)]
mod tests;

use std::fmt;

use fusebox_files::Store;

use crate::Options;

pub use code::{found, keep, kept_or_compiled};
pub use program::compile_or_load;

/// Where compilations find what earlier ones have made, and leave what they make; by default nowhere.
#[derive(Clone, Debug, Default)]
pub struct Cache(Option<Store>);

/// What a compilation took from the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cached {
    /// The whole program.
    Program,
    /// Machine code, so many pieces of so many: kernels, and loops with theirs.
    Code {
        /// Pieces that were there.
        found: usize,
        /// All pieces.
        of: usize,
    },
}

impl Cache {
    /// In this folder.
    pub fn of(store: Store) -> Cache {
        Cache(Some(store))
    }
}

impl Options {
    /// The cache, unless something is wanted that its entries do not have: texts of stages, or faults that are planted on the way.
    pub(crate) fn store(&self) -> Option<&Store> {
        let wants_texts = self.dump.is_active() || !self.stages.is_empty();
        let is_usual = !self.departures.unoptimised && !self.departures.planted.is_any();
        self.cache.0.as_ref().filter(|_| is_usual && !wants_texts)
    }
}

impl Cached {
    /// `hit` for a whole program, else `miss`.
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
