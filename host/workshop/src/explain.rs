//! Shows which emitter builds each kernel of a program, and why.

use std::io::{self, Write};

use fusebox_compiler::{Compilation, Options, Selected, heroes, report};
use fusebox_core::analysis::Hero;
use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::InstrId;
use fusebox_plugins::Fingerprint;
use fusebox_prediction::{Amount, Breakdown, breakdown};
use glob::Pattern;
use serde_json::{Value, json};

use crate::WorkshopError;
use crate::roofline::{self, RooflineRow};

/// Returns the kernels of all fusions whose names match `pattern`. Without a pattern, returns all
/// kernels.
///
/// # Errors
/// If no fusion matches the pattern.
pub fn matching<'m>(made: &'m Compilation, pattern: Option<&Pattern>) -> Result<Vec<&'m Selected>, WorkshopError> {
    let name = |kernel: &Selected| kernel.unit.fusion.name.clone();
    let Some(pattern) = pattern else { return Ok(made.kernels.iter().collect()) };
    let meant: Vec<&Selected> = made.kernels.iter().filter(|kernel| pattern.matches(&name(kernel))).collect();
    if meant.is_empty() {
        let known = made.kernels.iter().map(name).collect::<Vec<_>>().join(", ");
        return Err(WorkshopError::NoSuchFusion { pattern: pattern.to_string(), known });
    }
    Ok(meant)
}

/// Writes a table: one line for each fusion, and one line for each operation that no kernel
/// executes. `advice` is the last line, which tells how to ask for details.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_table(out: &mut dyn Write, made: &Compilation, rows: &[RooflineRow], advice: &str) -> io::Result<()> {
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
    writeln!(out, "{advice}")
}

/// Writes all details of these kernels, and then a table of them. If `all`, also writes composites,
/// host routines and the outcome of each bid.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_kernels(
    out: &mut dyn Write,
    made: &Compilation,
    kernels: &[&Selected],
    rows: &[RooflineRow],
    options: &Options,
    all: bool,
) -> io::Result<()> {
    for kernel in kernels {
        let heroes = heroes(&kernel.unit.fusion, &options.device, &options.emitters);
        writeln!(out, "{}", report::kernel(kernel, &heroes, &options.device))?;
    }
    if all {
        write_others(out, made)?;
    }
    let is_meant = |row: &&RooflineRow| kernels.iter().any(|kernel| kernel.unit.fusion.name == row.fusion);
    roofline::write(out, &rows.iter().filter(is_meant).cloned().collect::<Vec<_>>())
}

/// Writes composites, host routines and the outcome of each bid.
fn write_others(out: &mut dyn Write, made: &Compilation) -> io::Result<()> {
    made.composites.iter().try_for_each(|composite| writeln!(out, "{}", report::composite(composite)))?;
    let mut lines = report::host_operations(&made.fused).into_iter().chain(report::bids(&made.bids));
    lines.try_for_each(|line| writeln!(out, "{line}"))?;
    writeln!(out)
}

/// Describes a kernel as JSON.
pub fn describe(kernel: &Selected, options: &Options, rows: &[RooflineRow]) -> Value {
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

/// Describes the components of a predicted time as JSON: microseconds, additions, and bytes that
/// move through memory.
fn described(fusion: &Fusion, Breakdown { visits, writes, work, times }: &Breakdown) -> Value {
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
