//! Kinds of NVIDIA GPUs, and the limits that a driver enforces for them.

/// A kind of GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceKind {
    /// The compute capability as one number, for example 90 for 9.0.
    pub capability: u32,
    pub multiprocessors: u32,
    pub max_threads_per_block: u32,
    pub max_threads_per_multiprocessor: u32,
    pub max_blocks_per_multiprocessor: u32,
    /// Largest shared memory of a block, unless the function requests more by an attribute.
    pub shared_bytes_per_block: u32,
    /// Largest shared memory of a block that a function may request by an attribute.
    pub shared_bytes_opt_in: u32,
    pub shared_bytes_per_multiprocessor: u32,
    /// Shared memory that the system uses at the beginning of each block's shared memory.
    pub reserved_shared_bytes: u32,
    pub registers_per_block: u32,
    pub registers_per_thread: u32,
    pub cache_bytes: u32,
    pub max_blocks_per_cluster: u32,
    /// The newest PTX version that the driver reads, as major * 10 + minor.
    pub newest_ptx: u32,
}

/// Kibibyte.
const K: u32 = 1 << 10;

impl DeviceKind {
    /// Returns the kind of the GPU that executes code for an architecture, for example `sm_90`.
    /// `sm_90` and `sm_90a` are one kind. Returns `None` for a name that this crate does not know.
    pub fn named(name: &str) -> Option<DeviceKind> {
        let digits = name.strip_prefix("sm_")?.trim_end_matches(['a', 'f']);
        DeviceKind::of_capability(digits.parse().ok()?)
    }

    /// Returns the kind of the GPU with a compute capability, for example 90.
    pub fn of_capability(capability: u32) -> Option<DeviceKind> {
        // Multiprocessors; their threads, blocks and KiB of shared memory; the MiB of the cache.
        let (multiprocessors, threads, blocks, shared, cache) = match capability {
            70 => (80, 2048, 32, 96, 6),
            75 => (40, 1024, 16, 64, 4),
            80 => (108, 2048, 32, 164, 40),
            86 => (84, 1536, 16, 100, 6),
            89 => (142, 1536, 24, 100, 72),
            90 => (132, 2048, 32, 228, 50),
            100 => (148, 2048, 32, 228, 126),
            103 => (160, 2048, 32, 228, 126),
            120 => (188, 1536, 24, 100, 96),
            _ => return None,
        };
        // From 8.0 on, the system reserves 1 KiB of each block's shared memory.
        let reserved = if capability >= 80 { K } else { 0 };
        Some(DeviceKind {
            capability,
            multiprocessors,
            max_threads_per_block: 1024,
            max_threads_per_multiprocessor: threads,
            max_blocks_per_multiprocessor: blocks,
            shared_bytes_per_block: 48 * K,
            shared_bytes_opt_in: shared * K - reserved,
            shared_bytes_per_multiprocessor: shared * K,
            reserved_shared_bytes: reserved,
            registers_per_block: 64 * K,
            registers_per_thread: 255,
            cache_bytes: cache * K * K,
            max_blocks_per_cluster: if capability >= 90 { 8 } else { 1 },
            newest_ptx: 90,
        })
    }

    /// Returns the name of the architecture, for example `sm_90`.
    pub fn name(&self) -> String {
        format!("sm_{}", self.capability)
    }
}
