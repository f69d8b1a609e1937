//! AMD's GPUs. The generated code for AMD's GPUs is assembly.

use fusebox_core::device::DeviceDescription;
use fusebox_core::ir::Float;

use super::{Atomics, Backend, Family, GpuCode, TargetInfo, gpu};
use crate::Code;
use crate::llvm::{Module, Op, Val, backend};

/// LLVM's number of the calling convention of kernels.
const KERNEL: u32 = 91;

/// Targets that are named after their processor.
pub(super) const FAMILY: Family = Family { names: "gfxNNN", named: |name| name.starts_with("gfx").then(|| info(name)) };

fn info(processor: &str) -> TargetInfo {
    TargetInfo {
        device: DeviceDescription {
            name: processor.into(),
            warp_size: 64,
            matrix_products: Vec::new(),
            ..DeviceDescription::sm(90)
        },
        backend: Backend {
            check: |_| Ok(()),
            assembled: Some(|_, text| Ok(Code::Assembly(text))),
            initialize: backend!(
                LLVMInitializeAMDGPUTargetInfo,
                LLVMInitializeAMDGPUTarget,
                LLVMInitializeAMDGPUTargetMC,
                LLVMInitializeAMDGPUAsmPrinter
            ),
            triple: Some("amdgcn-amd-amdhsa"),
            processor: processor.to_owned(),
            features: String::new(),
            without: &[],
        },
        warp: 64,
        atomics: Atomics { bytes: 8, adds: vec![Float::F32, Float::F64], scopes: ["workgroup", "agent"] },
        gpu: Some(GpuCode {
            calling_convention: KERNEL,
            block_size: |threads| ("amdgpu-flat-work-group-size", format!("{threads},{threads}")),
            many_registers: None,
            block_id: "llvm.amdgcn.workgroup.id.x",
            thread_id: "llvm.amdgcn.workitem.id.x",
            barrier,
            word_of_lane,
            matrix_product: None,
            tiles: None,
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
