//! NVIDIA's GPUs, as PTX.

use fusebox_core::ir::Float;

use super::{Atomics, Backend, Form, GpuCode, TargetInfo, gpu};
use crate::llvm::{self, Module, Val};

/// LLVM's number of the calling convention of kernels.
const KERNEL: u32 = 71;

pub(super) fn info(capability: u32, ptx_version: Option<u32>) -> TargetInfo {
    let bf16 = (capability >= 90).then_some(Float::BF16);
    TargetInfo {
        name: format!("sm_{capability}"),
        form: Form::Ptx,
        backend: Backend {
            initialize: llvm::initialize_nvptx,
            triple: Some("nvptx64-nvidia-cuda"),
            processor: format!("sm_{capability}"),
            features: ptx_version.map(|version| format!("+ptx{version}")).unwrap_or_default(),
        },
        converts_bf16: capability >= 80,
        atomics: Atomics {
            bytes: 8,
            adds: [Float::F16, Float::F32, Float::F64].into_iter().chain(bf16).collect(),
            scopes: ["block", "device"],
        },
        gpu: Some(GpuCode {
            calling_convention: KERNEL,
            block_size: |threads| ("nvvm.reqntid", threads.to_string()),
            block_id: "llvm.nvvm.read.ptx.sreg.ctaid.x",
            thread_id: "llvm.nvvm.read.ptx.sreg.tid.x",
            barrier,
            word_of_lane,
        }),
        ..gpu()
    }
}

fn barrier(llvm: &Module) {
    let number = llvm.const_int(llvm.int(32), 0);
    llvm.call_intrinsic("llvm.nvvm.barrier.cta.sync.aligned.all", &[], &[number]);
}

fn word_of_lane(llvm: &Module, value: Val, distance: i64, lanes: i64) -> Val {
    let constant = |value: i64| llvm.const_int(llvm.int(32), value);
    let mask = if lanes >= 32 { -1 } else { (1 << lanes) - 1 };
    let arguments = [constant(mask), value, constant(distance), constant(31)];
    llvm.call_intrinsic("llvm.nvvm.shfl.sync.down.i32", &[], &arguments)
}
