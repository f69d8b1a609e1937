//! How deep the parts of an executable may be nested.
//!
//! Whatever reads, checks, runs or drops nested thunks and tuples recurses. A file may claim any depth, so the
//! decoder counts.

use std::cell::Cell;

use serde::de::{Deserialize, Deserializer, Error};

/// Loops, branches and tuples inside each other. Programs have tens; the stack holds some ten thousand.
pub const DEEPEST: usize = 1000;

thread_local! {
    /// Levels that the decoder on this thread is in.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Decodes what is one level further in. Fails if that is deeper than [`DEEPEST`], or cannot be decoded.
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

/// In words.
pub fn too_deep() -> String {
    format!("loops, branches or tuples are nested more than {DEEPEST} deep")
}
