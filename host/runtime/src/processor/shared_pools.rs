//! The thread pools of this process. Devices with the same number of threads share a pool.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::pool::Pool;

/// The pools in use, by number of threads.
static POOLS: Mutex<Option<HashMap<usize, Weak<Pool>>>> = Mutex::new(None);

/// Returns the pool of this process with `threads` threads. Starts the pool if nothing uses it yet.
/// Fails if the system refuses to start threads.
pub fn shared_pool(threads: usize) -> std::io::Result<Arc<Pool>> {
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let pools = pools.get_or_insert_default();
    if let Some(pool) = pools.get(&threads).and_then(Weak::upgrade) {
        return Ok(pool);
    }
    let pool = Arc::new(Pool::new(threads)?);
    pools.insert(threads, Arc::downgrade(&pool));
    Ok(pool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_of_threads_share_a_pool_while_it_is_used() {
        let [one, same, other] = [7, 7, 6].map(|threads| shared_pool(threads).unwrap());
        assert!(Arc::ptr_eq(&one, &same) && !Arc::ptr_eq(&one, &other));
        let ended = Arc::downgrade(&one);
        drop((one, same));
        assert!(ended.upgrade().is_none());
        assert_eq!(shared_pool(7).unwrap().threads(), 7);
    }
}
