//! What distinguishes targets while kernels are translated.

use crate::Target;
use crate::llvm::Unrolling;

/// Properties of a target that decide how kernels are translated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traits {
    /// Bits of an index where 32 would do.
    pub(crate) index_bits: u32,
    /// Whether every memory access is reported to the simulator.
    pub(crate) reports_accesses: bool,
    /// Whether loads from read-only buffers are marked, so that they may go through the read-only cache.
    pub(crate) marks_invariant_loads: bool,
    /// LLVM's number of the address space of buffers.
    pub(crate) global_space: u32,
    /// Whether conversions between f16 and f32 are instructions.
    pub(crate) converts_f16: bool,
    /// Whether conversions from f32 to bf16 are instructions that round to nearest even.
    pub(crate) converts_bf16: bool,
    /// Whether the NaN that arithmetic makes of numbers has zeros in the lower half of its bits.
    pub(crate) makes_short_nans: bool,
    /// Whether multiply-add is one instruction.
    pub(crate) fused_multiply_add: bool,
    /// LLVM's number of the address space that a block's threads share.
    pub(crate) shared_space: u32,
    /// Most copies of a body that unrolling the loops around it makes. Short loops in the way of one that can be
    /// vectorised are worth it; where threads do that, copies of branches take registers and gain little.
    pub(crate) most_copies: i64,
    /// Threads that exchange values directly.
    pub(crate) warp: u32,
    /// Most bytes that are replaced in one piece.
    pub(crate) atomic_bytes: u32,
    /// Floats that are added to memory in one instruction.
    pub(crate) atomic_adds: AtomicAdds,
    /// What becomes of loops too long to be unrolled as a whole.
    pub(crate) long_loops: Unrolling,
    /// Whether loops are written in parts where that decides conditions on their variables.
    pub(crate) splits_loops: bool,
}

/// Formats of which a sum is one instruction that no other thread interrupts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AtomicAdds {
    pub(crate) f16: bool,
    pub(crate) bf16: bool,
    pub(crate) f32: bool,
    pub(crate) f64: bool,
}

impl Traits {
    pub(crate) fn of(target: &Target) -> Traits {
        let host = Traits {
            index_bits: 64,
            reports_accesses: false,
            marks_invariant_loads: false,
            global_space: 0,
            converts_f16: crate::llvm::host_has("f16c"),
            converts_bf16: false,
            makes_short_nans: true,
            fused_multiply_add: crate::llvm::host_has("fma"),
            shared_space: 0,
            most_copies: 32,
            warp: 1,
            atomic_bytes: if crate::llvm::host_has("cx16") { 16 } else { 8 },
            atomic_adds: AtomicAdds::default(),
            long_loops: Unrolling::Open,
            splits_loops: true,
        };
        let gpu = Traits {
            index_bits: 32,
            marks_invariant_loads: true,
            global_space: 1,
            converts_f16: true,
            makes_short_nans: false,
            fused_multiply_add: true,
            shared_space: 3,
            most_copies: 8,
            warp: 32,
            atomic_bytes: 8,
            atomic_adds: AtomicAdds { f32: true, f64: true, ..AtomicAdds::default() },
            long_loops: Unrolling::Never,
            splits_loops: false,
            ..host
        };
        match target {
            Target::Cpu => host,
            Target::Simt => Traits { reports_accesses: true, warp: 32, splits_loops: false, ..host },
            Target::Nvptx { capability, .. } => Traits {
                converts_bf16: *capability >= 80,
                atomic_adds: AtomicAdds { f16: true, bf16: *capability >= 90, ..gpu.atomic_adds },
                ..gpu
            },
            Target::Amdgpu { .. } => Traits { warp: 64, ..gpu },
        }
    }
}
