//! The folder of the cache.

use fusebox_files::Store;

/// Folder where compilations store and find results. By default compilations use no cache.
#[derive(Clone, Debug, Default)]
pub struct Cache(pub(crate) Option<Store>);

impl Cache {
    /// Creates a cache that uses this store.
    pub fn of(store: Store) -> Cache {
        Cache(Some(store))
    }

    /// Whether compilations use a store.
    pub fn is_used(&self) -> bool {
        self.0.is_some()
    }
}
