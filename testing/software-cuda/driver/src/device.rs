//! The devices, and the values of their attributes.

use fusebox_ptx::DeviceKind;

/// A device.
#[derive(Clone, Debug)]
pub struct Device {
    pub kind: DeviceKind,
    pub name: String,
    /// Size of the device's memory in bytes.
    pub memory: u64,
}

/// Largest number of blocks in each dimension of a grid.
pub const MOST_BLOCKS: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];

/// Largest number of threads in each dimension of a block.
pub const MOST_THREADS: [u32; 3] = [1024, 1024, 64];

impl Device {
    pub fn new(kind: DeviceKind, memory: u64) -> Device {
        Device { name: format!("software {}", kind.name()), kind, memory }
    }

    /// Returns the number of blocks that a multiprocessor executes at once. The multiprocessor's
    /// limits on threads, shared memory and blocks bound this number.
    pub fn resident_blocks(&self, threads: u32, shared: u32) -> u32 {
        let kind = &self.kind;
        let warps = threads.div_ceil(32).max(1);
        let by_threads = kind.max_threads_per_multiprocessor / 32 / warps;
        let shared = (shared + kind.reserved_shared_bytes).max(1);
        let by_shared = kind.shared_bytes_per_multiprocessor / shared;
        by_threads.min(by_shared).min(kind.max_blocks_per_multiprocessor)
    }

    /// Returns the clock rates of the processors and of the memory in kHz, and the width of the
    /// memory bus in bits. The numbers are from the data sheets of A100, H100, B200 and a consumer
    /// card.
    fn rates(&self) -> [i32; 3] {
        match self.kind.capability {
            80 => [1_410_000, 1_215_000, 5120],
            90 => [1_980_000, 2_619_000, 5120],
            100 | 103 => [1_965_000, 3_996_000, 8192],
            _ => [2_520_000, 10_501_000, 384],
        }
    }

    /// Returns the value of the attribute that has this number in the C interface. `None` if the
    /// software driver has no such attribute.
    pub fn attribute(&self, number: i32) -> Option<i32> {
        let kind = &self.kind;
        let [clock, memory_clock, bus] = self.rates();
        let signed = u32::cast_signed;
        Some(match number {
            1 => signed(kind.max_threads_per_block),
            2..=4 => signed(MOST_THREADS[number as usize - 2]),
            5..=7 => signed(MOST_BLOCKS[number as usize - 5]),
            8 => signed(kind.shared_bytes_per_block),
            // Bytes of constant memory, threads of a warp, the longest pitch.
            9 => 64 << 10,
            10 => 32,
            11 => i32::MAX,
            // Registers per block and per multiprocessor.
            12 | 82 => signed(kind.registers_per_block),
            13 => clock,
            // Alignment of textures and of their rows.
            14 => 512,
            51 => 32,
            16 => signed(kind.multiprocessors),
            // Abilities: copies beside kernels, host memory that is mapped, concurrent kernels,
            // unified addresses, priorities of streams, caches, cooperative launches, registered
            // host memory, pools of memory.
            15 | 19 | 31 | 41 | 78 | 79 | 80 | 95 | 99 | 115 => 1,
            // Launches with clusters.
            120 => i32::from(kind.max_blocks_per_cluster > 1),
            // Abilities that are absent: time limit of kernels, integrated, error correction, TCC,
            // managed memory, several GPUs on a board, atomics on host memory, pageable memory,
            // preemption, operations of streams on memory, virtual memory, other handles.
            17 | 18 | 32 | 35 | 83 | 84 | 86 | 88 | 89 | 90 | 91 | 92 | 93 | 94 | 98 | 100 | 101 | 102 | 103 => 0,
            // Compute mode (default), numbers on the bus, group of boards.
            20 | 33 | 34 | 50 | 85 => 0,
            36 => memory_clock,
            37 => bus,
            38 => signed(kind.cache_bytes),
            39 => signed(kind.max_threads_per_multiprocessor),
            40 => 2,
            75 => signed(kind.capability / 10),
            76 => signed(kind.capability % 10),
            81 => signed(kind.shared_bytes_per_multiprocessor),
            87 => {
                if matches!(kind.capability, 80 | 90 | 100) {
                    2
                } else {
                    64
                }
            }
            97 => signed(kind.shared_bytes_opt_in),
            106 => signed(kind.max_blocks_per_multiprocessor),
            111 => signed(kind.reserved_shared_bytes),
            _ => return None,
        })
    }
}
