//! The processor of this machine.

use fusebox_core::builder::Abilities;
use fusebox_core::device::{DeviceDescription, NarrowProducts};

use super::{Atomics, Backend, Family, Form, Lowering, Runner, TargetInfo};
use crate::{llvm, optimize};

pub(super) const FAMILY: Family = Family { names: "cpu, cpu,-amx, cpu,-avx512", named };

/// Returns the target with this name. If the name has a suffix, the suffix removes features of this
/// machine's processor from the target. The suffix is in LLVM's notation. Code for a target with a
/// suffix also runs on processors that lack the removed features.
fn named(name: &str) -> Option<TargetInfo> {
    match name {
        "cpu" => Some(info()),
        "cpu,-amx" => Some(TargetInfo { tile_products: NarrowProducts::default(), ..info() }),
        "cpu,-avx512" => Some(without_wide_vectors()),
        _ => None,
    }
}

/// Returns this machine's processor without AVX-512 and later extensions. Without AVX-512, the
/// widest vectors are the vectors of AVX2.
fn without_wide_vectors() -> TargetInfo {
    let info = info();
    TargetInfo {
        tile_products: NarrowProducts::default(),
        word_products: NarrowProducts::default(),
        backend: Backend { without: &["avx512", "avx10", "evex512", "amx", "prefer-256-bit"], ..info.backend },
        ..info
    }
}

pub(super) fn info() -> TargetInfo {
    TargetInfo {
        device: DeviceDescription::cpu(1),
        runner: Some(Runner::Cpu),
        lowering: Lowering::default(),
        form: Form::Blocks,
        backend: Backend {
            check: |_| Ok(()),
            assembled: None,
            initialize: llvm::initialize_host,
            triple: None,
            processor: String::new(),
            features: String::new(),
            without: &[],
        },
        ptx: None,
        gpu: None,
        passes: optimize::on_host(),
        buffer_alignment: 64,
        several_modules: true,
        index_bits: 64,
        states_origins: false,
        reports_accesses: false,
        marks_invariant_loads: false,
        global_space: 0,
        shared_space: 0,
        tile_alignment: 64,
        converts_f16: llvm::host_has("f16c"),
        converts_bf16: false,
        makes_short_nans: true,
        tile_products: NarrowProducts { bf16: llvm::host_has("amx-bf16"), int8: llvm::host_has("amx-int8") },
        word_products: NarrowProducts { bf16: llvm::host_has("avx512bf16"), int8: llvm::host_has("avx512vnni") },
        math: Abilities { fma: llvm::host_has("fma"), branches: true, flushes: cfg!(target_arch = "x86_64") },
        most_copies: 32,
        most_nested: 256,
        most_long_loops: 4,
        most_gathers: if llvm::host_has("prefer-no-gather") { 16 } else { usize::MAX },
        most_copied_math: Some(400),
        warp: 1,
        atomics: Atomics { bytes: if llvm::host_has("cx16") { 16 } else { 8 }, scopes: ["", ""], adds: Vec::new() },
        keeps_long_loops: false,
        splits_loops: true,
    }
}
