//! The questions about a kernel that the model of a cpu and the model of a GPU answer differently.

use std::collections::BTreeSet;

use fusebox_core::device::DeviceDescription;

use crate::extent::Extent;
use crate::positions::{At, Loop};
use crate::reached::Reached;
use crate::touched::Touched;

/// A model of a kind of machine. Costs are in additions, as in [`cost`](fusebox_core::cost).
pub trait Machine {
    /// Returns the description of the machine.
    fn device(&self) -> &DeviceDescription;

    /// Returns the cost of the operations of one point, without the reads.
    fn point(&self, reached: &Reached, reads: &[Touched]) -> PointCost;

    /// Returns the number of points that one instruction processes. The number is 1 if the accesses
    /// to an array in `accesses` do not allow vectors.
    fn vector_lanes(&self, accesses: &[Touched]) -> f64;

    /// Returns the overhead of a visit's loops.
    fn loops(&self, extent: &Extent) -> f64;

    /// Returns the cost of reading or writing one element.
    fn access(&self, touched: &Touched, lanes: f64) -> f64;

    /// Returns the number of bytes that a thread moves at once between registers and shared or
    /// private memory.
    fn tile_word(&self) -> f64;

    /// Returns the seconds that all additions take if at most `busy` of the `threads` threads
    /// compute at the same time.
    fn computing(&self, additions: f64, threads: f64, busy: f64) -> f64;

    /// Returns the number of bytes that memory delivers at once.
    fn line_bytes(&self) -> i64;

    /// Returns how often memory moves a line that a kernel writes. `past_caches` states that the
    /// writes bypass the caches.
    fn moves_of_written_line(&self, past_caches: bool) -> f64;

    /// Whether the model unrolls short loops over windows.
    fn unrolls_windows(&self) -> bool;

    /// Whether the model treats indices that the program computes, for example those of a gather,
    /// as random numbers. If not, the model treats all indices that the program computes as equal.
    fn draws_indices(&self) -> bool;

    /// Chooses the points that a core accesses together. `threads` is the number of threads in a
    /// block and `element` the size of an element in bytes. The function removes the loops over the
    /// chosen points from `loops`. The caller has already removed the loops in `unrolled` from
    /// `loops`.
    fn group(&self, threads: u64, loops: &mut Vec<(Loop, i64)>, unrolled: &[(Loop, i64)], element: i64) -> Group;

    /// Returns the number of cache lines per point that are requested from the nearest cache.
    /// `touched` is the number of lines per point that the simulation counted. `row` is the size of
    /// an element if adjacent points access adjacent elements, and `None` if they do not.
    fn near_lines(&self, touched: f64, row: Option<i64>) -> f64;

    /// Returns the number of bytes that the cache must hold, so that it still contains the lines of
    /// one group when the next group accesses them.
    fn held_bytes(&self, near: f64, group: &Group) -> f64;

    /// Returns the number of elements in one access of a thread that accesses the offsets
    /// `positions`.
    fn lanes_of_access(&self, positions: &BTreeSet<i64>, element: i64) -> f64;

    /// Returns the seconds until a read returns. The array has `bytes` bytes, and one access reads
    /// `pieces` pieces of cache lines.
    fn read_latency(&self, bytes: f64, pieces: f64) -> f64;

    /// Returns the seconds that a thread waits at barriers.
    fn barriers(&self, count: f64) -> f64;

    /// Returns the bandwidth, in bytes per second, for a kernel that accesses `bytes` bytes.
    fn bandwidth(&self, bytes: u64) -> f64;

    /// Returns the fraction of the bandwidth that `busy` threads can use.
    fn share_of_bandwidth(&self, busy: f64) -> f64;

    /// Returns the largest number of `f32` operations per second.
    fn peak(&self) -> f64;

    /// Whether one core may run all blocks of a kernel, instead of several cores.
    fn can_run_alone(&self) -> bool;
}

/// The cost of one point of a visit.
pub struct PointCost {
    /// Additions per point.
    pub additions: f64,
    /// Number of points that one instruction processes.
    pub lanes: f64,
}

/// Points that a core accesses together.
pub struct Group {
    /// The loops over the points.
    pub loops: Vec<(Loop, i64)>,
    /// Number of threads that access the points of the group's loops at the same time.
    pub threads: i64,
    /// Number of iterations of the loops that were removed from the visit, including iterations
    /// that are not part of the group.
    pub iterations: i64,
    /// Largest number of successive groups that are simulated.
    pub most_steps: i64,
    /// Whether a group with a single point counts as accessing the same element at all points.
    pub is_fixed_alone: bool,
}

impl Group {
    /// Returns the number of points of one thread.
    pub fn points(&self) -> i64 {
        self.loops.iter().map(|&(_, size)| size).product()
    }

    /// Returns point number `number` of the group that begins at the point `first`.
    pub fn point(&self, first: &At, mut number: i64) -> At {
        let mut at = first.clone();
        for &(variable, size) in &self.loops {
            at = at.plus(Some(variable), number % size);
            number /= size;
        }
        at
    }
}
