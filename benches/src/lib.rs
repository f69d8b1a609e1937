//! The programs and emitters that the benches measure. Emitters are linked into the bench or loaded
//! from a library.
//!
//! Criterion reports medians. Compare ratios of times within one run, not absolute times from
//! different runs. Two references help to judge the numbers that `cargo bench` prints. The
//! benchmark `copy_64MB` of `run_time` shows how fast this machine moves bytes. The corpus's
//! `perf.py` compares XLA:CPU with `fusebox bench --json` on the same modules.

#![forbid(unsafe_code)]

pub mod set;

use std::fmt::Write;

use fusebox_compiler::{Compilation, CompileError, Emitters, Options, Phase, Source};
use fusebox_core::device::DeviceDescription;
use fusebox_lowering::Target;
use fusebox_plugins::{Failure, LoadError, Registry};

/// A module that a benchmark compiles or runs.
pub struct Case {
    /// Name of the benchmark in criterion.
    pub name: &'static str,
    /// HLO text.
    pub text: &'static str,
}

/// Programs with different kinds of work for the loop emitter.
pub const PROGRAMS: [Case; 6] = [
    Case { name: "copy_64MB", text: include_str!("../programs/copy.hlo") },
    Case { name: "exp_chain_64MB", text: include_str!("../programs/exp_chain.hlo") },
    Case { name: "gelu_bf16", text: include_str!("../programs/gelu_bf16.hlo") },
    Case { name: "bias_broadcast", text: include_str!("../programs/bias.hlo") },
    Case { name: "gather_rows", text: include_str!("../programs/gather.hlo") },
    Case { name: "row_sum", text: include_str!("../programs/row_sum.hlo") },
];

/// Returns the text of a chain of `depth` levels. Each value reads the two previous values at
/// shifted indices. If `bare` is true, the text is one fusion. Otherwise the text is a program,
/// which the host may split into several kernels.
pub fn sharing_chain(depth: usize, bare: bool) -> String {
    let mut text = String::from(if bare { "fusion {\n" } else { "HloModule chain\nENTRY main {\n" });
    text += "  x0 = f32[1000] parameter(0)\n  x1 = f32[1000] parameter(1)\n  zero = f32[] constant(0)\n";
    for i in 2..depth + 2 {
        let root = if i == depth + 1 { "ROOT " } else { "" };
        let _ = write!(
            text,
            "  a{i} = f32[999] slice(x{}), slice={{[1:1000]}}\n  b{i} = f32[1000] pad(a{i}, zero), padding=0_1\n  \
             c{i} = f32[999] slice(x{}), slice={{[0:999]}}\n  d{i} = f32[1000] pad(c{i}, zero), padding=1_0\n  \
             {root}x{i} = f32[1000] add(b{i}, d{i})\n",
            i - 2,
            i - 1
        );
    }
    text + "}\n"
}

/// Returns the emitters that are linked into this program.
///
/// # Errors
/// Returns an error if two emitters have the same name.
pub fn linked() -> Result<Emitters, Failure> {
    Ok(Emitters { registry: Registry::new(fusebox_bundle::emitters())?, ..Emitters::default() })
}

/// Returns the loop emitter from the library that cargo has built in the folder of this program.
///
/// # Errors
/// Returns an error if there is no library, or if the library cannot be loaded.
pub fn library() -> Result<Emitters, LoadError> {
    let mut registry = Registry::default();
    let program = std::env::current_exe().unwrap_or_default();
    registry.load_library(&program.with_file_name("libfusebox_emitter_loop.so"))?;
    Ok(Emitters { registry, ..Emitters::default() })
}

/// Compiles for this processor with two threads.
///
/// # Errors
/// The errors of [`fusebox_compiler::compile`].
pub fn compile(text: &str, emitters: &Emitters, until: Phase) -> Result<Compilation, CompileError> {
    let options =
        Options { threads: 2, ..Options::new(Target::cpu(), DeviceDescription::cpu(2), emitters.clone(), until) };
    fusebox_compiler::compile(&Source::text("bench.hlo", text), &options)
}
