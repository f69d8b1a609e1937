//! `fusebox explain`: shows which emitter builds each kernel, and why.

use std::io::{self, Write};

use fusebox_compiler::{Compilation, Phase, Source, report};
use fusebox_core::device::DeviceDescription;
use fusebox_lowering::Code;
use fusebox_run::{inputs, terminal};
use fusebox_runtime::Executable;
use fusebox_runtime::measurement::{Effort, Session};
use fusebox_workshop::profile::{self, Profile};
use fusebox_workshop::ptxas::{self, KernelQuality};
use fusebox_workshop::roofline;
use fusebox_workshop::{explain, page, why};
use serde::Serialize;
use serde_json::json;

use crate::arguments::Explain;
use crate::exit::Failure;
use crate::{guard, module, running};

/// The last line of the table.
const ADVICE: &str =
    "--fusion NAME says why a fusion has its emitter and not another one; --all says so for all fusions";

pub fn run(arguments: &Explain) -> Result<(), Failure> {
    guard::check(&arguments.common, &arguments.inputs.inputs, &arguments.html)?;
    let source = module::read_for(&arguments.common.module, &arguments.common.compiling, &arguments.inputs)?;
    if arguments.ptxas {
        return kernel_quality(&source, arguments);
    }
    let until = if arguments.measure || arguments.memory { Phase::Schedule } else { Phase::Emit };
    let options = module::options(&arguments.common, None, until, Vec::new())?;
    let mut made = module::compile_with(&source, &options)?;
    if let Some(name) = &arguments.why {
        let lines = why::why(name, &source, &made, &options)?;
        return Ok(terminal::print(|out| {
            if arguments.json {
                writeln!(out, "{}", json!(lines))
            } else {
                lines.iter().try_for_each(|line| writeln!(out, "{line}"))
            }
        })?);
    }
    if let Some(memory) = made.memory.as_ref().filter(|_| arguments.memory) {
        return Ok(terminal::print(|out| {
            if arguments.json { writeln!(out, "{}", json!(memory)) } else { write!(out, "{}", report::memory(memory)) }
        })?);
    }
    let profile = made.executable.take().map(|it| measured(it, &made, &options.device, arguments)).transpose()?;
    let rows = roofline::rows(&made.kernels, &options.device, profile.as_ref());
    if let Some(path) = &arguments.html {
        let page = page::of_program(&made, &options, &arguments.common.compiling.target, &rows);
        return Ok(fusebox_files::write(path, page.as_bytes())?);
    }
    let meant = explain::matching(&made, arguments.fusion.as_ref())?;
    Ok(terminal::print(|out| {
        if arguments.json {
            let described = meant.iter().map(|kernel| explain::describe(kernel, &options, &rows)).collect();
            return writeln!(out, "{}", serde_json::Value::Array(described));
        }
        if arguments.fusion.is_none() && !arguments.all {
            return explain::write_table(out, &made, &rows, ADVICE);
        }
        explain::write_kernels(out, &made, &meant, &rows, &options, arguments.all)
    })?)
}

/// Runs the program and returns the measured time of each step.
fn measured(
    executable: Executable,
    made: &Compilation,
    device: &DeviceDescription,
    arguments: &Explain,
) -> Result<Profile, Failure> {
    let options = running::options(&arguments.common.compiling)?;
    let mut session = Session::load(executable, &options)?;
    let values = inputs::load(&arguments.inputs, &session.parameter_shapes())?;
    session.set_inputs(&inputs::arrays(&values))?;
    Ok(profile::profile(&mut session, made, device, &options, Effort::default())?)
}

/// Prints the report of NVIDIA's assembler on each kernel.
fn kernel_quality(source: &Source, arguments: &Explain) -> Result<(), Failure> {
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
