//! What distinguishes targets while kernels are translated.

use crate::Target;

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
    /// Whether multiply-add is one instruction.
    pub(crate) fused_multiply_add: bool,
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
            fused_multiply_add: crate::llvm::host_has("fma"),
        };
        let gpu = Traits {
            index_bits: 32,
            marks_invariant_loads: true,
            global_space: 1,
            converts_f16: true,
            fused_multiply_add: true,
            ..host
        };
        match target {
            Target::Cpu => host,
            Target::Simt => Traits { reports_accesses: true, ..host },
            Target::Nvptx { capability, .. } => Traits { converts_bf16: *capability >= 80, ..gpu },
            Target::Amdgpu { .. } => gpu,
        }
    }
}
