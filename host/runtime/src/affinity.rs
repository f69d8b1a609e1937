//! Which processors threads run on: where the system would let two share one, each has its own.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Processors that threads can be put on, one each.
#[derive(Clone, Debug)]
pub struct Processors {
    allowed: CpuSet,
    numbers: Vec<usize>,
}

/// A thread that stays on its processor. Dropped by that thread, it lets it run wherever it might before.
#[derive(Debug)]
pub struct Pinned {
    before: CpuSet,
}

impl Processors {
    /// Those that the calling thread may run on, if there is one for each of so many threads.
    pub fn for_threads(threads: usize) -> Option<Processors> {
        let allowed = sched_getaffinity(None).ok()?;
        let numbers: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&number| allowed.is_set(number)).collect();
        (numbers.len() >= threads).then_some(Processors { allowed, numbers })
    }

    /// Keeps the calling thread on the one of that place among them, if the system lets it.
    pub fn pin(&self, place: usize) -> Option<Pinned> {
        let mut own = CpuSet::new();
        own.set(*self.numbers.get(place)?);
        sched_setaffinity(None, &own).ok()?;
        Some(Pinned { before: self.allowed })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // A thread that cannot be let go runs as before.
        let _ = sched_setaffinity(None, &self.before);
    }
}
