//! Pins threads to processors, one each, so that the system does not run two threads on one
//! processor.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Processors to which threads can be pinned, one thread each.
#[derive(Clone, Debug)]
pub struct Processors {
    allowed: CpuSet,
    numbers: Vec<usize>,
}

/// Keeps a thread on its processor. When that thread drops this value, it may again run on all its
/// previous processors.
#[derive(Debug)]
pub struct PinnedThread {
    before: CpuSet,
}

impl Processors {
    /// Returns the processors that the calling thread may run on, if there are at least `threads`.
    pub fn for_threads(threads: usize) -> Option<Processors> {
        let allowed = sched_getaffinity(None).ok()?;
        let numbers: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&number| allowed.is_set(number)).collect();
        (numbers.len() >= threads).then_some(Processors { allowed, numbers })
    }

    /// Pins the calling thread to the processor with index `place`, if the system allows it.
    pub fn pin(&self, place: usize) -> Option<PinnedThread> {
        let mut own = CpuSet::new();
        own.set(*self.numbers.get(place)?);
        sched_setaffinity(None, &own).ok()?;
        Some(PinnedThread { before: self.allowed })
    }
}

impl Drop for PinnedThread {
    fn drop(&mut self) {
        // On failure the thread remains pinned, which is harmless.
        let _ = sched_setaffinity(None, &self.before);
    }
}
