//! The model of a GPU. Blocks have many threads. A warp accesses memory with all its threads at
//! once, and memory delivers cache lines in pieces.
//!
//! No measurement is recorded for the constants of this file. The constants are chosen from
//! published figures of NVIDIA's GPUs, and adjusted so that plans known to be fast have the
//! smallest predicted times.

use std::collections::BTreeSet;

use fusebox_core::cost;
use fusebox_core::device::DeviceDescription;

use crate::extent::Extent;
use crate::machine::{Group, Machine, PointCost};
use crate::positions::Loop;
use crate::reached::Reached;
use crate::touched::Touched;

/// Cycles from the start of an addition until an addition that depends on it can start. On NVIDIA's
/// GPUs since Volta, an addition takes four cycles.
const ADDITION_LATENCY: f64 = 4.0;
/// Number of pieces of a cache line: the memory of NVIDIA's GPUs delivers a line of 128 bytes in
/// sectors of 32 bytes.
const PIECES: i64 = 4;
/// Cost, in additions, of reading one piece of a cache line from the nearest cache of a core while
/// all warps of the core use this cache. Chosen so that strided reads take several times as long as
/// contiguous reads.
const PIECE: f64 = 32.0;
/// Seconds until a read from memory returns, and until a read from a near cache returns. The
/// order of magnitude is typical for data-centre GPUs.
const LATENCY: [f64; 2] = [0.5e-6, 0.04e-6];
/// Seconds from the arrival of one piece of a cache line to the arrival of the next, if one access
/// of a warp reads several pieces. Chosen as about two cycles.
const BETWEEN_PIECES: f64 = 1e-9;
/// Seconds until all threads of a block have reached a barrier. Chosen as some tens of cycles.
const WAIT: f64 = 0.02e-6;
/// Largest number of successive groups of a warp that are simulated. Chosen to bound the time of a
/// prediction.
const WARP_GROUPS: i64 = 4;
/// Largest number of elements in one access of a thread: the widest access has 16 bytes, which are
/// 16 elements of one byte.
const MOST_LANES: i64 = 16;
/// Bytes of a word of a shared memory bank.
const BANK_WORD: f64 = 4.0;
/// An addition takes as long as a fused multiply-add. The peak rate of a device counts a fused
/// multiply-add as this number of operations.
const OPERATIONS_OF_FMA: f64 = 2.0;

/// The model of a GPU.
pub struct Gpu<'d> {
    pub device: &'d DeviceDescription,
}

impl Machine for Gpu<'_> {
    fn device(&self) -> &DeviceDescription {
        self.device
    }

    /// A thread computes one point at a time, so each addition of a reduction waits for the
    /// previous addition.
    fn point(&self, reached: &Reached, _reads: &[Touched]) -> PointCost {
        let waiting = reached.waiting + reached.regrouped;
        PointCost { additions: reached.additions + waiting * ADDITION_LATENCY, lanes: 1.0 }
    }

    fn vector_lanes(&self, _accesses: &[Touched]) -> f64 {
        1.0
    }

    /// Returns no overhead: blocks have many threads, so the loops of a thread are few and short.
    fn loops(&self, _extent: &Extent) -> f64 {
        0.0
    }

    fn access(&self, touched: &Touched, _lanes: f64) -> f64 {
        touched.active / touched.lanes + PIECE * touched.near
    }

    fn tile_word(&self) -> f64 {
        BANK_WORD
    }

    fn computing(&self, additions: f64, _threads: f64, busy: f64) -> f64 {
        let one = cost::ADDITIONS_PER_SECOND / ADDITION_LATENCY;
        additions / (busy * one).min(self.device.flops / OPERATIONS_OF_FMA)
    }

    fn line_bytes(&self) -> i64 {
        i64::from(self.device.cache_line_bytes.max(PIECES as u32)) / PIECES
    }

    fn moves_of_written_line(&self, _past_caches: bool) -> f64 {
        1.0
    }

    fn unrolls_windows(&self) -> bool {
        false
    }

    /// Returns true: with random indices, each thread of a warp reads a different piece of a cache
    /// line.
    fn draws_indices(&self) -> bool {
        true
    }

    /// The group consists of the points that all threads of a warp access in one instruction.
    fn group(&self, threads: u64, loops: &mut Vec<(Loop, i64)>, _unrolled: &[(Loop, i64)], _element: i64) -> Group {
        let (mut taken, mut iterations) = (Vec::new(), 1i64);
        while let Some(&(variable @ Loop::Range(_), size)) = loops.last()
            && iterations.saturating_mul(size) <= MOST_LANES
        {
            taken.push((variable, size));
            iterations *= size;
            loops.pop();
        }
        let threads = threads.min(self.device.warp_size.into()) as i64;
        Group { loops: taken, threads, iterations, most_steps: WARP_GROUPS, is_fixed_alone: true }
    }

    fn near_lines(&self, touched: f64, _row: Option<i64>) -> f64 {
        touched
    }

    /// The cache must hold the lines of all threads of a core.
    fn held_bytes(&self, near: f64, group: &Group) -> f64 {
        let threads = f64::from(self.device.max_threads_per_core);
        near * group.points() as f64 * threads * self.line_bytes() as f64
    }

    /// Returns the mean number of elements in the contiguous runs that the accessed positions form.
    fn lanes_of_access(&self, positions: &BTreeSet<i64>, element: i64) -> f64 {
        let pairs = positions.iter().zip(positions.iter().skip(1));
        let gaps = pairs.filter(|(a, b)| b.wrapping_sub(**a) != element).count();
        positions.len().max(1) as f64 / (gaps + 1) as f64
    }

    fn read_latency(&self, bytes: f64, pieces: f64) -> f64 {
        let is_near = bytes <= self.device.core_cache_bytes as f64;
        LATENCY[usize::from(is_near)] + pieces * BETWEEN_PIECES
    }

    fn barriers(&self, count: f64) -> f64 {
        count * WAIT
    }

    fn bandwidth(&self, _bytes: u64) -> f64 {
        self.device.memory_bandwidth
    }

    fn share_of_bandwidth(&self, _busy: f64) -> f64 {
        1.0
    }

    fn peak(&self) -> f64 {
        self.device.flops
    }

    fn can_run_alone(&self) -> bool {
        false
    }
}
