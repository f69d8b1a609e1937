//! `fusebox explain`: shows which emitter builds each kernel, and why.

use std::io::{self, Write};

use fusebox_compiler::{Compilation, Options, Phase, Selected, Source, heroes, report};
use fusebox_core::analysis::Hero;
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::InstrId;
use fusebox_lowering::Code;
use fusebox_plugins::Fingerprint;
use fusebox_prediction::{Amount, Breakdown, breakdown};
use fusebox_run::{inputs, terminal};
use fusebox_runtime::Executable;
use fusebox_runtime::measurement::{Effort, Session};
use fusebox_workshop::profile::{self, Profile};
use fusebox_workshop::ptxas::{self, KernelQuality};
use fusebox_workshop::roofline;
use fusebox_workshop::{WorkshopError, page, why};
use glob::Pattern;
use serde::Serialize;
use serde_json::json;

use crate::arguments::Explain;
use crate::exit::Failure;
use crate::{guard, module, running};

pub fn run(arguments: &Explain) -> Result<(), Failure> {
    guard::check(&arguments.common, &arguments.inputs.inputs, &arguments.html)?;
    let source = module::read(&arguments.common.module, &arguments.common.compiling)?;
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
    let meant = matching_kernels(&made, arguments.fusion.as_ref())?;
    Ok(terminal::print(|out| {
        if arguments.json {
            let described = meant.iter().map(|kernel| describe(kernel, &options, &rows)).collect();
            return writeln!(out, "{}", serde_json::Value::Array(described));
        }
        if arguments.fusion.is_none() && !arguments.all {
            return print_table(out, &made, &rows);
        }
        print_kernels(out, &meant, &options)?;
        if arguments.all {
            print_others(out, &made)?;
        }
        let is_meant = |row: &&roofline::RooflineRow| meant.iter().any(|kernel| kernel.unit.fusion.name == row.fusion);
        roofline::write(out, &rows.iter().filter(is_meant).cloned().collect::<Vec<_>>())
    })?)
}

/// Returns the kernels of all fusions whose names match `pattern`. Without a pattern, returns all
/// kernels.
fn matching_kernels<'m>(made: &'m Compilation, pattern: Option<&Pattern>) -> Result<Vec<&'m Selected>, Failure> {
    let name = |kernel: &Selected| kernel.unit.fusion.name.clone();
    let Some(pattern) = pattern else { return Ok(made.kernels.iter().collect()) };
    let meant: Vec<&Selected> = made.kernels.iter().filter(|kernel| pattern.matches(&name(kernel))).collect();
    if meant.is_empty() {
        let known = made.kernels.iter().map(name).collect::<Vec<_>>().join(", ");
        return Err(WorkshopError::NoSuchFusion { pattern: pattern.to_string(), known }.into());
    }
    Ok(meant)
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
    Ok(profile::profile(&mut session, &made.kernels, device, &options, Effort::default())?)
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

/// Prints a table: one line for each fusion, and one line for each operation that no kernel
/// executes.
fn print_table(out: &mut dyn Write, made: &Compilation, rows: &[roofline::RooflineRow]) -> io::Result<()> {
    let routines = report::host_operations(&made.fused);
    if rows.is_empty() && routines.is_empty() {
        return writeln!(out, "the program computes nothing: it has no kernel and calls no routine");
    }
    if !rows.is_empty() {
        roofline::write_fusions(out, rows)?;
    }
    routines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "--fusion NAME says why a fusion has its emitter and not another one; --all says so for all fusions")
}

/// Prints all details of these kernels.
fn print_kernels(out: &mut dyn Write, kernels: &[&Selected], options: &Options) -> io::Result<()> {
    kernels.iter().try_for_each(|kernel| {
        let heroes = heroes(&kernel.unit.fusion, &options.device, &options.emitters);
        writeln!(out, "{}", report::kernel(kernel, &heroes, &options.device))
    })
}

/// Prints composites, host routines and the outcome of each bid.
fn print_others(out: &mut dyn Write, made: &Compilation) -> io::Result<()> {
    made.composites.iter().try_for_each(|composite| writeln!(out, "{}", report::composite(composite)))?;
    let mut lines = report::host_operations(&made.fused).into_iter().chain(report::bids(&made.bids));
    lines.try_for_each(|line| writeln!(out, "{line}"))?;
    writeln!(out)
}

/// Describes the components of a predicted time as JSON: microseconds, additions, and bytes that
/// move through memory.
fn described(fusion: &Fusion, Breakdown { visits, writes, work, times }: &Breakdown) -> serde_json::Value {
    let us = |seconds: f64| seconds * 1e6;
    let name = |&id: &InstrId| fusion.computation().instruction(id).name.clone();
    let visit = |(values, amount): &(Vec<InstrId>, Amount)| {
        let values: Vec<String> = values.iter().map(name).collect();
        json!({ "values": values, "additions": amount.additions, "bytes": amount.bytes })
    };
    json!({
        "launch_us": us(times.launch),
        "computing_us": us(times.computing),
        "memory_us": us(times.memory),
        "waiting_us": us(times.waiting),
        "unordered_us": us(times.unordered),
        "visits": visits.iter().map(visit).collect::<Vec<_>>(),
        "writes": { "additions": writes.additions, "bytes": writes.bytes },
        "stated_additions": work.additions,
    })
}

fn describe(kernel: &Selected, options: &Options, rows: &[roofline::RooflineRow]) -> serde_json::Value {
    let candidates: Vec<_> = kernel
        .selection
        .records
        .iter()
        .map(|record| json!({"emitter": record.identity, "outcome": report::outcome(&record.outcome)}))
        .collect();
    let fusion = &kernel.unit.fusion;
    let name = |id: InstrId| fusion.computation().instruction(id).name.clone();
    let heroes: Vec<_> = heroes(fusion, &options.device, &options.emitters)
        .into_iter()
        .map(|(Hero { root, instruction, reason }, kind)| {
            let kind = kind.map_or_else(|| "none".into(), |kind| kind.to_string());
            let instruction = name(instruction.unwrap_or(root));
            json!({ "root": name(root), "instruction": instruction, "kind": kind, "reason": reason })
        })
        .collect();
    json!({
        "fusion": fusion.name,
        "fingerprint": Fingerprint::of(fusion).to_string(),
        "uses": kernel.unit.uses,
        "roots": fusion.roots.iter().map(|&root| name(root)).collect::<Vec<_>>(),
        "heroes": heroes,
        "kind": kernel.selection.kind.as_ref().map(ToString::to_string),
        "emitter": kernel.emitter.name,
        "version": kernel.emitter.version,
        "candidates": candidates,
        "blocks": kernel.plan.launch.blocks,
        "threads_per_block": kernel.plan.launch.threads_per_block,
        "shared_bytes": kernel.plan.shared_bytes,
        "vector_lanes": kernel.plan.vector_lanes,
        "knobs": kernel.plan.configuration.0,
        "notes": kernel.plan.notes,
        "outputs": kernel.plan.outputs.iter().map(report::maps).collect::<Vec<_>>(),
        "bytes_read": kernel.prediction.read,
        "bytes_written": kernel.prediction.written,
        "predicted_us": kernel.prediction.seconds * 1e6,
        "prediction": described(fusion, &breakdown(&kernel.plan, fusion, &options.device)),
        "roofline": rows.iter().find(|row| row.fusion == fusion.name),
    })
}
