//! NVIDIA's GPUs. The generated code for NVIDIA's GPUs is PTX.

use fusebox_core::device::DeviceDescription;
use fusebox_core::ir::{Float, MatrixProduct};

use super::{Atomics, Backend, Family, GpuCode, Runner, TargetInfo, gpu};
use crate::Code;
use crate::error::LoweringError;
use crate::llvm::{Module, Op, Val, backend};

/// LLVM's number of the calling convention of kernels.
const KERNEL: u32 = 71;

/// Compute capabilities for which LLVM 22 generates code and that fusebox supports.
const CAPABILITIES: [u32; 15] = [70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121];
/// The newest PTX version that LLVM 22 writes.
const NEWEST_PTX: u32 = 90;

/// Maximum number of bytes of a kernel's parameters that the assembler accepts. The first number
/// applies before PTX version [`OF_WIDE_PARAMETERS`], the second number from this version on.
const PARAMETER_BYTES: [usize; 2] = [4352, 32764];
/// First PTX version with the larger limit on parameters.
const OF_WIDE_PARAMETERS: u32 = 81;

/// The architecture with an instruction for products of tiles, and its compute capability. Code for
/// `sm_90a` runs on no other architecture, so users must request the target `sm_90a` by its exact
/// name.
const OF_TILES: (&str, u32) = ("90a", 90);

/// Targets whose name contains the compute capability. Suffixes after the digits are ignored,
/// except for `sm_90a`.
pub(super) const FAMILY: Family = Family {
    names: "sm_NN",
    named: |name| match name.strip_prefix("sm_")? {
        exact if exact == OF_TILES.0 => Some(with_tiles()),
        digits => digits.trim_end_matches(char::is_alphabetic).parse().ok().map(info),
    },
};

/// Settings of PTX code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ptx {
    pub(super) capability: u32,
    /// PTX version as two or three digits. `None` lets LLVM choose the version.
    pub(super) version: Option<u32>,
}

impl Ptx {
    /// Returns the maximum number of addresses in a kernel's parameters.
    pub(super) fn most_buffers(&self) -> usize {
        // The version that LLVM chooses.
        let version = self.version.unwrap_or(if self.capability >= 100 { OF_WIDE_PARAMETERS } else { 0 });
        let is_wide = version >= OF_WIDE_PARAMETERS && self.capability >= 70;
        PARAMETER_BYTES[usize::from(is_wide)] / size_of::<u64>()
    }
}

pub(super) fn info(capability: u32) -> TargetInfo {
    let bf16 = (capability >= 90).then_some(Float::BF16);
    TargetInfo {
        device: DeviceDescription::sm(capability),
        runner: Some(Runner::Cuda(capability)),
        ptx: Some(Ptx { capability, version: None }),
        backend: Backend {
            check,
            assembled: Some(checked),
            initialize: backend!(
                LLVMInitializeNVPTXTargetInfo,
                LLVMInitializeNVPTXTarget,
                LLVMInitializeNVPTXTargetMC,
                LLVMInitializeNVPTXAsmPrinter
            ),
            triple: Some("nvptx64-nvidia-cuda"),
            processor: format!("sm_{capability}"),
            features: String::new(),
            without: &[],
        },
        states_origins: true,
        converts_bf16: capability >= 80,
        atomics: Atomics {
            bytes: 8,
            adds: [Float::F16, Float::F32, Float::F64].into_iter().chain(bf16).collect(),
            scopes: ["block", "device"],
        },
        gpu: Some(GpuCode {
            calling_convention: KERNEL,
            block_size: |threads| ("nvvm.reqntid", threads.to_string()),
            many_registers: Some(("nvvm.minctasm", "1")),
            block_id: "llvm.nvvm.read.ptx.sreg.ctaid.x",
            thread_id: "llvm.nvvm.read.ptx.sreg.tid.x",
            barrier,
            word_of_lane,
            matrix_product: Some(matrix_product),
            tiles: None,
        }),
        ..gpu()
    }
}

/// Returns the target `sm_90a`, which has instructions that no other architecture has.
fn with_tiles() -> TargetInfo {
    let mut info = info(OF_TILES.1);
    info.device.name = format!("sm_{}", OF_TILES.0);
    info.device.multiplies_tiles = true;
    info.backend.processor = info.device.name.clone();
    if let Some(gpu) = &mut info.gpu {
        gpu.tiles = Some(super::tiles::CODE);
    }
    info
}

/// Sets the version of PTX, if the target's code is PTX.
pub(super) fn in_version(mut info: TargetInfo, version: u32) -> TargetInfo {
    if let Some(ptx) = &mut info.ptx {
        ptx.version = Some(version);
        info.backend.features = format!("+ptx{version}");
    }
    info
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

/// Writes a product of matrices. Operands are words of 32 bits or elements of 64 bits. Some
/// intrinsics take a word of 32 bits as a pair of `half`, which needs a conversion.
fn matrix_product(llvm: &Module, product: MatrixProduct, operands: &[Val]) -> Vec<Val> {
    let name = match product {
        MatrixProduct::Bf16 => "llvm.nvvm.mma.m16n8k16.row.col.bf16",
        MatrixProduct::F16 => "llvm.nvvm.mma.m16n8k16.row.col.f32.f32",
        MatrixProduct::I8 => "llvm.nvvm.mma.m16n8k32.row.col.s8",
        MatrixProduct::F64 => "llvm.nvvm.mma.m8n8k4.row.col.f64",
    };
    let [left, right, sums] = product.words().map(|count| count as usize);
    let word = match product {
        MatrixProduct::Bf16 | MatrixProduct::I8 => Some(llvm.int(32)),
        MatrixProduct::F16 => llvm.float(Float::F16).map(|half| llvm.vector(half, 2)),
        MatrixProduct::F64 => None,
    };
    let as_word = |(number, &value): (usize, &Val)| match word {
        Some(ty) if number < left + right => llvm.cast(Op::LLVMBitCast, value, ty),
        _ => value,
    };
    let arguments: Vec<Val> = operands.iter().enumerate().map(as_word).collect();
    let results = llvm.call_intrinsic(name, &[], &arguments);
    // All lanes execute this call together, so LLVM must not move it into a branch that only some
    // lanes take.
    llvm.add_call_attribute(results, "convergent");
    (0..sums).map(|number| llvm.field(results, number)).collect()
}

/// Formats a version in PTX's notation.
fn dotted(version: u32) -> String {
    format!("{}.{}", version / 10, version % 10)
}

/// Checks the processor and the PTX version. For an unknown processor or version, LLVM would only
/// warn on standard error and use another processor or version.
fn check(info: &TargetInfo) -> Result<(), String> {
    match info.ptx {
        Some(ptx) if !CAPABILITIES.contains(&ptx.capability) => {
            Err(format!("LLVM 22 does not know it; known are {CAPABILITIES:?}"))
        }
        Some(Ptx { version: Some(version), .. }) if version > NEWEST_PTX => {
            Err(format!("LLVM 22 does not write PTX {}; the newest is {}", dotted(version), dotted(NEWEST_PTX)))
        }
        _ => Ok(()),
    }
}

/// Returns the text as code, if its header has the requested processor and version.
fn checked(info: &TargetInfo, text: String) -> Result<Code, LoweringError> {
    let target = info.device.name.clone();
    let directive =
        |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim).unwrap_or_default();
    let processor = directive(".target").split(',').next().unwrap_or_default();
    if processor != target {
        let reason = format!("this LLVM does not know it and generates code for `{processor}`");
        return Err(LoweringError::Target { target, reason });
    }
    let (wanted, found) = (info.ptx.and_then(|ptx| ptx.version).map(dotted), directive(".version"));
    match wanted {
        Some(wanted) if wanted != found => {
            let reason = format!("this LLVM does not write PTX {wanted} but {found}; ask for an older version");
            Err(LoweringError::Target { target, reason })
        }
        _ => Ok(Code::Ptx(text)),
    }
}
