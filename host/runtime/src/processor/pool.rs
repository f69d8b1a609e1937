//! Implements a persistent thread pool, which distributes the blocks of a kernel among its threads.
//!
//! The workers of a pool execute the job of one caller at a time. A caller that arrives while the
//! workers are busy does not wait: it executes all its blocks on its own thread. So no caller
//! delays another caller, and several callers together keep all processors busy.
//!
//! The calling thread executes blocks too, so a pool of one thread has no workers and no cost. Each
//! thread owns the same fraction of the blocks in every kernel. So the cache of the thread's core
//! often holds data that the thread wrote for the previous kernel. A thread first claims the blocks
//! that it owns, and then the remaining blocks of other threads. If a worker wakes late, other
//! threads have already executed its blocks. So no thread waits for a worker that wakes late.
//!
//! Other programs may run on the same machine. So a waiting thread must not occupy its core for
//! long. A thread waits for a new job, or for the end of the last blocks of other threads. A
//! waiting thread first spins for a few times the duration of a wake-up, and then sleeps. The core
//! of a sleeping thread is free, for example for a worker that another program has displaced.
//!
//! To wake a worker takes as long as a short job. A caller that knows that its jobs are short says
//! so with [`with_short_jobs`]. If a short job comes after a pause, the caller executes the job
//! alone.

use std::any::Any;
use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fusebox_routines::Workers;

use super::affinity::{PinnedThread, Processors};
use super::subnormals;

/// Approximate number of claims per thread. With more claims, uneven blocks are balanced better.
/// With fewer claims, each claim has more blocks and costs less.
const CLAIMS_PER_THREAD: u64 = 8;
/// Time for which a waiting thread spins before it sleeps: a few times the duration of a wake-up.
const SPIN: Duration = Duration::from_micros(60);
/// Number of spin iterations between two readings of the clock.
const TURNS: u32 = 32;

thread_local! {
    /// Whether the jobs of this thread are short.
    static HAS_SHORT_JOBS: Cell<bool> = const { Cell::new(false) };
}

#[derive(Debug)]
pub struct Pool {
    shared: Arc<PoolState>,
    workers: Vec<JoinHandle<()>>,
    /// Lock that a caller holds while the workers execute its job.
    turn: Mutex<()>,
    /// The time at which the pool was started.
    start: Instant,
    /// The time of the last short job that found all workers asleep, in nanoseconds after `start`.
    last_short_job: AtomicU64,
}

/// Calls a function whose jobs on pools take at most about as long as the wake-up of a worker. If a
/// short job finds all workers of its pool asleep, and no other short job came shortly before, the
/// calling thread executes the job alone.
pub fn with_short_jobs<T>(run: impl FnOnce() -> T) -> T {
    struct Restored(bool);
    impl Drop for Restored {
        fn drop(&mut self) {
            HAS_SHORT_JOBS.set(self.0);
        }
    }
    let _restored = Restored(HAS_SHORT_JOBS.replace(true));
    run()
}

#[derive(Debug, Default)]
struct PoolState {
    state: Mutex<CurrentJob>,
    /// Signals that there is a new job, or that the pool ends.
    wake: Condvar,
    /// Signals that no worker still executes the job.
    done: Condvar,
    /// Number of jobs published so far. A worker compares this number with the last number that the
    /// worker has seen, so that the worker takes each job at most once.
    generation: AtomicU64,
    /// For each thread, the first unclaimed block of the blocks that the thread owns. The caller is
    /// thread 0.
    next: Box<[NextBlock]>,
    /// Number of workers that currently execute the job.
    active: AtomicUsize,
    /// Whether the caller waits for the signal that `active` is zero.
    is_awaited: AtomicBool,
    /// Payload of a panic that the job has caused in a worker.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    stop: AtomicBool,
}

/// A counter on a separate cache line. A thread changes the counter with every claim. Changes of
/// the counter would slow down accesses to other data on the same cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
struct NextBlock(AtomicU64);

#[derive(Debug, Default)]
struct CurrentJob {
    job: Option<Job>,
    /// Number of sleeping workers.
    sleeping: usize,
}

/// A task, and the blocks for which it is executed. `task` points to an object that the caller of
/// [`Pool::run`] keeps alive until `run` returns. `run` returns only after the job is withdrawn and
/// `active` is zero.
#[derive(Clone, Copy, Debug)]
struct Job {
    task: *const (dyn Fn(Range<u64>) + Sync),
    blocks: u64,
    /// Number of blocks that a thread owns. The last threads may own fewer blocks.
    part: u64,
    /// Number of blocks per claim.
    grain: u64,
}

// SAFETY: the task is `Sync`, and it outlives every use of the job (see `Pool::run`).
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

    /// Claims and executes blocks until all blocks of the job are claimed. Starts with the blocks
    /// that `thread` owns.
    ///
    /// # Safety
    /// The object that `task` points to must be alive.
    unsafe fn work(&self, next: &[NextBlock], thread: usize) {
        // SAFETY: the caller guarantees that the task is alive.
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
    /// Starts a pool of `threads` threads. The caller of [`Pool::run`] is one of these threads.
    /// Fails if the system refuses to start a thread.
    pub fn new(threads: usize) -> std::io::Result<Pool> {
        let next = (0..threads.max(1)).map(|_| NextBlock::default()).collect();
        let shared = Arc::new(PoolState { next, ..PoolState::default() });
        let mut workers = Vec::new();
        for index in 1..threads {
            let shared = shared.clone();
            let name = format!("fusebox-{index}");
            workers.push(std::thread::Builder::new().name(name).spawn(move || shared.serve(index))?);
        }
        let (start, last_short_job) = (Instant::now(), AtomicU64::new(0));
        Ok(Pool { shared, workers, turn: Mutex::default(), start, last_short_job })
    }

    /// Calls `task` with ranges that together cover `0..blocks`, on all threads of the pool.
    /// Returns after all calls have returned. If `task` panics on any thread, this function panics
    /// after all threads have left the task. If the workers are executing the job of another
    /// caller, this caller executes all blocks alone.
    pub fn run(&self, blocks: u64, task: &(dyn Fn(Range<u64>) + Sync)) {
        if blocks <= 1 || self.workers.is_empty() || self.comes_after_pause() {
            return task(0..blocks);
        }
        let turn = self.turn.try_lock();
        if matches!(turn, Err(TryLockError::WouldBlock)) {
            return task(0..blocks);
        }
        // SAFETY: only the lifetime changes. When this function ends, the job is withdrawn and no
        // worker uses the task.
        let task = unsafe {
            std::mem::transmute::<*const (dyn Fn(Range<u64>) + Sync), *const (dyn Fn(Range<u64>) + Sync + 'static)>(
                task,
            )
        };
        let job = Job::new(task, blocks, self.workers.len() as u64 + 1);
        self.shared.publish(job);
        // Workers may use the task until the job is withdrawn, so a panic must not leave this
        // function before that. SAFETY: the task is alive until this function returns.
        let own = catch_unwind(AssertUnwindSafe(|| unsafe { job.work(&self.shared.next, 0) }));
        self.shared.withdraw();
        let of_worker = self.shared.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(panic) = own.err().or(of_worker) {
            resume_unwind(panic);
        }
    }
}

impl Pool {
    /// Whether the calling thread has short jobs, all workers sleep, and no other short job came
    /// shortly before. If jobs come one after the other, it is worth waking the workers for all of
    /// them.
    fn comes_after_pause(&self) -> bool {
        if !HAS_SHORT_JOBS.get() || self.shared.lock().sleeping < self.workers.len() {
            return false;
        }
        let now = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let last = self.last_short_job.swap(now, Ordering::Relaxed);
        u128::from(now.saturating_sub(last)) > SPIN.as_nanos()
    }

    /// Returns the number of threads of the pool. The caller of [`Pool::run`] is one of these
    /// threads.
    pub fn threads(&self) -> u64 {
        self.workers.len() as u64 + 1
    }

    /// Wakes all workers. If a job starts soon after this call, the workers are still spinning, so
    /// they start to work at once.
    pub fn wake(&self) {
        self.on_each(&|_| {});
    }

    /// Pins every thread of the pool to a different processor. Returns `None` if there are fewer
    /// processors than threads. The workers remain pinned until the pool is dropped. The caller
    /// remains pinned until the result is dropped.
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

    /// Calls `function` once on every thread of the pool, with a different number on each.
    fn on_each(&self, function: &(dyn Fn(usize) + Sync)) {
        let threads = self.threads();
        let arrived = AtomicU64::new(0);
        // The job has one block per thread. No thread leaves its block before every thread has a
        // block. So every thread executes exactly one block.
        self.run(threads, &|blocks| {
            arrived.fetch_add(blocks.end - blocks.start, Ordering::Relaxed);
            while !spin_until(|| arrived.load(Ordering::Relaxed) >= threads) {
                std::thread::yield_now();
            }
            blocks.for_each(|number| function(number as usize));
        });
    }
}

/// Executes the parts of a routine's work on all threads of the pool. Subnormal numbers are flushed
/// to zero, as in kernels.
impl Workers for Pool {
    fn threads(&self) -> usize {
        Pool::threads(self) as usize
    }

    fn run_parts(&self, parts: usize, task: &(dyn Fn(usize) + Sync)) {
        self.run(parts as u64, &|parts| subnormals::flushed(|| parts.for_each(|part| task(part as usize))));
    }
}

/// The threads of a pool, which compute with subnormal numbers as IEEE defines it.
pub struct WithSubnormals<'a>(pub &'a Pool);

impl Workers for WithSubnormals<'_> {
    fn threads(&self) -> usize {
        Workers::threads(self.0)
    }

    fn run_parts(&self, parts: usize, task: &(dyn Fn(usize) + Sync)) {
        self.0.run(parts as u64, &|parts| parts.for_each(|part| task(part as usize)));
    }
}

/// Spins until `has_come` returns true or the time [`SPIN`] has passed. Returns whether `has_come`
/// has returned true.
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

    /// Publishes a job. Wakes sleeping workers: at most one worker for each claim of blocks, except
    /// the caller's first claim.
    fn publish(&self, job: Job) {
        // No worker executes a job at this time, and workers can take the new job only after this
        // function has released the lock.
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

    /// Withdraws the job, and waits until no worker executes it.
    fn withdraw(&self) {
        self.lock().job = None;
        let is_done = || self.active.load(Ordering::SeqCst) == 0;
        if spin_until(is_done) {
            return;
        }
        let mut state = self.lock();
        // The order of accesses ensures one of two things: this thread sees that `active` is zero,
        // or the last worker sees `is_awaited`.
        self.is_awaited.store(true, Ordering::SeqCst);
        while !is_done() {
            state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        self.is_awaited.store(false, Ordering::SeqCst);
    }

    fn serve(&self, thread: usize) {
        let mut seen = 0;
        while let Some(job) = self.take(&mut seen) {
            // SAFETY: `take` has counted this worker as active under the lock, and `withdraw` waits
            // for active workers.
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| unsafe { job.work(&self.next, thread) })) {
                *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
            }
            let was_last = self.active.fetch_sub(1, Ordering::SeqCst) == 1;
            if was_last && self.is_awaited.load(Ordering::SeqCst) {
                // The caller holds the lock until it sleeps. So after this thread has had the lock,
                // the caller cannot miss the signal.
                drop(self.lock());
                self.done.notify_one();
            }
        }
    }

    /// Waits for a job that this worker has not seen yet, and takes the job. Returns `None` when
    /// the pool ends.
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
            // The job has already been withdrawn. Spin again before sleeping, because the next job
            // may come soon. The next job should not wait for a wake-up.
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

    /// Checks that a short job after a pause wakes no workers, and that a short job just after
    /// another short job wakes workers.
    #[test]
    fn short_jobs_wake_workers_only_if_they_come_one_after_the_other() {
        let pool = Pool::new(2).unwrap();
        let sleep = || {
            while pool.shared.lock().sleeping == 0 {
                std::thread::sleep(SPIN);
            }
            std::thread::sleep(2 * SPIN);
        };
        let generation = || pool.shared.generation.load(Ordering::Relaxed);
        let done = AtomicU64::new(0);
        let run = || {
            pool.run(8, &|range| {
                done.fetch_add(range.end - range.start, Ordering::Relaxed);
            });
        };
        sleep();
        with_short_jobs(run);
        assert_eq!(generation(), 0, "the caller executes the first job alone");
        // A job just before: the clock is set, because a test may be displaced for any time.
        pool.last_short_job.store(u64::MAX, Ordering::Relaxed);
        with_short_jobs(run);
        assert_eq!(generation(), 1);
        sleep();
        run();
        assert_eq!(generation(), 2, "other jobs always wake workers");
        assert_eq!(done.load(Ordering::Relaxed), 24);
    }

    /// Checks that the caller sleeps while a worker executes a long last block, and that the worker
    /// wakes the caller afterwards.
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
                // Take so long that a sleeping worker wakes up and claims the other block.
                std::thread::sleep(3 * SPIN);
                done.fetch_add(range.end - range.start, Ordering::Relaxed);
            });
        }
        assert_eq!(done.load(Ordering::Relaxed), 40);
    }

    /// Checks that several callers can use one pool concurrently, as two programs may do.
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

    /// Checks that no worker sleeps between the two barriers. At any other time, workers may sleep.
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

    /// Checks that every thread runs on a different processor, and that the caller may run on all
    /// processors again after `pinned` is dropped.
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

    /// Checks that a panic in any block of a job reaches the caller, and that the pool is usable
    /// afterwards.
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
