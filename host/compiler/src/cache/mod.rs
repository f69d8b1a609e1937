//! Cache of earlier compilations: a folder that contains whole programs and the machine code of
//! kernels.
//!
//! ```text
//! key      keys: hashes of everything that an entry depends on
//! program  executables of whole modules
//! code     machine code of kernels, reused by other programs and after changes of the module
//! cubin    machine code for GPUs, made from PTX
//! ```

mod code;
mod cubin;
mod handle;
mod key;
mod program;

#[cfg(test)]
mod tests;

use std::fmt;

pub use code::{BatchCode, cached_or_compiled, found, keep};
pub use cubin::cached_or_assembled;
pub use handle::Cache;
pub use program::compile_or_load;

/// Parts of a program that came from the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cached {
    /// The whole program.
    Program,
    /// Machine code of some pieces of the program. A piece is a kernel, or a loop with its kernels.
    Code {
        /// Number of pieces that came from the cache.
        found: usize,
        /// Number of all pieces.
        of: usize,
    },
}

impl Cached {
    /// Returns `hit` if the whole program came from the cache, else `miss`.
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
