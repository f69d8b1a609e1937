//! Machine code of kernels in the cache.

use fusebox_files::{Key, StoreError};
use fusebox_lowering::{Batch, Code, LoweringError};

use super::{Cached, key};
use crate::Options;

/// Machine code of one batch of kernels.
pub struct Piece {
    /// The code.
    pub code: Code,
    /// Whether the code comes from the cache.
    pub was_kept: bool,
    /// Key of its cache entry, if the batch has one.
    key: Option<Key>,
}

/// Returns the code of a batch from the cache, or compiles it.
///
/// # Errors
/// As `compile`.
pub fn kept_or_compiled(
    batch: &Batch<'_>,
    options: &Options,
    compile: impl FnOnce() -> Result<Code, LoweringError>,
) -> Result<Piece, LoweringError> {
    let store = options.store();
    // `compile_or_load` reports why a key cannot be computed.
    let key = store.and_then(|_| key::of_code(batch, &options.target).ok());
    let found = store.zip(key.as_ref()).and_then(|(store, key)| postcard::from_bytes(&store.get(key)?).ok());
    match found {
        Some(code) => Ok(Piece { code, was_kept: true, key }),
        None => Ok(Piece { code: compile()?, was_kept: false, key }),
    }
}

/// Counts the pieces that came from the cache. `None` without a cache.
pub fn found(pieces: &[Piece], options: &Options) -> Option<Cached> {
    let found = pieces.iter().filter(|piece| piece.was_kept).count();
    options.store().map(|_| Cached::Code { found, of: pieces.len() })
}

/// Writes the pieces that are not in the cache into it.
///
/// # Errors
/// If a piece cannot be written.
pub fn keep(pieces: &[Piece], options: &Options) -> Result<(), StoreError> {
    let Some(store) = options.store() else { return Ok(()) };
    let new = pieces.iter().filter(|piece| !piece.was_kept);
    let entry = |piece: &Piece| Some((piece.key.clone()?, postcard::to_stdvec(&piece.code).ok()?));
    let new: Vec<(Key, Vec<u8>)> = new.filter_map(entry).collect();
    if new.is_empty() { Ok(()) } else { store.keep(&new) }
}
