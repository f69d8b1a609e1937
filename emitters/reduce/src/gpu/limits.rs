//! Properties of a group and of the device that the heuristics use.

use fusebox_core::analysis::ReductionGroup;
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::Op;

/// Number of bytes that a thread should read concurrently to hide the latency of memory.
const BYTES_IN_FLIGHT: i64 = 64;
/// Maximum number of vectors of the widest type that one thread reads at once.
const MOST_VECTORS: i64 = 2;
/// Maximum number of accumulators that a thread keeps in registers. With this number, enough
/// registers remain for the thread's reads.
const MOST_ACCUMULATORS: i64 = 16;
/// Maximum number of instructions per element with which several lanes per thread are faster than
/// one lane. With more instructions, several lanes add too much code.
const HEAVY: usize = 24;

/// A group, and limits that follow from the group and the device.
pub struct GroupLimits<'a> {
    pub group: &'a ReductionGroup,
    /// Number of threads of a warp.
    pub warp: i64,
    /// Maximum number of threads of a block.
    pub most_threads: i64,
    /// Number of threads that fill the device.
    pub device_threads: i64,
    pub cores: i64,
    /// Bytes of shared memory of a block.
    pub shared_bytes: i64,
    /// Maximum number of elements of a vector access.
    pub vector: i64,
    /// Maximum number of accumulators that a thread has for one value of a hero.
    pub lanes: i64,
    element_bytes: i64,
}

impl<'a> GroupLimits<'a> {
    /// Computes the limits of a group on a device.
    pub fn new(fusion: &Fusion, group: &'a ReductionGroup, device: &DeviceDescription) -> Self {
        let computation = fusion.computation();
        let sizes: Vec<i64> =
            group.large_arrays(computation).iter().map(|array| array.element_type.byte_size() as i64).collect();
        let smallest = sizes.iter().copied().min().unwrap_or(4);
        let widest = sizes.iter().copied().max().unwrap_or(4);
        let vector_bytes = i64::from(device.vector_bytes);
        let vector = (vector_bytes / smallest).min(MOST_VECTORS * vector_bytes / widest).max(1);
        let values: i64 = group.heroes.iter().map(|hero| hero.values.len() as i64).sum();
        let is_work = |op: &Op| !op.is_generated() && !matches!(op, Op::Parameter { .. });
        let work = computation.instructions.iter().filter(|it| is_work(&it.op));
        let lanes = if work.count() > HEAVY { 1 } else { (MOST_ACCUMULATORS / values).max(1) };
        GroupLimits {
            group,
            warp: i64::from(device.warp_size),
            most_threads: i64::from(device.max_threads_per_block),
            device_threads: i64::from(device.core_count) * i64::from(device.max_threads_per_core),
            cores: i64::from(device.core_count),
            shared_bytes: i64::from(device.shared_bytes_per_block),
            vector,
            lanes,
            element_bytes: widest,
        }
    }

    /// Returns the largest power of two that divides `length`, is at most `most`, and fits in a
    /// vector access.
    pub fn vector_of(&self, length: i64, most: i64) -> i64 {
        let most = most.min(self.vector);
        let fits = |&lanes: &i64| lanes <= most && length % lanes == 0;
        (0..6).map(|exponent| 1i64 << exponent).take_while(fits).last().unwrap_or(1)
    }

    /// Returns the number of vectors of `vector` elements that a thread should read concurrently.
    pub fn unroll(&self, vector: i64) -> i64 {
        (BYTES_IN_FLIGHT / (vector * self.element_bytes)).clamp(1, 8)
    }

    /// Returns the number of bytes of the widest element among the large arrays.
    pub fn element_bytes(&self) -> i64 {
        self.element_bytes
    }

    /// Returns the sizes of the accumulators, in bytes.
    pub fn accumulator_sizes(&self) -> Vec<i64> {
        let values = self.group.heroes.iter().flat_map(|hero| &hero.values);
        let mut sizes: Vec<i64> = values.map(|value| value.element_type.byte_size() as i64).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Returns the bytes of all accumulators of one result.
    pub fn accumulator_bytes(&self) -> i64 {
        self.group.heroes.iter().map(|hero| hero.accumulator_bytes()).sum()
    }
}
