//! Controls the content of the caches: evicts memory from the caches, or sweeps over memory.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::machine::{DeviceMemory, PART_BYTES, even_part};
use crate::processor::{Pool, Sweep};
use crate::values::HostMemory;

/// Minimum number of bytes per thread of a sweep. A sweep of fewer bytes takes less time than the
/// start of another thread.
const SWEPT_BYTES: u64 = 32 << 10;

/// Evicts memory of the host from all caches, with all threads of a pool.
pub fn evict(memory: &[Arc<DeviceMemory>], pool: Option<&Pool>) {
    for memory in memory.iter().filter_map(|memory| memory.as_host()) {
        let bytes = memory.as_slice().len();
        let evict = |parts: Range<u64>| {
            memory.evict((parts.start * PART_BYTES) as usize..((parts.end * PART_BYTES) as usize).min(bytes));
        };
        match pool {
            Some(pool) => pool.run((bytes as u64).div_ceil(PART_BYTES), &evict),
            None => memory.evict(0..bytes),
        }
    }
    // Wake the workers, so that the time of the next execution does not include their wake-up.
    if let Some(pool) = pool {
        pool.wake();
    }
}

/// Sweeps once over memory with all threads of a pool. Returns the elapsed time.
///
/// # Safety
/// No other code may access the memory during the call.
pub unsafe fn sweep(memory: &HostMemory, sweep: Sweep, pool: &Pool) -> Duration {
    let bytes = sweep.bytes.min(memory.as_slice().len());
    let part = even_part(bytes as u64, SWEPT_BYTES, pool.threads()) as usize;
    let mut parts: Vec<_> = (0..bytes).step_by(part).map(|start| start..(start + part).min(bytes)).collect();
    if sweep.is_backward {
        let per_thread = parts.len().div_ceil(pool.threads() as usize).max(1);
        parts.chunks_mut(per_thread).for_each(<[_]>::reverse);
    }
    let go = |range: Range<u64>| {
        for bytes in &parts[range.start as usize..range.end as usize] {
            // SAFETY: parts do not overlap, and the caller guarantees that no other code accesses
            // the memory.
            unsafe { memory.sweep(sweep.passage, bytes.clone()) }
        }
    };
    let start = Instant::now();
    pool.run(parts.len() as u64, &go);
    start.elapsed()
}
