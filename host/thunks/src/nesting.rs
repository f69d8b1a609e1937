//! Limits the nesting depth of the thunks and tuples of an executable.
//!
//! The functions that read, check, run or drop thunks and tuples are recursive. A file may contain
//! any nesting depth, which could overflow the stack. Therefore the decoder counts the nesting
//! levels.

use std::cell::Cell;

use serde::de::{Deserialize, Deserializer, Error};

/// Maximum nesting depth of loops, branches and tuples. Programs have tens of levels, and the stack
/// suffices for about ten thousand.
pub const DEEPEST: usize = 1000;

thread_local! {
    /// Current nesting depth of the decoder on this thread.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Decodes a value that is one nesting level deeper than the value that contains it. Fails if the
/// depth exceeds [`DEEPEST`] or the value cannot be decoded.
pub fn one_deeper<'de, D: Deserializer<'de>, T: Deserialize<'de>>(decoder: D) -> Result<T, D::Error> {
    let depth = DEPTH.get();
    if depth == DEEPEST {
        return Err(D::Error::custom(too_deep()));
    }
    DEPTH.set(depth + 1);
    let decoded = T::deserialize(decoder);
    DEPTH.set(depth);
    decoded
}

/// Returns the text of the error that reports a too large nesting depth.
pub fn too_deep() -> String {
    format!("loops, branches or tuples are nested more than {DEEPEST} deep")
}
