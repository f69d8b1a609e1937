//! The model of a cpu. A block is one thread, which loops and computes on vectors. Each core has a
//! private cache.

use std::collections::BTreeSet;

use fusebox_core::cost::STRIDED_READ;
use fusebox_core::device::DeviceDescription;

use crate::extent::Extent;
use crate::machine::{Group, Machine, PointCost};
use crate::positions::Loop;
use crate::reached::Reached;
use crate::touched::Touched;
use crate::traffic::MOST_TURNS;

/// Number of independent additions that a core starts per cycle. Most cores have two units for
/// vectors of floats. No measurement of this constant is recorded.
const ADDITIONS_IN_A_CYCLE: f64 = 2.0;
/// Cycles from the start of an addition until an addition that depends on it can start. Chosen for
/// floats on present cores. No measurement of this constant is recorded.
const ADDITION_LATENCY: f64 = 4.0;
/// Largest number of additions per point for which the model treats a loop that shuffles elements
/// as vectorised. LLVM unrolls loops with larger bodies fewer times. Chosen without a recorded
/// measurement.
const MOST_UNROLLED_ADDITIONS: f64 = 4.0;
/// Cost of starting and ending an innermost loop, in additions. Chosen without a recorded
/// measurement.
const LOOP: f64 = 4.0;
/// Cost of combining the lanes of a vector, in additions: four rounds of a shuffle and a dependent
/// addition for 16 lanes. No measurement of this constant is recorded.
const SUM_OF_LANES: f64 = 16.0;
/// Cost of dividing an index by a constant, in additions: a wide product, a shift and a correction.
/// No measurement of this constant is recorded.
const DIVISION: f64 = 3.0;
/// Bytes of the smallest type in which kernels compute: narrower floats are converted to `f32`.
const LEAST_COMPUTED: i64 = 4;
/// Least size of a cache line in bytes. A description may state a smaller size by mistake.
const LEAST_LINE: u32 = 4;
/// Factor by which the bandwidth of all cores' caches together exceeds that of memory. With this
/// factor, kernels whose arrays stay in the caches do not exceed their roof. No measurement of this
/// constant is recorded.
const CACHES_OVER_MEMORY: f64 = 8.0;
/// Number of `f32` operations of a fused multiply-add.
const OPERATIONS_OF_FMA: f64 = 2.0;

/// The model of a cpu.
pub struct Cpu<'d> {
    pub device: &'d DeviceDescription,
}

impl Cpu<'_> {
    fn cores(&self) -> f64 {
        f64::from(self.device.core_count.max(1))
    }

    /// Returns the number of independent scalar additions that a core computes per second.
    fn rate_of_core(&self) -> f64 {
        let lanes = f64::from(self.device.vector_bytes.max(4)) / 4.0;
        self.device.flops / self.cores() / lanes
    }
}

impl Machine for Cpu<'_> {
    fn device(&self) -> &DeviceDescription {
        self.device
    }

    /// Reductions that may be reordered are vectorised, and the lanes are combined at the end.
    fn point(&self, reached: &Reached, reads: &[Touched]) -> PointCost {
        let is_little = |read: &Touched| read.shuffled <= 1.0 || reached.additions <= MOST_UNROLLED_ADDITIONS;
        let is_plain = reads.iter().all(|read| read.is_vector() && is_little(read)) && reached.waiting == 0.0;
        let lanes = if is_plain { self.vector_lanes(reads) } else { 1.0 };
        let ends = if reached.regrouped > 0.0 { reached.sums * SUM_OF_LANES } else { 0.0 };
        let waiting_addition = ADDITION_LATENCY * ADDITIONS_IN_A_CYCLE;
        let additions = (reached.additions + reached.regrouped) / lanes + ends + reached.waiting * waiting_addition;
        PointCost { additions, lanes }
    }

    fn vector_lanes(&self, accesses: &[Touched]) -> f64 {
        let widest = accesses.iter().map(|touched| touched.element).max().unwrap_or(0).max(LEAST_COMPUTED);
        let fits = accesses.iter().all(Touched::is_vector);
        if fits { f64::from(self.device.vector_bytes) / widest as f64 } else { 1.0 }
    }

    fn loops(&self, extent: &Extent) -> f64 {
        extent.points * (LOOP / extent.innermost + DIVISION * extent.divisions)
    }

    fn access(&self, touched: &Touched, lanes: f64) -> f64 {
        match () {
            () if touched.is_fixed => 0.0,
            () if touched.is_vector() => touched.shuffled / lanes,
            () => 1.0 + STRIDED_READ * touched.missed,
        }
    }

    /// Returns the bytes of a vector, because a core loads or stores one vector at a time.
    fn tile_word(&self) -> f64 {
        f64::from(self.device.vector_bytes.max(4))
    }

    /// Blocks run in rounds. The last round may leave cores idle.
    fn computing(&self, additions: f64, threads: f64, busy: f64) -> f64 {
        let rounds = (threads / busy).ceil() * busy / threads;
        additions * rounds / (busy * self.rate_of_core())
    }

    fn line_bytes(&self) -> i64 {
        i64::from(self.device.cache_line_bytes.max(LEAST_LINE))
    }

    /// A core reads a cache line before it changes a part of the line.
    fn moves_of_written_line(&self, past_caches: bool) -> f64 {
        if past_caches { 1.0 } else { 2.0 }
    }

    /// Returns false, because the constants of this model were measured with kernels whose gathers
    /// the model treated as contiguous.
    fn draws_indices(&self) -> bool {
        false
    }

    fn unrolls_windows(&self) -> bool {
        true
    }

    /// The group consists of the iterations of the innermost loop that access one cache line.
    fn group(&self, _threads: u64, loops: &mut Vec<(Loop, i64)>, unrolled: &[(Loop, i64)], element: i64) -> Group {
        let per_line = (self.line_bytes() / element.max(1)).clamp(8, MOST_TURNS);
        let innermost = loops.pop();
        let taken = innermost.map(|(variable, size)| (variable, size.min(per_line)));
        let loops: Vec<(Loop, i64)> = taken.into_iter().chain(unrolled.iter().copied()).collect();
        let iterations = innermost.map_or(1, |(_, size)| size);
        let points: i64 = loops.iter().map(|&(_, size)| size).product();
        Group { loops, threads: 1, iterations, most_steps: per_line, is_fixed_alone: points > 1 }
    }

    fn near_lines(&self, touched: f64, row: Option<i64>) -> f64 {
        row.map_or(touched, |element| element as f64 / self.line_bytes() as f64)
    }

    /// The cache must hold the lines of the whole innermost loop.
    fn held_bytes(&self, near: f64, group: &Group) -> f64 {
        near * group.iterations as f64 * self.line_bytes() as f64
    }

    fn lanes_of_access(&self, _positions: &BTreeSet<i64>, _element: i64) -> f64 {
        1.0
    }

    /// Cores fetch ahead and execute out of order, so they do not wait for single reads.
    fn read_latency(&self, _bytes: f64, _pieces: f64) -> f64 {
        0.0
    }

    fn barriers(&self, _count: f64) -> f64 {
        0.0
    }

    /// Returns the bandwidth of the caches if the bytes fit into all cores' caches together, and
    /// the bandwidth of memory otherwise.
    fn bandwidth(&self, bytes: u64) -> f64 {
        let is_kept = !self.device.exceeds_core_caches(bytes);
        self.device.memory_bandwidth * if is_kept { CACHES_OVER_MEMORY } else { 1.0 }
    }

    fn share_of_bandwidth(&self, busy: f64) -> f64 {
        busy / self.cores()
    }

    /// A core reaches its peak with fused multiply-adds on vectors as wide as its registers.
    fn peak(&self) -> f64 {
        let device = self.device;
        let wider = f64::from(device.register_bytes.max(device.vector_bytes)) / f64::from(device.vector_bytes.max(1));
        device.flops * (OPERATIONS_OF_FMA * wider)
    }

    fn can_run_alone(&self) -> bool {
        true
    }
}
