//! `fusebox explain`: which emitter makes which kernel, and why.

use fusebox_compiler::{Compilation, Phase, Selected, report};

use serde_json::json;

use crate::arguments::Explain;
use crate::exit::Failure;
use crate::module;

/// Explains.
pub fn run(arguments: &Explain) -> Result<(), Failure> {
    let source = module::read(&arguments.common.module)?;
    let made = module::compile(&source, &arguments.common, None, Phase::Emit, Vec::new())?;
    match arguments.json {
        true => println!("{}", serde_json::Value::Array(made.kernels.iter().map(describe).collect())),
        false => print(&made),
    }
    Ok(())
}

fn print(made: &Compilation) {
    for kernel in &made.kernels {
        print!("{}", report::kernel(kernel));
        println!();
    }
    for line in report::host_operations(&made.fused) {
        println!("{line}");
    }
}

fn describe(kernel: &Selected) -> serde_json::Value {
    let candidates: Vec<_> = kernel
        .selection
        .records
        .iter()
        .map(|record| json!({"emitter": record.identity, "outcome": report::outcome(&record.outcome)}))
        .collect();
    json!({
        "fusion": kernel.unit.fusion.name,
        "uses": kernel.unit.uses,
        "emitter": kernel.emitter.name,
        "version": kernel.emitter.version,
        "candidates": candidates,
        "blocks": kernel.plan.launch.blocks,
        "threads_per_block": kernel.plan.launch.threads_per_block,
        "shared_bytes": kernel.plan.shared_bytes,
        "vector_lanes": kernel.plan.vector_lanes,
        "outputs": kernel.plan.outputs.iter().map(report::maps).collect::<Vec<_>>(),
        "bytes": report::bytes(kernel),
    })
}
