//! Pins each thread to a different processor, so that the system does not run two threads on one
//! processor.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// A set of processors to which threads can be pinned, at most one thread to each.
#[derive(Clone, Debug)]
pub struct Processors {
    allowed: CpuSet,
    numbers: Vec<usize>,
}

/// The pin of a thread to a processor. The thread that creates this value stays pinned until it
/// drops the value. After the drop, the thread may again run on all processors of the set.
#[derive(Debug)]
pub struct PinnedThread {
    before: CpuSet,
}

impl Processors {
    /// Returns the processors that the calling thread may run on. Returns `None` if there are fewer
    /// processors than `threads`.
    pub fn for_threads(threads: usize) -> Option<Processors> {
        let allowed = sched_getaffinity(None).ok()?;
        let numbers: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&number| allowed.is_set(number)).collect();
        (numbers.len() >= threads).then_some(Processors { allowed, numbers })
    }

    /// Pins the calling thread to the processor with index `place` in this set. Returns `None` if
    /// the set has no processor with this index or the system refuses.
    pub fn pin(&self, place: usize) -> Option<PinnedThread> {
        let mut own = CpuSet::new();
        own.set(*self.numbers.get(place)?);
        sched_setaffinity(None, &own).ok()?;
        Some(PinnedThread { before: self.allowed })
    }
}

impl Drop for PinnedThread {
    fn drop(&mut self) {
        // If the system refuses, the thread remains pinned, which is harmless.
        let _ = sched_setaffinity(None, &self.before);
    }
}
