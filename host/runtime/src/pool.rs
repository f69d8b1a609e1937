//! A persistent thread pool that distributes the blocks of a kernel.
//!
//! The caller takes part, so a pool of one thread has no workers and costs nothing. Each thread
//! owns a range of the blocks, the same range for every kernel, so that its core's cache still
//! holds what it wrote for the previous kernel. A thread first claims its own blocks and then the
//! remaining blocks of other threads. So a worker that wakes late finds no blocks left, and no
//! thread waits for it.
//!
//! Other programs run on the machine too. A thread that waits, for a job or for the last blocks of
//! other threads, spins for about as long as waking up takes, and then sleeps. The core of a
//! sleeping thread is free for a worker that another program has displaced from its core.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fusebox_routines::Workers;

use crate::affinity::{PinnedThread, Processors};
use crate::subnormals;

/// Claims per thread: enough to balance uneven blocks, few enough to keep each claim long.
const CLAIMS_PER_THREAD: u64 = 8;
/// How long a thread spins before it sleeps: a few times as long as waking up takes.
const SPIN: Duration = Duration::from_micros(60);
/// Spin iterations between two readings of the clock.
const TURNS: u32 = 32;

#[derive(Debug)]
pub struct Pool {
    shared: Arc<PoolState>,
    workers: Vec<JoinHandle<()>>,
    /// Held while the workers have a job.
    turn: Mutex<()>,
}

#[derive(Debug, Default)]
struct PoolState {
    state: Mutex<CurrentJob>,
    /// Signals a new job or the end of the pool.
    wake: Condvar,
    /// Signals that no worker executes the job any more.
    done: Condvar,
    /// Counts jobs, so that a worker takes each at most once.
    generation: AtomicU64,
    /// Per thread, the first unclaimed block of its range. The caller is thread 0.
    next: Box<[NextBlock]>,
    /// Number of workers that execute the job.
    active: AtomicUsize,
    /// Whether the caller sleeps until `active` is zero.
    is_awaited: AtomicBool,
    /// Payload of a panic in a worker.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    stop: AtomicBool,
}

/// A counter on a separate cache line, because its thread changes it with every claim.
#[derive(Debug, Default)]
#[repr(align(64))]
struct NextBlock(AtomicU64);

#[derive(Debug, Default)]
struct CurrentJob {
    job: Option<Job>,
    /// Number of sleeping workers.
    sleeping: usize,
}

/// A task and its blocks. `task` points into the stack frame of [`Pool::run`], which returns only
/// after the job is withdrawn and `active` is zero.
#[derive(Clone, Copy, Debug)]
struct Job {
    task: *const (dyn Fn(Range<u64>) + Sync),
    blocks: u64,
    /// Blocks that one thread owns; the last threads may own fewer.
    part: u64,
    /// Blocks per claim.
    grain: u64,
}

// SAFETY: the task is `Sync` and outlives the job (see `Pool::run`).
unsafe impl Send for Job {}

impl Job {
    fn new(task: *const (dyn Fn(Range<u64>) + Sync), blocks: u64, threads: u64) -> Job {
        Job { task, blocks, part: blocks.div_ceil(threads), grain: (blocks / (threads * CLAIMS_PER_THREAD)).max(1) }
    }

    /// Returns the blocks that a thread owns.
    fn part_of(&self, thread: usize) -> Range<u64> {
        let begin = (thread as u64 * self.part).min(self.blocks);
        begin..(begin + self.part).min(self.blocks)
    }

    /// Claims and executes blocks until none is left, starting with the blocks that `thread` owns.
    ///
    /// # Safety
    /// `task` must be alive.
    unsafe fn work(&self, next: &[NextBlock], thread: usize) {
        // SAFETY: alive by contract.
        let task = unsafe { &*self.task };
        for offset in 0..next.len() {
            let owner = (thread + offset) % next.len();
            let end = self.part_of(owner).end;
            loop {
                let begin = next[owner].0.fetch_add(self.grain, Ordering::Relaxed);
                if begin >= end {
                    break;
                }
                task(begin..(begin + self.grain).min(end));
            }
        }
    }
}

impl Pool {
    /// Starts a pool of `threads` threads, including the caller of [`Pool::run`]. Fails if the
    /// system refuses a thread.
    pub fn new(threads: usize) -> std::io::Result<Pool> {
        let next = (0..threads.max(1)).map(|_| NextBlock::default()).collect();
        let shared = Arc::new(PoolState { next, ..PoolState::default() });
        let mut workers = Vec::new();
        for index in 1..threads {
            let shared = shared.clone();
            let name = format!("fusebox-{index}");
            workers.push(std::thread::Builder::new().name(name).spawn(move || shared.serve(index))?);
        }
        Ok(Pool { shared, workers, turn: Mutex::default() })
    }

    /// Executes `task` on ranges that together cover `0..blocks`, and returns when all are done. If
    /// `task` panics on any thread, this function panics after all threads have left the task.
    /// While the workers execute another caller's job, the caller executes all blocks alone.
    pub fn run(&self, blocks: u64, task: &(dyn Fn(Range<u64>) + Sync)) {
        if blocks <= 1 || self.workers.is_empty() {
            return task(0..blocks);
        }
        let turn = self.turn.try_lock();
        if matches!(turn, Err(TryLockError::WouldBlock)) {
            return task(0..blocks);
        }
        // SAFETY: only the lifetime changes; the job is withdrawn and unused before this function
        // ends.
        let task = unsafe {
            std::mem::transmute::<*const (dyn Fn(Range<u64>) + Sync), *const (dyn Fn(Range<u64>) + Sync + 'static)>(
                task,
            )
        };
        let job = Job::new(task, blocks, self.workers.len() as u64 + 1);
        self.shared.publish(job);
        // Workers may use this frame until the job is withdrawn, so no panic may unwind it before.
        // SAFETY: the task is alive in this frame.
        let own = catch_unwind(AssertUnwindSafe(|| unsafe { job.work(&self.shared.next, 0) }));
        self.shared.withdraw();
        let of_worker = self.shared.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(panic) = own.err().or(of_worker) {
            resume_unwind(panic);
        }
    }
}

impl Pool {
    /// Returns the number of threads, including the caller of [`Pool::run`].
    pub fn threads(&self) -> u64 {
        self.workers.len() as u64 + 1
    }

    /// Wakes all workers. A job that starts before they stop spinning finds them awake.
    pub fn wake(&self) {
        self.on_each(&|_| {});
    }

    /// Pins every thread to a different processor. Returns `None` if there are fewer processors
    /// than threads. Workers remain pinned while they live, the caller while the result lives.
    pub fn pin(&self) -> Option<PinnedThread> {
        let processors = Processors::for_threads(self.workers.len() + 1)?;
        let (caller, of_caller) = (std::thread::current().id(), Mutex::new(None));
        self.on_each(&|number| {
            let pinned = processors.pin(number);
            if std::thread::current().id() == caller {
                *of_caller.lock().unwrap_or_else(PoisonError::into_inner) = pinned
            } else {
                std::mem::forget(pinned)
            }
        });
        of_caller.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the function once on every thread, with different numbers.
    fn on_each(&self, function: &(dyn Fn(usize) + Sync)) {
        let threads = self.threads();
        let arrived = AtomicU64::new(0);
        // There is one block per thread. No thread leaves its block before all threads have one.
        self.run(threads, &|blocks| {
            arrived.fetch_add(blocks.end - blocks.start, Ordering::Relaxed);
            while !spin_until(|| arrived.load(Ordering::Relaxed) >= threads) {
                std::thread::yield_now();
            }
            blocks.for_each(|number| function(number as usize));
        });
    }
}

/// Runs parts of routines, which flush subnormal numbers as kernels do.
impl Workers for Pool {
    fn run_parts(&self, parts: usize, task: &(dyn Fn(usize) + Sync)) {
        self.run(parts as u64, &|parts| subnormals::flushed(|| parts.for_each(|part| task(part as usize))));
    }
}

/// Spins until `has_come` holds or [`SPIN`] has passed. Returns whether it holds.
fn spin_until(has_come: impl Fn() -> bool) -> bool {
    let mut begin = None;
    loop {
        for _ in 0..TURNS {
            if has_come() {
                return true;
            }
            std::hint::spin_loop();
        }
        if begin.get_or_insert_with(Instant::now).elapsed() >= SPIN {
            return false;
        }
    }
}

impl PoolState {
    fn lock(&self) -> MutexGuard<'_, CurrentJob> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes a job. Wakes as many workers as may find blocks in addition to the caller.
    fn publish(&self, job: Job) {
        // No worker executes a job now, and a worker takes this job only under the lock.
        for (thread, next) in self.next.iter().enumerate() {
            next.0.store(job.part_of(thread).start, Ordering::Relaxed);
        }
        let mut state = self.lock();
        state.job = Some(job);
        self.generation.fetch_add(1, Ordering::Release);
        let useful = job.blocks.div_ceil(job.grain) - 1;
        let asleep = state.sleeping.min(usize::try_from(useful).unwrap_or(usize::MAX));
        drop(state);
        (0..asleep).for_each(|_| self.wake.notify_one());
    }

    /// Withdraws the job and waits for the workers that execute it.
    fn withdraw(&self) {
        self.lock().job = None;
        let is_done = || self.active.load(Ordering::SeqCst) == 0;
        if spin_until(is_done) {
            return;
        }
        let mut state = self.lock();
        // Either this thread sees that the last worker has left, or the last worker sees
        // `is_awaited`.
        self.is_awaited.store(true, Ordering::SeqCst);
        while !is_done() {
            state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        self.is_awaited.store(false, Ordering::SeqCst);
    }

    fn serve(&self, thread: usize) {
        let mut seen = 0;
        while let Some(job) = self.take(&mut seen) {
            // SAFETY: `take` counted this worker as active under the lock, and `withdraw` waits for
            // it.
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| unsafe { job.work(&self.next, thread) })) {
                *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
            }
            let was_last = self.active.fetch_sub(1, Ordering::SeqCst) == 1;
            if was_last && self.is_awaited.load(Ordering::SeqCst) {
                // The caller holds the lock until it sleeps, so taking the lock ensures that it
                // receives the signal.
                drop(self.lock());
                self.done.notify_one();
            }
        }
    }

    /// Waits for a job that this worker has not taken yet; `None` when the pool ends.
    fn take(&self, seen: &mut u64) -> Option<Job> {
        let is_stopped = || self.stop.load(Ordering::Relaxed);
        loop {
            spin_until(|| self.generation.load(Ordering::Acquire) != *seen || is_stopped());
            let mut state = self.lock();
            if self.generation.load(Ordering::Acquire) == *seen && !is_stopped() {
                state.sleeping += 1;
                state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.sleeping -= 1;
            }
            if is_stopped() {
                return None;
            }
            let generation = self.generation.load(Ordering::Acquire);
            let is_new = std::mem::replace(seen, generation) != generation;
            if let (true, Some(job)) = (is_new, state.job) {
                self.active.fetch_add(1, Ordering::SeqCst);
                return Some(job);
            }
            // This worker is too late for the job. It spins again, because the next job may come
            // soon and should not wait for a wake-up.
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

    /// The caller sleeps during a long last block and is woken.
    #[test]
    fn the_caller_waits_for_blocks_of_others_without_work() {
        let pool = Pool::new(2).unwrap();
        let done = AtomicU64::new(0);
        for _ in 0..20 {
            let caller = std::thread::current().id();
            pool.run(2, &|range| {
                if std::thread::current().id() != caller {
                    std::thread::sleep(20 * SPIN);
                }
                // Long enough for a sleeping worker to come.
                std::thread::sleep(3 * SPIN);
                done.fetch_add(range.end - range.start, Ordering::Relaxed);
            });
        }
        assert_eq!(done.load(Ordering::Relaxed), 40);
    }

    /// Two programs may share one pool and run concurrently.
    #[test]
    fn callers_that_come_together_get_all_their_blocks_done() {
        let pool = Pool::new(2).unwrap();
        let count = || {
            let done = AtomicU64::new(0);
            for _ in 0..500 {
                pool.run(16, &|range| {
                    done.fetch_add(range.end - range.start, Ordering::Relaxed);
                });
            }
            done.into_inner()
        };
        let counts =
            std::thread::scope(|scope| [(); 3].map(|()| scope.spawn(count)).map(|caller| caller.join().unwrap()));
        assert_eq!(counts, [500 * 16; 3]);
    }

    /// Workers may sleep again at any time, except between the barriers.
    #[test]
    fn every_thread_is_woken_before_any_goes_on() {
        let pool = Pool::new(3).unwrap();
        let all = std::sync::Barrier::new(3);
        let seen = Mutex::new(Vec::new());
        for _ in 0..50 {
            pool.on_each(&|number| {
                all.wait();
                seen.lock().unwrap().push((number, std::thread::current().id(), pool.shared.lock().sleeping));
                all.wait();
            });
            let mut seen = std::mem::take(&mut *seen.lock().unwrap());
            seen.sort_by_key(|(number, ..)| *number);
            assert_eq!(seen.iter().map(|(number, ..)| *number).collect::<Vec<_>>(), [0, 1, 2]);
            let threads: std::collections::HashSet<_> = seen.iter().map(|(_, thread, _)| thread).collect();
            assert_eq!(threads.len(), 3);
            assert!(seen.iter().all(|(.., sleeping)| *sleeping == 0));
        }
    }

    /// In the end, the caller may again run on all processors.
    #[test]
    fn pinned_threads_have_processors_of_their_own() {
        let available = std::thread::available_parallelism().unwrap().get();
        let pool = Pool::new(available).unwrap();
        let before = rustix::thread::sched_getaffinity(None).unwrap();
        let pinned = pool.pin().unwrap();
        let processors = Mutex::new(Vec::new());
        pool.on_each(&|_| processors.lock().unwrap().push(rustix::thread::sched_getcpu()));
        let mut processors = processors.into_inner().unwrap();
        processors.sort_unstable();
        processors.dedup();
        assert_eq!(processors.len(), available);
        drop(pinned);
        assert_eq!(rustix::thread::sched_getaffinity(None).unwrap(), before);
        assert!(Pool::new(available + 1).unwrap().pin().is_none());
    }

    /// A panic in any part of a job reaches the caller after all other parts are done. The pool
    /// remains usable.
    #[test]
    fn panics_come_to_the_caller() {
        let pool = Pool::new(2).unwrap();
        let caller = std::thread::current().id();
        for in_caller in [true, false] {
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                pool.run(2, &|_| {
                    if (std::thread::current().id() == caller) == in_caller {
                        panic!("a part of a job");
                    }
                    std::thread::sleep(50 * SPIN);
                });
            }));
            assert!(panicked.is_err(), "{in_caller}");
        }
        let sum = AtomicU64::new(0);
        pool.run(4, &|range| {
            sum.fetch_add(range.sum::<u64>(), Ordering::Relaxed);
        });
        assert_eq!(sum.load(Ordering::Relaxed), 6);
    }
}
