//! `fusebox explain --ptxas`: the report of NVIDIA's assembler on each kernel.

use std::io::{self, Write};

use fusebox_compiler::{Phase, Source};
use fusebox_lowering::Code;
use fusebox_run::terminal;
use fusebox_workshop::ptxas::{self, KernelQuality};
use serde::Serialize;
use serde_json::json;

use crate::arguments::Explain;
use crate::exit::Failure;
use crate::module;

/// Prints the report of NVIDIA's assembler on each kernel.
pub fn print(source: &Source, arguments: &Explain) -> Result<(), Failure> {
    let asked = &arguments.common.compiling.target;
    let targets = if asked.starts_with("sm_") { vec![asked.as_str()] } else { vec!["sm_80", "sm_90"] };
    let mut all = Vec::new();
    for target in targets {
        let mut common = arguments.common.clone();
        common.compiling.target = target.into();
        let made = module::compile(source, &common, None, Phase::Code, Vec::new())?;
        let emitter_of = |name: &str| {
            let kernel = made.kernels.iter().find(|kernel| kernel.unit.fusion.name == name);
            kernel.map_or_else(String::new, |kernel| kernel.emitter.name.clone())
        };
        for code in &made.lowered.code {
            let Code::Ptx(text) = code else { continue };
            let kernels = ptxas::measure(text, target)?;
            let row =
                |quality: KernelQuality| KernelQualityRow { target, emitter: emitter_of(&quality.kernel), quality };
            all.extend(kernels.into_iter().map(row));
        }
    }
    Ok(terminal::print(|out| if arguments.json { writeln!(out, "{}", json!(all)) } else { print_quality(out, &all) })?)
}

/// A row of the table: the assembler's report on one kernel for one target.
#[derive(Serialize)]
struct KernelQualityRow<'a> {
    target: &'a str,
    emitter: String,
    #[serde(flatten)]
    quality: KernelQuality,
}

fn print_quality(out: &mut dyn Write, all: &[KernelQualityRow<'_>]) -> io::Result<()> {
    let longest = all.iter().map(|row| row.quality.kernel.len()).max().unwrap_or(0).max(6);
    writeln!(
        out,
        "{:<6} {:<longest$} {:<22} {:>9} {:>6} {:>6} {:>6} {:>4} {:>5}",
        "target", "kernel", "emitter", "registers", "spills", "stack", "shared", "read", "write"
    )?;
    for KernelQualityRow { target, emitter, quality } in all {
        let KernelQuality { kernel, registers, spill_stores, spill_loads, stack, shared, widest_read, widest_write } =
            quality;
        let spills = spill_stores + spill_loads;
        writeln!(
            out,
            "{target:<6} {kernel:<longest$} {emitter:<22} {registers:>9} {spills:>6} {stack:>6} {shared:>6} \
             {widest_read:>4} {widest_write:>5}"
        )?;
    }
    Ok(())
}
