//! The description of a machine, which emitters read.

pub mod instructions;

use crate::ir::{Function, MatrixProduct, OpKind};

/// Numbers that describe a machine. Heuristics read the numbers of the description, never the name
/// of a target.
///
/// A plan decides in which order a kernel sums floats. Plans depend on `core_count`,
/// `vector_bytes`, `core_cache_bytes`, the registers, the tile products and the numbers of threads.
/// The fields on which plans depend can therefore change the last bits of results. All fields are
/// fixed at compile time, so an executable gives the same bits in every run. A module that is
/// compiled twice for the same description also gives the same bits.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceDescription {
    /// Name to display: `cpu`, `simt`, `sm_90` …
    pub name: String,
    /// Number of threads that run in lock step; 1 on the cpu.
    pub warp_size: u32,
    /// Largest number of threads in a block; 1 on the cpu.
    pub max_threads_per_block: u32,
    /// Number of threads that one core keeps in flight.
    pub max_threads_per_core: u32,
    /// Number of streaming multiprocessors, or of worker threads in the cpu's pool.
    pub core_count: u32,
    /// Shared memory available to one block, in bytes; 0 if there is none.
    pub shared_bytes_per_block: u32,
    /// Widest load or store of one thread, in bytes (16 on NVIDIA; the vector register on the cpu).
    pub vector_bytes: u32,
    /// Size, in bytes, of the widest vector register that arithmetic instructions can use.
    pub register_bytes: u32,
    /// Number of vector registers of one thread.
    pub registers: u32,
    /// Matrix products that the processor computes with instructions on tile registers.
    pub tile_products: NarrowProducts,
    /// Products that the processor computes with special instructions on vector registers. Each
    /// special instruction multiplies words of adjacent elements and sums the products of each
    /// word. The special instructions for int8 can only multiply signed bytes by unsigned bytes.
    pub word_products: NarrowProducts,
    /// Size in bytes of a cache line, which is the unit of transfers between memory and caches.
    pub cache_line_bytes: u32,
    /// Size of the private cache of one core, in bytes.
    pub core_cache_bytes: u64,
    /// Seconds from one kernel's end to the start of the next, for the cost model.
    pub launch_seconds: f64,
    /// Seconds that a launch needs to distribute blocks to the other cores and to collect their
    /// completion. The time is 0 if a launch starts all blocks at once.
    pub share_seconds: f64,
    /// Memory bandwidth in bytes per second, for the cost model.
    pub memory_bandwidth: f64,
    /// Single-precision operations per second, for the cost model.
    pub flops: f64,
    /// Matrix products that a warp computes with one instruction.
    pub matrix_products: Vec<MatrixProduct>,
    /// Whether the device has instructions that multiply tiles of `bf16` or `f16` in shared memory.
    /// Four warps together execute each instruction that multiplies tiles.
    pub multiplies_tiles: bool,
    /// Whether the host has a library that multiplies matrices on this device.
    pub has_product_library: bool,
}

/// Instructions that multiply narrow numbers and sum the products in a wider type. Each field
/// states whether instructions for one type of factors are available. The instructions work on
/// small matrices in tile registers (AMX), or on words of adjacent elements in vector registers
/// (AVX-512 BF16 and VNNI).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NarrowProducts {
    /// Whether products of `bf16` numbers, summed in `f32`, are available.
    pub bf16: bool,
    /// Whether products of signed and unsigned bytes, summed in `s32`, are available.
    pub int8: bool,
}

impl NarrowProducts {
    /// Returns the tile products that a kernel's functions use.
    pub fn of_tiles(functions: &[Function]) -> NarrowProducts {
        let mut used = NarrowProducts::default();
        for function in functions {
            function.body.walk(&mut |operation| match operation.kind {
                OpKind::TileMulF => used.bf16 = true,
                OpKind::TileMulI => used.int8 = true,
                _ => {}
            });
        }
        used
    }

    /// Returns the products that both `self` and `other` have.
    pub fn and(self, other: NarrowProducts) -> NarrowProducts {
        NarrowProducts { bf16: self.bf16 && other.bf16, int8: self.int8 && other.int8 }
    }
}

impl DeviceDescription {
    /// Describes a typical processor with a pool of `threads` workers. The host replaces this
    /// description by a description of its actual processor.
    pub fn cpu(threads: u32) -> Self {
        DeviceDescription {
            name: "cpu".into(),
            warp_size: 1,
            max_threads_per_block: 1,
            max_threads_per_core: 1,
            core_count: threads.max(1),
            shared_bytes_per_block: 576 << 10,
            vector_bytes: 32,
            register_bytes: 32,
            registers: 16,
            tile_products: NarrowProducts::default(),
            word_products: NarrowProducts::default(),
            cache_line_bytes: 64,
            core_cache_bytes: 2 << 20,
            launch_seconds: 0.04e-6,
            share_seconds: 0.5e-6,
            memory_bandwidth: 25e9 * f64::from(threads.max(1)),
            flops: 50e9 * f64::from(threads.max(1)),
            matrix_products: Vec::new(),
            multiplies_tiles: false,
            has_product_library: true,
        }
    }

    /// Describes the GPU that the simulator emulates.
    pub fn simt() -> Self {
        DeviceDescription { name: "simt".into(), ..Self::sm(90) }
    }

    /// Describes an NVIDIA data-centre GPU whose compute capability is `capability` (`80`, `90`,
    /// …).
    pub fn sm(capability: u32) -> Self {
        let hopper = capability >= 90;
        DeviceDescription {
            name: format!("sm_{capability}"),
            warp_size: 32,
            max_threads_per_block: 1024,
            max_threads_per_core: 2048,
            core_count: if hopper { 132 } else { 108 },
            shared_bytes_per_block: 48 << 10,
            vector_bytes: 16,
            register_bytes: 4,
            registers: 255,
            tile_products: NarrowProducts::default(),
            word_products: NarrowProducts::default(),
            cache_line_bytes: 128,
            core_cache_bytes: if hopper { 256 << 10 } else { 192 << 10 },
            launch_seconds: 2e-6,
            share_seconds: 0.0,
            memory_bandwidth: if hopper { 4.0e12 } else { 1.55e12 },
            flops: if hopper { 60e12 } else { 19.5e12 },
            matrix_products: if capability >= 80 { MatrixProduct::ALL.to_vec() } else { Vec::new() },
            multiplies_tiles: false,
            has_product_library: false,
        }
    }

    /// Whether `bytes` exceed the private caches of all cores together. A launch that reads and
    /// writes more data than the private caches hold must use memory, or a cache that all cores
    /// share.
    pub fn exceeds_core_caches(&self, bytes: u64) -> bool {
        bytes > self.core_cache_bytes.saturating_mul(u64::from(self.core_count))
    }

    /// Whether a block runs as one thread that loops, as on the cpu.
    pub fn is_single_threaded_block(&self) -> bool {
        self.max_threads_per_block == 1
    }
}
