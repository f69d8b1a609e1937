//! Runs the threads of a block in coroutines. The threads synchronise at barriers, shuffles and
//! matrix products.
//!
//! A thread runs until it waits or ends. A waiting thread keeps its coroutine. When a thread ends,
//! its coroutine runs the next thread of the warp. So a kernel whose threads never wait needs only
//! one coroutine.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;

use fusebox_core::ir::MatrixProduct;

use super::checker::Checker;
use super::fault::{FaultKind, OtherThread};
use super::fibers::{Fibers, Yielder};
use super::order::ThreadOrder;
use super::product::{Words, multiplied};
use crate::code::{LoadedKernel, SimtFunction};
use crate::values::HostMemory;

const WARP: usize = 32;
/// Cost of a memory access, as a number of iterations of an empty loop.
pub const ACCESS_COST: u64 = 8;
/// Maximum work of a thread in one block, as a number of iterations of an empty loop. A thread
/// needs seconds to reach this limit. Threads of sensible kernels do much less work.
const MOST_TURNS: u64 = 1 << 29;

/// The state of a running grid. Kernels access this state only through the functions of the
/// simulator that they call.
pub struct Simulator {
    /// The checker of memory accesses.
    pub checker: RefCell<Checker>,
    function: SimtFunction,
    arguments: *const *mut c_void,
    threads: Vec<SimulatedThread>,
    /// For each warp, the numbers of its threads. Warps and threads are in the order in which they
    /// run.
    warps: Vec<Vec<usize>>,
    /// Index of the running warp in `warps` (`warp`), and number of threads of this warp that have
    /// started (`started`).
    warp: Cell<usize>,
    started: Cell<usize>,
    running: Cell<usize>,
    /// Whether a fault has stopped the grid.
    stopped: Cell<bool>,
    tiles: RefCell<Vec<SharedTile>>,
}

/// A tile of shared memory. All blocks use the same host memory for the tile, one block after
/// another.
struct SharedTile {
    number: i64,
    buffer: HostMemory,
}

struct SimulatedThread {
    state: Cell<ThreadState>,
    /// The word that the thread exchanges in a shuffle. Before the shuffle, this is the word that
    /// the thread sends. After the shuffle, this is the word that the thread has received.
    word: Cell<u64>,
    /// Before a matrix product, this field holds the words and sums that the thread passes to the
    /// product. After the product, this field holds the thread's new sums.
    words: Cell<Words>,
    /// Work that the thread has done in the current block, as a number of iterations of an empty
    /// loop.
    turns: Cell<u64>,
    fiber: Cell<usize>,
    yielder: Cell<*const Yielder>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ThreadState {
    Unstarted,
    Ready,
    Barrier { site: i32 },
    Shuffle { site: i32, distance: i32 },
    Multiply { site: i32, product: MatrixProduct },
    Finished,
}

/// The reason why a grid stopped before its end.
pub enum GridStop {
    /// A fault that the checker has recorded.
    Fault,
    /// Memory for the stack of another coroutine is short.
    Stack(std::io::Error),
}

impl Simulator {
    pub fn new(kernel: &LoadedKernel, addresses: &[*mut u8], order: ThreadOrder) -> Simulator {
        let count = kernel.image.threads_per_block as usize;
        let thread = |_| SimulatedThread {
            state: Cell::new(ThreadState::Unstarted),
            word: Cell::new(0),
            words: Cell::new(Words::default()),
            turns: Cell::new(0),
            fiber: Cell::new(0),
            yielder: Cell::new(std::ptr::null()),
        };
        let sequence = |count: usize| (0..count as u64).map(move |turn| order.at(turn, count as u64) as usize);
        let lanes = |warp: usize| {
            let first = warp * WARP;
            sequence(WARP.min(count - first)).map(|lane| first + lane).collect()
        };
        Simulator {
            checker: RefCell::new(Checker::new(&kernel.image.arguments, addresses)),
            function: kernel.simt_function(),
            arguments: addresses.as_ptr().cast(),
            threads: (0..count).map(thread).collect(),
            warps: sequence(count.div_ceil(WARP)).map(lanes).collect(),
            warp: Cell::new(0),
            started: Cell::new(0),
            running: Cell::new(0),
            stopped: Cell::new(false),
            tiles: RefCell::new(Vec::new()),
        }
    }

    /// Creates an empty set of coroutines that run the threads of this simulator. The simulator
    /// must outlive the set.
    pub fn fibers(&self) -> Fibers {
        Fibers::new(std::ptr::from_ref(self).cast(), |context, yielder| {
            // SAFETY: `context` is the simulator on which `fibers` was called. The simulator
            // outlives its coroutines.
            let simulator = unsafe { &*context.cast::<Simulator>() };
            loop {
                while let Some(thread) = simulator.next_of_warp() {
                    simulator.run(thread);
                    simulator.threads[thread].yielder.set(yielder);
                    let block = i64::from(simulator.checker.borrow().now.block);
                    // SAFETY: the kernel was compiled for arguments of these types and sizes.
                    unsafe { (simulator.function)(simulator.arguments, block, thread as i64) };
                    simulator.threads[thread].state.set(ThreadState::Finished);
                }
                yielder.suspend(());
            }
        })
    }

    /// Returns the next thread of the running warp that has not started, and counts it as started.
    /// Returns `None` if all threads of the warp have started.
    fn next_of_warp(&self) -> Option<usize> {
        let warp = &self.warps[self.warp.get()];
        let turn = self.started.get();
        let thread = *warp.get(turn)?;
        self.started.set(turn + 1);
        Some(thread)
    }

    fn run(&self, thread: usize) {
        self.running.set(thread);
        self.checker.borrow_mut().now.thread = thread as u16;
    }

    /// Runs all threads of a block to their end.
    pub fn run_block(&self, block: u32, fibers: &mut Fibers) -> Result<(), GridStop> {
        {
            let now = &mut self.checker.borrow_mut().now;
            (now.block, now.epoch) = (block, 0);
        }
        for thread in &self.threads {
            thread.state.set(ThreadState::Unstarted);
            thread.turns.set(0);
        }
        for warp in 0..self.warps.len() {
            self.warp.set(warp);
            self.started.set(0);
            while self.started.get() < self.warps[warp].len() {
                let fiber = fibers.take_idle().map_err(GridStop::Stack)?;
                self.resume(fiber, fibers)?;
            }
            self.run_warp(fibers)?;
        }
        while self.pass_barrier()? {
            for warp in 0..self.warps.len() {
                self.warp.set(warp);
                // Mark all threads of the warp as started, so that no thread starts twice. Before,
                // `started` may hold the number of threads of a shorter warp.
                self.started.set(self.warps[warp].len());
                self.run_warp(fibers)?;
            }
        }
        Ok(())
    }

    /// Runs the threads of the running warp until each of them waits at a barrier or has ended.
    fn run_warp(&self, fibers: &mut Fibers) -> Result<(), GridStop> {
        loop {
            for &thread in &self.warps[self.warp.get()] {
                if self.threads[thread].state.get() == ThreadState::Ready {
                    self.run(thread);
                    self.resume(self.threads[thread].fiber.get(), fibers)?;
                }
            }
            if !self.exchange()? {
                return Ok(());
            }
        }
    }

    fn resume(&self, fiber: usize, fibers: &mut Fibers) -> Result<(), GridStop> {
        fibers.resume(fiber);
        if self.stopped.get() {
            return Err(GridStop::Fault);
        }
        let thread = &self.threads[self.running.get()];
        match thread.state.get() {
            ThreadState::Finished => fibers.put_idle(fiber),
            _ => thread.fiber.set(fiber),
        }
        Ok(())
    }

    /// Lets all threads of the block pass the barrier at which they wait. Returns `false` if no
    /// thread waits at a barrier. Fails if only some threads wait at the same barrier.
    fn pass_barrier(&self) -> Result<bool, GridStop> {
        let waiting = |thread: &SimulatedThread| matches!(thread.state.get(), ThreadState::Barrier { .. });
        let Some(first) = self.threads.iter().position(waiting) else { return Ok(false) };
        let state = self.threads[first].state.get();
        if let Some(other) = self.threads.iter().position(|thread| thread.state.get() != state) {
            return Err(self.diverged(first, other));
        }
        self.threads.iter().for_each(|thread| thread.state.set(ThreadState::Ready));
        self.checker.borrow_mut().now.epoch += 1;
        Ok(true)
    }

    /// Executes the shuffle or the matrix product at which the threads of the running warp wait.
    /// Each thread then receives its word or its sums. Returns `false` if no thread waits at a
    /// shuffle or a product. Fails if only some threads wait at the same operation.
    fn exchange(&self) -> Result<bool, GridStop> {
        let warp = &self.warps[self.warp.get()];
        let exchanges = |thread: &&usize| {
            matches!(self.threads[**thread].state.get(), ThreadState::Shuffle { .. } | ThreadState::Multiply { .. })
        };
        let Some(&first) = warp.iter().find(exchanges) else { return Ok(false) };
        let state = self.threads[first].state.get();
        if let Some(&other) = warp.iter().find(|&&thread| self.threads[thread].state.get() != state) {
            return Err(self.diverged(first, other));
        }
        let lane_0 = first / WARP * WARP;
        let distance = match state {
            ThreadState::Shuffle { distance, .. } => distance,
            ThreadState::Multiply { product, .. } => {
                let lanes = &self.threads[lane_0..lane_0 + warp.len()];
                let words: Vec<Words> = lanes.iter().map(|thread| thread.words.get()).collect();
                lanes.iter().zip(multiplied(product, &words)).for_each(|(thread, sums)| thread.words.set(sums));
                warp.iter().for_each(|&thread| self.threads[thread].state.set(ThreadState::Ready));
                return Ok(true);
            }
            _ => return Ok(false),
        };
        let far = usize::try_from(distance).unwrap_or(WARP);
        // Visit the lanes in ascending order, so that each word is read before it is replaced. A
        // lane keeps its word if no lane has a number that is larger by `far`.
        for lane in 0..warp.len().saturating_sub(far) {
            let word = self.threads[lane_0 + lane + far].word.get();
            self.threads[lane_0 + lane].word.set(word);
        }
        warp.iter().for_each(|&thread| self.threads[thread].state.set(ThreadState::Ready));
        Ok(true)
    }

    /// Records the fault that the thread `waiting` waits in vain, because the thread `other` is not
    /// at the same position in the code.
    fn diverged(&self, waiting: usize, other: usize) -> GridStop {
        let thread = other as u32;
        let elsewhere = match self.threads[other].state.get() {
            ThreadState::Barrier { site } => OtherThread::Waiting { thread, what: "barrier", site },
            ThreadState::Shuffle { site, .. } => OtherThread::Waiting { thread, what: "shuffle", site },
            ThreadState::Multiply { site, .. } => OtherThread::Waiting { thread, what: "product of matrices", site },
            _ => OtherThread::Finished(thread),
        };
        let (kind, site) = match self.threads[waiting].state.get() {
            ThreadState::Shuffle { site, distance, .. } => (FaultKind::Shuffle { distance, other: elsewhere }, site),
            ThreadState::Multiply { site, product } => (FaultKind::Product { product, other: elsewhere }, site),
            ThreadState::Barrier { site } => (FaultKind::Barrier(elsewhere), site),
            _ => (FaultKind::Barrier(elsewhere), -1),
        };
        self.fault(waiting, kind, site);
        GridStop::Fault
    }

    fn fault(&self, thread: usize, kind: FaultKind, site: i32) {
        let mut checker = self.checker.borrow_mut();
        let running = checker.now.thread;
        checker.now.thread = thread as u16;
        checker.fault(kind, site);
        checker.now.thread = running;
    }

    /// Suspends the running thread until the simulator resumes it. Must be called in the coroutine
    /// of the thread.
    fn wait(&self, state: ThreadState) {
        let thread = &self.threads[self.running.get()];
        thread.state.set(state);
        // SAFETY: the coroutine that runs this thread has set the pointer. The pointer is valid
        // while the coroutine is alive.
        unsafe { (*thread.yielder.get()).suspend(()) };
    }

    /// Adds `turns` to the work of the running thread. The unit is an iteration of an empty loop.
    pub fn count(&self, turns: u64) {
        let thread = &self.threads[self.running.get()];
        thread.turns.set(thread.turns.get() + turns);
    }

    /// Counts an iteration of a loop, and stops the grid if the running thread exceeds
    /// `MOST_TURNS`. Kernels call this function at the start of every iteration.
    pub fn turn(&self, site: i32) {
        self.count(1);
        if self.threads[self.running.get()].turns.get() > MOST_TURNS {
            self.checker.borrow_mut().fault(FaultKind::Endless, site);
            self.stop();
        }
    }

    /// Waits until all threads of the block have reached the barrier. Kernels call this function.
    pub fn barrier(&self, site: i32) {
        self.wait(ThreadState::Barrier { site });
    }

    /// Sends `word` to the lane whose number is smaller by `distance`. Returns the word of the lane
    /// whose number is larger by `distance`. Kernels call this function.
    pub fn shuffle_down(&self, word: u64, distance: i32, site: i32) -> u64 {
        let thread = &self.threads[self.running.get()];
        thread.word.set(word);
        self.wait(ThreadState::Shuffle { site, distance });
        thread.word.get()
    }

    /// Passes the words and sums of the running thread to a matrix product, and waits for its new
    /// sums. Kernels call this function.
    pub fn multiply(&self, product: MatrixProduct, words: Words, site: i32) {
        self.threads[self.running.get()].words.set(words);
        self.wait(ThreadState::Multiply { site, product });
    }

    /// Returns the number of the running thread in its block.
    pub fn thread(&self) -> usize {
        self.running.get()
    }

    /// Returns sum `number` of the running thread's last matrix product. Kernels call this
    /// function.
    pub fn sum(&self, number: i32) -> u64 {
        let sums = self.threads[self.running.get()].words.get();
        usize::try_from(number).ok().and_then(|number| sums.get(number).copied()).unwrap_or(0)
    }

    /// Stops the grid after a fault. Kernels call this function, which never returns to the kernel.
    pub fn stop(&self) {
        self.stopped.set(true);
        self.wait(ThreadState::Ready);
    }

    /// Returns the address of a tile. Allocates the tile at the first call with the number of the
    /// tile. Returns `None` if memory is short. Kernels call this function.
    pub fn tile(&self, number: i64, bytes: u64, element_bytes: u32) -> Option<*mut u8> {
        let mut tiles = self.tiles.borrow_mut();
        if let Some(tile) = tiles.iter().find(|tile| tile.number == number) {
            return Some(tile.buffer.address());
        }
        let Some(buffer) = usize::try_from(bytes).ok().and_then(HostMemory::zeroed) else {
            self.checker.borrow_mut().fault(FaultKind::NoMemory { bytes }, -1);
            return None;
        };
        let address = buffer.address();
        tiles.push(SharedTile { number, buffer });
        let mut checker = self.checker.borrow_mut();
        checker.add_tile(tiles.len() - 1, address as u64, bytes, element_bytes);
        Some(address)
    }
}
