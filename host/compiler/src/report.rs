//! Prints decisions as text, for dumps and `explain`.

use std::convert::Infallible;
use std::fmt::Write;

use fusebox_core::analysis::Hero;
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{KernelKind, OutputPlan};
use fusebox_core::hlo::{Instruction, Module};
use fusebox_core::times::microseconds;
use fusebox_lowering::Composite;
use fusebox_plugins::{Fingerprint, Outcome};
use fusebox_prediction::{Amount, Breakdown, Prediction, Times, breakdown};
use fusebox_routines::Unsupported;
use fusebox_runtime::{Allocation, AllocationKind, Executable};
use fusebox_thunks::{Names, print};

use crate::fuse::BidRecord;
use crate::host_operations;
use crate::select::Selected;
use crate::{MemoryUse, SharedBuffer};

/// Prints the chosen emitter, and why the other emitters were not chosen.
pub fn selection(selected: &Selected) -> String {
    let mut text = format!("{}: {} {}\n", selected.unit.fusion.name, selected.emitter.name, selected.emitter.version);
    let _ = writeln!(text, "  fingerprint: {}", Fingerprint::of(&selected.unit.fusion));
    if let Some(kind) = &selected.selection.kind {
        let _ = writeln!(text, "  kind: {kind}");
    }
    for record in &selected.selection.records {
        let _ = writeln!(text, "  {}: {}", record.identity, outcome(&record.outcome));
    }
    for failure in &selected.failures {
        let _ = writeln!(text, "  passed over: {failure}");
    }
    text
}

/// Prints the outcome of selection for one emitter.
pub fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Chosen(reason) => format!("chosen: {reason}"),
        Outcome::Passed(reason) => format!("accepts, {reason}, but another comes first"),
        Outcome::Declined(reason) => format!("declines: {reason}"),
        Outcome::Failed(failure) => format!("failed: {failure}"),
    }
}

/// Prints the indexing maps of an output.
pub fn maps(output: &OutputPlan) -> String {
    output.maps.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Prints everything about one kernel with these [heroes](crate::heroes): its computation, emitter,
/// plan, memory traffic and predicted time.
pub fn kernel(selected: &Selected, heroes: &[(Hero, Option<KernelKind>)], device: &DeviceDescription) -> String {
    let fusion = &selected.unit.fusion;
    let computation = fusion.computation();
    let mut text = selection(selected);
    let roots: Vec<String> = fusion
        .roots
        .iter()
        .map(|&root| computation.instruction(root))
        .map(|root| format!("{} ({})", root.name, root.opcode()))
        .collect();
    let _ = writeln!(text, "  roots: {}", roots.join(", "));
    for (hero, kind) in heroes {
        let asked = kind.as_ref().map_or_else(String::new, |kind| format!(" (asked for by emitters of kind {kind})"));
        let _ = writeln!(text, "  hero: {}{asked}", hero.reason);
    }
    let _ = writeln!(text, "  instructions: {}", computation.instructions.len());
    if selected.unit.uses.len() > 1 {
        let _ = writeln!(text, "  serves: {}", selected.unit.uses.join(", "));
    }
    selected.plan.to_string().lines().for_each(|line| {
        let _ = writeln!(text, "  {line}");
    });
    let Prediction { read, written, seconds } = selected.prediction;
    let _ = writeln!(text, "  predicted: {read} bytes read, {written} written, {} us", microseconds(seconds * 1e6, 1));
    prediction(&mut text, selected, device);
    text
}

/// Prints the parts of a kernel's predicted time: launch, computing, memory, waiting.
fn prediction(text: &mut String, selected: &Selected, device: &DeviceDescription) {
    let fusion = &selected.unit.fusion;
    let Breakdown { visits, writes, work, times } = breakdown(&selected.plan, fusion, device);
    let us = |seconds: f64| microseconds(seconds * 1e6, 1);
    let Times { launch, computing, memory, waiting, unordered } = times;
    let _ = write!(
        text,
        "    {} us for launch and distribution; computing {}, memory {}, ",
        us(launch),
        us(computing),
        us(memory)
    );
    let _ = write!(text, "waiting {}; the longest counts in full, the others by a quarter", us(waiting));
    let unordered = if unordered > 0.0 { "; plus a penalty, as results may differ from run to run" } else { "" };
    let _ = writeln!(text, "{unordered}");
    let amount =
        |Amount { additions, bytes }: Amount| format!("{additions:.0} additions, {bytes:.0} bytes through memory");
    for (values, done) in visits {
        let names: Vec<&str> = values.iter().map(|&id| fusion.computation().instruction(id).name.as_str()).collect();
        let _ = writeln!(text, "    visit of {}: {}", names.join(", "), amount(done));
    }
    let _ = writeln!(text, "    writes: {}", amount(writes));
    if work.additions > 0.0 {
        let _ = writeln!(text, "    work that the plan states: {:.0} additions", work.additions);
    }
}

/// Prints one line per operation that a routine of the host executes.
pub fn host_operations(module: &Module) -> Vec<String> {
    let line = |(instruction, described): (&Instruction, Result<String, Unsupported>)| {
        let how = described.unwrap_or_else(|none| none.to_string());
        format!("{}: {} is executed by a host routine: {how}", instruction.name, instruction.opcode())
    };
    host_operations::of(module).into_iter().map(line).collect()
}

/// Prints one line per anchor and emitter: the outcome of the emitter's bid, or the reason why the
/// emitter made no bid.
pub fn bids(bids: &[BidRecord]) -> Vec<String> {
    let line = |bid: &BidRecord| format!("{}: {} {}", bid.anchor, bid.emitter, bid.outcome);
    bids.iter().map(line).collect()
}

/// Prints the bytes of memory by purpose, and the values that are alive at the peak.
pub fn memory(memory: &MemoryUse) -> String {
    let MemoryUse { arguments, constants, outputs, temporaries, total, peak, waste, peak_step, alive, shared } = memory;
    let mut text = format!(
        "arguments {arguments}, constants {constants}, outputs {outputs}, temporaries {temporaries}: {total} bytes\n\
         peak of outputs and temporaries: {peak} bytes at step {peak_step}; gaps between them take {waste} more\n"
    );
    for SharedBuffer { output, input, parameter } in shared {
        let _ = writeln!(text, "result {output} uses the buffer of input {input}, which {parameter} donates");
    }
    for it in alive {
        let _ = writeln!(text, "{:>14} bytes, steps {} to {}: {}", it.bytes, it.first, it.last, it.instruction);
    }
    text
}

/// Prints the steps and the memory of an executable. `composites` are the loops that the same
/// compilation has compiled to functions.
pub fn thunks(executable: &Executable, composites: &[Composite]) -> String {
    let mut text = String::new();
    allocations(&mut text, &executable.allocations, "");
    for composite in composites {
        text.push_str(&self::composite(composite));
    }
    let host_op = |&number: &u32| {
        let op = &executable.host_ops[number as usize];
        format!("{} ({})", op.name, op.opcode)
    };
    let names =
        Names { kernel: &|&number: &u32| executable.kernels[number as usize].symbol.clone(), host_op: &host_op };
    print(&mut text, &executable.thunks, 0, &names);
    for op in &executable.host_ops {
        let Some(code) = &op.per_device else { continue };
        let _ = writeln!(text, "each of {} devices of {}:", code.devices.len(), op.name);
        allocations(&mut text, &code.allocations, "  ");
        print(&mut text, &code.thunks, 1, &names);
    }
    text
}

fn allocations(text: &mut String, allocations: &[Allocation], indent: &str) {
    for (index, allocation) in allocations.iter().enumerate() {
        let kind = match &allocation.kind {
            AllocationKind::Parameter => "parameter",
            AllocationKind::Donated => "donated parameter",
            AllocationKind::Constant(_) => "constant",
            AllocationKind::Temporary => "temporary",
            AllocationKind::Result => "result",
        };
        let _ = writeln!(text, "{indent}allocation {index}: {} bytes, {kind}", allocation.bytes);
    }
}

/// Prints the buffers and steps of a loop that is compiled to one function.
pub fn composite(composite: &Composite) -> String {
    let arguments = composite.arguments.iter().enumerate();
    let given = arguments.map(|(number, argument)| format!("{number}: {} bytes", argument.bytes));
    let own = composite.own.iter().zip(composite.arguments.len()..);
    let own = own.map(|(bytes, number)| format!("own {number}: {bytes} bytes"));
    let buffers: Vec<String> = given.chain(own).collect();
    let mut text = format!("function {} ({})\n", composite.name, buffers.join(", "));
    let names = Names { kernel: &String::clone, host_op: &|op: &Infallible| match *op {} };
    print(&mut text, &composite.steps, 1, &names);
    text
}
