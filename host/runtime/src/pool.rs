//! A persistent pool of threads that shares out the blocks of a kernel.
//!
//! The caller takes part, so a pool of one thread has no workers and costs nothing. A worker that wakes
//! late simply finds the job gone; nobody waits for it.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use fusebox_routines::Workers;

/// Claims per thread: enough to even out uneven blocks, few enough to keep each claim long.
const CLAIMS_PER_THREAD: u64 = 8;
/// Turns a worker waits in a loop for the next job before it sleeps.
const SPINS: u32 = 2000;

#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    job: Mutex<Option<Job>>,
    wake: Condvar,
    /// Counts jobs, so that a worker takes each at most once.
    generation: AtomicU64,
    active: AtomicUsize,
    stop: AtomicBool,
}

/// A task and the blocks nobody has claimed yet. Points into the stack of [`Pool::run`], which does not
/// return before `active` is zero and the job is withdrawn.
#[derive(Clone, Copy, Debug)]
struct Job {
    task: *const (dyn Fn(Range<u64>) + Sync),
    next: *const AtomicU64,
    blocks: u64,
    grain: u64,
}

// SAFETY: the task is `Sync`, the counter atomic, and both outlive the job (see `Pool::run`).
unsafe impl Send for Job {}

impl Job {
    /// Claims and executes blocks until none is left.
    ///
    /// # Safety
    /// `task` and `next` must be alive.
    unsafe fn work(&self) {
        // SAFETY: alive by contract.
        let (task, next) = unsafe { (&*self.task, &*self.next) };
        loop {
            let begin = next.fetch_add(self.grain, Ordering::Relaxed);
            if begin >= self.blocks {
                return;
            }
            task(begin..(begin + self.grain).min(self.blocks));
        }
    }
}

impl Pool {
    /// A pool of `threads` threads, the caller of [`Pool::run`] among them. Fails if the system refuses a thread.
    pub fn new(threads: usize) -> std::io::Result<Pool> {
        let shared = Arc::new(Shared::default());
        let mut workers = Vec::new();
        for index in 1..threads {
            let shared = shared.clone();
            let name = format!("fusebox-{index}");
            workers.push(std::thread::Builder::new().name(name).spawn(move || shared.serve())?);
        }
        Ok(Pool { shared, workers })
    }

    /// Executes `task` on ranges that together cover `0..blocks`, and returns when all are done.
    pub fn run(&self, blocks: u64, task: &(dyn Fn(Range<u64>) + Sync)) {
        if blocks <= 1 || self.workers.is_empty() {
            return task(0..blocks);
        }
        let threads = self.workers.len() as u64 + 1;
        let grain = (blocks / (threads * CLAIMS_PER_THREAD)).max(1);
        let next = AtomicU64::new(0);
        // SAFETY: only the lifetime changes; the job is withdrawn and unused before this function ends.
        let task = unsafe {
            std::mem::transmute::<*const (dyn Fn(Range<u64>) + Sync), *const (dyn Fn(Range<u64>) + Sync + 'static)>(
                task,
            )
        };
        let job = Job { task, next: &next, blocks, grain };
        self.shared.publish(job);
        // SAFETY: both are alive in this frame.
        unsafe { job.work() };
        self.shared.withdraw();
    }
}

impl Workers for Pool {
    fn share(&self, parts: usize, task: &(dyn Fn(usize) + Sync)) {
        self.run(parts as u64, &|parts| parts.for_each(|part| task(part as usize)));
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Option<Job>> {
        self.job.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, job: Job) {
        let mut current = self.lock();
        *current = Some(job);
        self.generation.fetch_add(1, Ordering::Release);
        drop(current);
        self.wake.notify_all();
    }

    fn withdraw(&self) {
        *self.lock() = None;
        let mut spins = 0;
        while self.active.load(Ordering::Acquire) > 0 {
            spins += 1;
            if spins < SPINS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
    }

    fn serve(&self) {
        let mut seen = 0;
        while let Some(job) = self.take(&mut seen) {
            // SAFETY: `take` counted this worker as active under the lock, and `withdraw` waits for it.
            unsafe { job.work() };
            self.active.fetch_sub(1, Ordering::Release);
        }
    }

    /// Waits for a job not taken before; `None` when the pool ends.
    fn take(&self, seen: &mut u64) -> Option<Job> {
        for _ in 0..SPINS {
            if self.generation.load(Ordering::Acquire) != *seen || self.stop.load(Ordering::Relaxed) {
                break;
            }
            std::hint::spin_loop();
        }
        let mut current = self.lock();
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            let generation = self.generation.load(Ordering::Acquire);
            if let (true, Some(job)) = (generation != *seen, *current) {
                *seen = generation;
                self.active.fetch_add(1, Ordering::Acquire);
                return Some(job);
            }
            *seen = generation;
            current = self.wake.wait(current).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        {
            let _guard = self.shared.lock();
            self.shared.stop.store(true, Ordering::Relaxed);
        }
        self.shared.wake.notify_all();
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_executed_once() {
        for threads in [1, 2, 5] {
            let pool = Pool::new(threads).unwrap();
            for blocks in [0u64, 1, 2, 7, 1000] {
                let counts: Vec<AtomicU64> = (0..blocks).map(|_| AtomicU64::new(0)).collect();
                pool.run(blocks, &|range| {
                    for block in range {
                        counts[block as usize].fetch_add(1, Ordering::Relaxed);
                    }
                });
                assert!(counts.iter().all(|c| c.load(Ordering::Relaxed) == 1), "{threads} threads, {blocks} blocks");
            }
        }
    }

    #[test]
    fn many_short_jobs_in_a_row() {
        let pool = Pool::new(3).unwrap();
        let sum = AtomicU64::new(0);
        for _ in 0..2000 {
            pool.run(4, &|range| {
                sum.fetch_add(range.sum::<u64>(), Ordering::Relaxed);
            });
        }
        assert_eq!(sum.load(Ordering::Relaxed), 2000 * 6);
    }
}
