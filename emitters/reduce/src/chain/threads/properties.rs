//! Properties of the device, the chain and its elements that decide a layout.

use std::ops::RangeInclusive;

use fusebox_core::analysis::{RowChain, RowSpace};
use fusebox_core::builder::ThreadGroups;
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{InstrId, Op, Shape};
use fusebox_core::indexing::ceil_div;

use super::ThreadNormalise;
use crate::chain::kept_values::{KeptValue, alive, element_bytes, has_own_values, kept};

/// Usual number of threads of a block with several rows.
const BLOCK: i64 = 128;
/// Usual number of elements of a row per thread. A thread has fewer elements if otherwise too few
/// threads would be busy.
const USUAL_ELEMENTS: i64 = 16;
/// Number of elements of a vector access, for elements of the usual size.
const USUAL_LANES: i64 = 4;
/// Number of registers in which a thread keeps elements. The number is half of the registers that a
/// thread has in the largest block.
const KEEPING_REGISTERS: i64 = 32;
/// Maximum number of bytes that a thread keeps per element of a row.
const MOST_KEPT_BYTES: i64 = 16;
/// Maximum number of operations in a thread's code if the code for all its elements is unrolled.
const MOST_UNROLLED: i64 = 1024;
/// Smallest number of iterations with which compilers do not unroll a loop. If a compiler unrolled
/// the loop, the loaded values would stay in registers from phase to phase. Too few registers would
/// remain for other values.
pub const LEAST_TURNS: i64 = 5;
/// Number of adjacent bytes that the threads of a row should read at once: a cache line.
const LINE: i64 = 128;
/// Maximum number of vectors of the widest type that one thread reads at once.
const MOST_VECTORS: i64 = 2;

/// Storage of elements between phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ElementStorage {
    /// No storage. Each phase recomputes the elements.
    Nowhere,
    /// In shared memory.
    Shared,
    /// In registers. The code for all elements of a thread is unrolled.
    Registers,
}

/// Properties that decide a layout.
pub struct LayoutProperties<'a> {
    fusion: &'a Fusion,
    chain: &'a RowChain,
    device: &'a DeviceDescription,
    /// Instructions whose elements the kernel can keep between phases.
    pub kept: Vec<KeptValue>,
    /// Number of registers for the kept values of an element.
    registers: i64,
    /// Maximum number of elements per thread with which the code may be unrolled.
    most_unrolled: i64,
    /// Bytes of the smallest and of the widest element that the kernel reads or writes.
    bytes: RangeInclusive<i64>,
    /// Number of bytes that the kernel reads per element, from all operands together.
    pub read: i64,
}

impl<'a> LayoutProperties<'a> {
    /// Collects the properties of a fusion on a device.
    pub fn new(fusion: &'a Fusion, chain: &'a RowChain, device: &'a DeviceDescription) -> Self {
        let registers = |kept: &[KeptValue]| {
            let of = |id| ceil_div(element_bytes(fusion, id), 4);
            alive(fusion, chain, kept).into_iter().map(|ids| ids.into_iter().map(of).sum::<i64>()).max().unwrap_or(0)
        };
        let kept = kept(fusion, chain, has_own_values, |kept| registers(kept) <= MOST_KEPT_BYTES / 4);
        let computation = fusion.computation();
        let sizes = |ids: Vec<InstrId>| -> Vec<i64> {
            let leaves = ids.into_iter().flat_map(|id| computation.instruction(id).shape.leaves());
            let arrays = leaves.filter_map(Shape::as_array);
            let large = arrays.filter(|array| array.element_count() == chain.space.element_count());
            large.map(|array| array.element_type.byte_size() as i64).collect()
        };
        let read = sizes(computation.parameters());
        let bytes = [read.clone(), sizes(fusion.roots.clone())].concat();
        let work = computation
            .instructions
            .iter()
            .filter(|it| has_own_values(&it.op) && !matches!(it.op, Op::Parameter { .. }));
        LayoutProperties {
            fusion,
            chain,
            device,
            registers: registers(&kept),
            kept,
            most_unrolled: (MOST_UNROLLED / (work.count() as i64).max(1)).max(1),
            bytes: bytes.iter().copied().min().unwrap_or(4)..=bytes.iter().copied().max().unwrap_or(4),
            read: read.into_iter().sum::<i64>().max(1),
        }
    }

    /// Returns the maximum number of elements that a thread may keep in registers.
    fn most_kept(&self) -> i64 {
        (KEEPING_REGISTERS / self.registers.max(1)).min(self.most_unrolled)
    }

    /// Returns the number of elements of the widest possible access. This number divides the length
    /// of a row, and is at most the number of elements that a thread may keep in registers.
    pub fn widest(&self) -> i64 {
        let bytes = i64::from(self.device.vector_bytes);
        let most = (bytes / self.bytes.start()).min(MOST_VECTORS * bytes / self.bytes.end()).min(self.most_kept());
        let fits = |lanes: &i64| *lanes <= most && self.chain.space.length % lanes == 0;
        (0..6).map(|exponent| 1i64 << exponent).take_while(fits).last().unwrap_or(1)
    }

    /// Returns the number of elements of the widest access. Returns the number for a narrower
    /// access if the registers of a thread cannot hold all its elements and the thread's loops are
    /// short.
    pub fn natural_vector(&self) -> i64 {
        let mut vector = self.widest();
        let steps = |vector: i64| ceil_div(self.chain.space.length / vector, self.most_threads());
        while vector > 1 && steps(vector) * vector > self.most_kept() && steps(vector) < LEAST_TURNS {
            vector /= 2;
        }
        vector
    }

    /// Returns the maximum number of threads of a block.
    pub fn most_threads(&self) -> i64 {
        i64::from(self.device.max_threads_per_block)
    }

    /// Returns the number of threads of a warp.
    pub fn warp(&self) -> i64 {
        i64::from(self.device.warp_size)
    }

    /// Returns the default number of threads per row if each read has `vector` elements.
    pub fn natural_threads(&self, vector: i64) -> i64 {
        let each = (USUAL_ELEMENTS.min(self.most_kept()) / vector).max(1);
        natural_threads(self.chain.space, self.device, vector, each, *self.bytes.end())
    }

    /// Rounds `threads` up to a power of two if `threads` is at most the warp size, else up to a
    /// multiple of the warp size.
    pub fn whole(&self, threads: i64) -> i64 {
        whole(threads, self.warp())
    }

    /// Returns the number of rows that fill a block of usual size. Returns a smaller number if some
    /// cores would otherwise have no block.
    pub fn natural_rows(&self, threads: i64) -> i64 {
        let mut rows = (BLOCK / threads).max(1);
        let is_idle = |rows: i64| ceil_div(self.chain.space.rows, rows) < i64::from(self.device.core_count);
        while rows % 2 == 0 && rows / 2 * threads % self.warp() == 0 && is_idle(rows) {
            rows /= 2;
        }
        rows
    }

    /// Returns the number of bytes of the tiles through which the threads of `rows` rows exchange
    /// results.
    pub fn tile_bytes(&self, threads: i64, rows: i64) -> i64 {
        let elements = ThreadGroups { groups: rows, threads, warp: self.warp() }.tile_elements();
        let heroes = self.chain.phases.iter().flatten();
        elements * heroes.map(|hero| hero.accumulator_bytes()).sum::<i64>()
    }

    /// Returns the number of bytes of the tiles that keep elements.
    pub fn kept_bytes(&self, rows: i64) -> i64 {
        let bytes: i64 = self.kept.iter().map(|(id, _)| element_bytes(self.fusion, *id)).sum();
        rows.saturating_mul(self.chain.space.length).saturating_mul(bytes)
    }

    /// Returns the storages that have room for the kept elements, the best storage last.
    pub fn places(&self, vector: i64, threads: i64, rows: i64) -> Vec<ElementStorage> {
        let each = ceil_div(self.chain.space.length / vector, threads) * vector;
        let bytes = self.tile_bytes(threads, rows).saturating_add(self.kept_bytes(rows));
        // Accesses to the tile have no bank conflicts if all threads of a warp work on one row.
        let is_shared = threads >= self.warp() && bytes <= i64::from(self.device.shared_bytes_per_block);
        let mut places = vec![ElementStorage::Nowhere];
        if !self.kept.is_empty() {
            places.extend(is_shared.then_some(ElementStorage::Shared));
            places.extend((each <= self.most_kept()).then_some(ElementStorage::Registers));
        }
        places
    }
}

/// Returns the number of threads of a row. Each thread has `each` units of `vector` elements. A
/// thread has fewer units if otherwise half the device would be idle.
fn natural_threads(space: RowSpace, device: &DeviceDescription, vector: i64, each: i64, bytes: i64) -> i64 {
    let units = space.length / vector;
    let device_threads = i64::from(device.core_count) * i64::from(device.max_threads_per_core);
    let mut each = each;
    while each > 1 && space.rows.saturating_mul(ceil_div(units, each)) < device_threads / 2 {
        each -= 1;
    }
    let line = (LINE / (vector * bytes)).max(1).min(units);
    let most = i64::from(device.max_threads_per_block);
    let threads = ceil_div(units, each).max(line).min(most);
    // Removes threads that would have no work in the last step.
    whole(ceil_div(units, ceil_div(units, threads)), i64::from(device.warp_size)).min(most)
}

/// Rounds `threads` up to a power of two if `threads` is at most the warp size, else up to a
/// multiple of the warp size.
fn whole(threads: i64, warp: i64) -> i64 {
    if threads <= warp { (threads.max(1) as u64).next_power_of_two() as i64 } else { ceil_div(threads, warp) * warp }
}

fn form_of(threads: i64, device: &DeviceDescription) -> ThreadNormalise {
    if threads <= i64::from(device.warp_size) { ThreadNormalise::Warp } else { ThreadNormalise::Block }
}

/// Returns the emitter that suits the rows described by `space`: warp-normalise or block-normalise.
pub fn usual_form(space: RowSpace, device: &DeviceDescription) -> ThreadNormalise {
    let lanes = if space.length % USUAL_LANES == 0 { USUAL_LANES } else { 1 };
    let bytes = i64::from(device.vector_bytes) / USUAL_LANES;
    form_of(natural_threads(space, device, lanes, USUAL_ELEMENTS / lanes, bytes), device)
}
