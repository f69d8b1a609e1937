//! AMD's GPUs, as assembly.

use fusebox_core::ir::Float;

use super::{Atomics, Backend, Form, GpuCode, TargetInfo, gpu};
use crate::llvm::{self, Module, Op, Val};

/// LLVM's number of the calling convention of kernels.
const KERNEL: u32 = 91;

pub(super) fn info(processor: &str) -> TargetInfo {
    TargetInfo {
        name: processor.to_owned(),
        form: Form::Amdgpu,
        backend: Backend {
            initialize: llvm::initialize_amdgpu,
            triple: Some("amdgcn-amd-amdhsa"),
            processor: processor.to_owned(),
            features: String::new(),
        },
        warp: 64,
        atomics: Atomics { bytes: 8, adds: vec![Float::F32, Float::F64], scopes: ["workgroup", "agent"] },
        gpu: Some(GpuCode {
            calling_convention: KERNEL,
            block_size: |threads| ("amdgpu-flat-work-group-size", format!("{threads},{threads}")),
            block_id: "llvm.amdgcn.workgroup.id.x",
            thread_id: "llvm.amdgcn.workitem.id.x",
            barrier,
            word_of_lane,
        }),
        ..gpu()
    }
}

fn barrier(llvm: &Module) {
    llvm.fence("workgroup");
    llvm.call_intrinsic("llvm.amdgcn.s.barrier", &[], &[]);
    llvm.fence("workgroup");
}

fn word_of_lane(llvm: &Module, value: Val, distance: i64, _lanes: i64) -> Val {
    let constant = |value: i64| llvm.const_int(llvm.int(32), value);
    let below = llvm.call_intrinsic("llvm.amdgcn.mbcnt.lo", &[], &[constant(-1), constant(0)]);
    let lane = llvm.call_intrinsic("llvm.amdgcn.mbcnt.hi", &[], &[constant(-1), below]);
    let from = llvm.binary(Op::LLVMAdd, lane, constant(distance));
    let address = llvm.binary(Op::LLVMShl, from, constant(2));
    llvm.call_intrinsic("llvm.amdgcn.ds.bpermute", &[], &[address, value])
}
