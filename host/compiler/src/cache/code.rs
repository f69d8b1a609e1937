//! Machine code of kernels, as stored in the cache.

use fusebox_files::{Key, StoreError};
use fusebox_lowering::{Batch, Code, LoweringError};

use super::{Cached, key};
use crate::Options;

/// Machine code of one batch of kernels.
pub struct BatchCode {
    /// The code.
    pub code: Code,
    /// Whether the code comes from the cache.
    pub was_cached: bool,
    /// Key of the batch's cache entry, if there is one.
    key: Option<Key>,
}

impl BatchCode {
    /// Returns compiled code that is not written to the cache.
    pub fn new(code: Code) -> BatchCode {
        BatchCode { code, was_cached: false, key: None }
    }
}

/// Returns the code of a batch from the cache, or compiles it.
///
/// # Errors
/// If `compile` fails.
pub fn cached_or_compiled(
    batch: &Batch<'_>,
    options: &Options,
    compile: impl FnOnce() -> Result<Code, LoweringError>,
) -> Result<BatchCode, LoweringError> {
    let store = options.store();
    // `compile_or_load` reports why a key cannot be computed.
    let key = store.and_then(|_| key::of_code(batch, &options.target).ok());
    let found = store.zip(key.as_ref()).and_then(|(store, key)| postcard::from_bytes(&store.get(key)?).ok());
    match found {
        Some(code) => Ok(BatchCode { code, was_cached: true, key }),
        None => Ok(BatchCode { code: compile()?, was_cached: false, key }),
    }
}

/// Counts the batches that came from the cache. `None` if no cache is used.
pub fn found(batches: &[BatchCode], options: &Options) -> Option<Cached> {
    let found = batches.iter().filter(|batch| batch.was_cached).count();
    options.store().map(|_| Cached::Code { found, of: batches.len() })
}

/// Stores every newly compiled batch in the cache.
///
/// # Errors
/// If a batch cannot be written.
pub fn keep(batches: &[BatchCode], options: &Options) -> Result<(), StoreError> {
    let Some(store) = options.store() else { return Ok(()) };
    let new = batches.iter().filter(|batch| !batch.was_cached);
    let entry = |batch: &BatchCode| Some((batch.key.clone()?, postcard::to_stdvec(&batch.code).ok()?));
    let new: Vec<(Key, Vec<u8>)> = new.filter_map(entry).collect();
    if new.is_empty() { Ok(()) } else { store.keep(&new) }
}
