//! Limits how deep thunks and tuples of an executable are nested.
//!
//! Code that reads, checks, runs or drops nested thunks and tuples recurses. A file may claim any
//! depth, so the decoder counts levels.

use std::cell::Cell;

use serde::de::{Deserialize, Deserializer, Error};

/// Maximum nesting depth of loops, branches and tuples. Programs use tens of levels; the stack
/// suffices for about ten thousand.
pub const DEEPEST: usize = 1000;

thread_local! {
    /// Current nesting depth of the decoder on this thread.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Decodes a value one level deeper. Fails if the level exceeds [`DEEPEST`] or the value cannot be
/// decoded.
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

/// Returns the error text for too deep nesting.
pub fn too_deep() -> String {
    format!("loops, branches or tuples are nested more than {DEEPEST} deep")
}
