//! What an emitter may know about the machine its kernel runs on.

pub mod instructions;

use crate::ir::{Function, MatrixProduct, OpKind};

/// The machine, in numbers. Every heuristic reads these; none asks for a target's name.
///
/// Sums of floats are regrouped by what a plan says, so `core_count`, `vector_bytes`, `core_cache_bytes`, the registers, tile
/// products and the numbers of threads may show in the last bits of results. They are settled when a program is compiled: an executable gives the same
/// bits in every run, and so does a module that is compiled again for the same description.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceDescription {
    /// For people: `cpu`, `simt`, `sm_90` …
    pub name: String,
    /// Threads that run in lock step; 1 on the cpu.
    pub warp_size: u32,
    /// Most threads in a block; 1 on the cpu.
    pub max_threads_per_block: u32,
    /// Threads that one core keeps in flight.
    pub max_threads_per_core: u32,
    /// Streaming multiprocessors, or worker threads of the cpu's pool.
    pub core_count: u32,
    /// Shared memory one block may take, in bytes; 0 if there is none.
    pub shared_bytes_per_block: u32,
    /// Widest load or store of one thread, in bytes (16 on NVIDIA; the vector register on the cpu).
    pub vector_bytes: u32,
    /// Bytes of a vector register, as wide as arithmetic on vectors has instructions for.
    pub register_bytes: u32,
    /// Vector registers of one thread.
    pub registers: u32,
    /// What it multiplies in tile registers.
    pub tile_products: NarrowProducts,
    /// What it multiplies in vector registers, words of neighbouring elements at a time; of bytes only those with a sign with those
    /// without.
    pub word_products: NarrowProducts,
    /// What memory and caches exchange at once, in bytes.
    pub cache_line_bytes: u32,
    /// Cache that one core has for itself, in bytes.
    pub core_cache_bytes: u64,
    /// Seconds from one kernel's end to the start of the next, for the cost model.
    pub launch_seconds: f64,
    /// Seconds until the other cores have taken up their blocks and said that they are done; 0 where a launch starts all at once.
    pub share_seconds: f64,
    /// Memory bandwidth in bytes per second, for the cost model.
    pub memory_bandwidth: f64,
    /// Single-precision operations per second, for the cost model.
    pub flops: f64,
    /// Products of matrices that a warp has an instruction for.
    pub matrix_products: Vec<MatrixProduct>,
    /// Whether four warps together multiply tiles of `bf16` and `f16` in shared memory.
    pub multiplies_tiles: bool,
    /// Whether the host has a library that multiplies matrices on this device.
    pub has_product_library: bool,
}

/// Products of narrow numbers that are summed in wider ones by one instruction, by the type of the factors: of small matrices in
/// registers of their own (AMX), or of words of neighbouring elements in vector registers (AVX-512 BF16 and VNNI).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NarrowProducts {
    /// Of `bf16`, summed in `f32`.
    pub bf16: bool,
    /// Of bytes with and without sign, summed in `s32`.
    pub int8: bool,
}

impl NarrowProducts {
    /// What a kernel's functions ask for in tile registers.
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

    /// What both have.
    pub fn and(self, other: NarrowProducts) -> NarrowProducts {
        NarrowProducts { bf16: self.bf16 && other.bf16, int8: self.int8 && other.int8 }
    }
}

impl DeviceDescription {
    /// A usual processor with a pool of `threads` workers. The host asks the one it is on.
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

    /// The GPU the simulator pretends to be.
    pub fn simt() -> Self {
        DeviceDescription { name: "simt".into(), ..Self::sm(90) }
    }

    /// An NVIDIA GPU of that compute capability (`80`, `90`, …), data-centre part.
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

    /// Whether a launch that reads and writes so many bytes has to go to memory, or to a cache all cores share,
    /// because those of single cores do not hold them.
    pub fn exceeds_core_caches(&self, bytes: u64) -> bool {
        bytes > self.core_cache_bytes.saturating_mul(u64::from(self.core_count))
    }

    /// Whether a block runs as one thread that loops, as on the cpu.
    pub fn is_single_threaded_block(&self) -> bool {
        self.max_threads_per_block == 1
    }
}
