//! The processor this runs on.

use super::{Atomics, Backend, Form, TargetInfo};
use crate::{llvm, optimize};

pub(super) fn info() -> TargetInfo {
    TargetInfo {
        name: "cpu".into(),
        form: Form::Blocks,
        backend: Backend {
            initialize: llvm::initialize_host,
            triple: None,
            processor: String::new(),
            features: String::new(),
        },
        gpu: None,
        passes: optimize::on_host(),
        buffer_alignment: 64,
        several_modules: true,
        index_bits: 64,
        reports_accesses: false,
        marks_invariant_loads: false,
        global_space: 0,
        shared_space: 0,
        tile_alignment: 64,
        converts_f16: llvm::host_has("f16c"),
        converts_bf16: false,
        makes_short_nans: true,
        fused_multiply_add: llvm::host_has("fma"),
        most_copies: 32,
        warp: 1,
        atomics: Atomics { bytes: if llvm::host_has("cx16") { 16 } else { 8 }, scopes: ["", ""], adds: Vec::new() },
        keeps_long_loops: false,
        splits_loops: true,
    }
}
