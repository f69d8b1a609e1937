//! Cooperation of the threads of a block: barriers, exchanges of values, and tiles that all threads
//! share.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use fusebox_core::ir::Operation;

use super::buffer::Buffer;
use super::value::Value;
use super::{KernelFault, Launch};

/// A block during its execution.
pub(super) struct Block {
    pub(super) number: u64,
    pub(super) launch: Launch,
    end: Instant,
    all: Meeting,
    warps: Vec<Meeting>,
    /// The block's tiles, indexed by the host address of the operation that allocates the tile.
    tiles: Mutex<HashMap<usize, Buffer>>,
    /// Lock that a thread holds while it updates an element.
    updates: Mutex<()>,
}

/// The values that each thread passes to an exchange, indexed by the thread's number among the
/// threads of the [`Meeting`].
type Brought = Arc<Vec<Vec<Value>>>;

/// A synchronisation point of several threads.
struct Meeting {
    attendance: Mutex<Attendance>,
    changed: Condvar,
}

#[derive(Default)]
struct Attendance {
    /// Threads that have not finished.
    running: usize,
    waiting: usize,
    /// Number of times that all running threads have arrived.
    turn: u64,
    bringing: Vec<Vec<Value>>,
    brought: Brought,
}

impl Block {
    pub(super) fn new(number: u64, launch: &Launch, end: Instant) -> Block {
        let warp = launch.warp.max(1);
        let of_warp = |first: u32| Meeting::of(warp.min(launch.threads - first));
        let warps = (0..launch.threads).step_by(warp as usize).map(of_warp).collect();
        let (tiles, updates) = (Mutex::default(), Mutex::default());
        Block { number, launch: *launch, end, all: Meeting::of(launch.threads), warps, tiles, updates }
    }

    pub(super) fn threads(&self) -> u32 {
        self.launch.threads
    }

    /// Fails if the time limit has passed.
    pub(super) fn on_time(&self) -> Result<(), KernelFault> {
        if Instant::now() < self.end { Ok(()) } else { Err(KernelFault::TooLong(self.launch.limit)) }
    }

    /// Returns the tile that an operation allocates. Returns the same tile to all threads of the
    /// block.
    pub(super) fn tile(&self, operation: &Operation, bytes: usize) -> Buffer {
        let mut tiles = locked(&self.tiles);
        tiles.entry(std::ptr::from_ref(operation).addr()).or_insert_with(|| Buffer::unwritten(bytes)).clone()
    }

    /// Returns a lock. While the caller holds the returned lock, other threads cannot update
    /// elements.
    pub(super) fn updating(&self) -> MutexGuard<'_, ()> {
        locked(&self.updates)
    }

    /// Waits for all threads of the block.
    pub(super) fn meet(&self, thread: u32) -> Result<(), KernelFault> {
        self.all.exchange(thread as usize, Vec::new(), self).map(drop)
    }

    /// Exchanges values among the lanes of this thread's warp. Returns the values of all lanes, and
    /// the number of the thread's lane.
    pub(super) fn exchange(&self, thread: u32, values: Vec<Value>) -> Result<(Brought, usize), KernelFault> {
        let warp = self.launch.warp.max(1);
        let lane = (thread % warp) as usize;
        Ok((self.warps[(thread / warp) as usize].exchange(lane, values, self)?, lane))
    }

    /// Marks the thread as finished. Other threads no longer wait for a finished thread.
    pub(super) fn leave(&self, thread: u32) {
        self.all.leave();
        self.warps[(thread / self.launch.warp.max(1)) as usize].leave();
    }
}

impl Meeting {
    fn of(threads: u32) -> Meeting {
        let running = threads as usize;
        let attendance = Attendance { running, bringing: vec![Vec::new(); running], ..Attendance::default() };
        Meeting { attendance: Mutex::new(attendance), changed: Condvar::new() }
    }

    fn exchange(&self, place: usize, values: Vec<Value>, block: &Block) -> Result<Brought, KernelFault> {
        let mut attendance = locked(&self.attendance);
        attendance.bringing[place] = values;
        attendance.waiting += 1;
        let turn = attendance.turn;
        self.begin(&mut attendance);
        while attendance.turn == turn {
            block.on_time()?;
            let left = block.end.saturating_duration_since(Instant::now());
            attendance = self.changed.wait_timeout(attendance, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(Arc::clone(&attendance.brought))
    }

    fn leave(&self) {
        let mut attendance = locked(&self.attendance);
        attendance.running -= 1;
        self.begin(&mut attendance);
    }

    /// Lets the waiting threads continue if all running threads have arrived.
    fn begin(&self, attendance: &mut Attendance) {
        if attendance.waiting > 0 && attendance.waiting >= attendance.running {
            let places = attendance.bringing.len();
            let brought = std::mem::replace(&mut attendance.bringing, vec![Vec::new(); places]);
            (attendance.brought, attendance.waiting) = (Arc::new(brought), 0);
            attendance.turn += 1;
            self.changed.notify_all();
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
