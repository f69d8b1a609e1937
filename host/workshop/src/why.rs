//! Explains how passes, fusion and emitters treated an instruction, and why.

use fusebox_compiler::{Compilation, Options, Source, Step};
use fusebox_core::hlo::{Computation, Instruction, Module};

use crate::WorkshopError;

/// Largest number of similar names in an error.
const MOST_SIMILAR: usize = 8;

/// Explains the history of the instructions with this name, one line for each fact.
///
/// # Errors
/// If neither the text, nor the module after any pass, nor a fusion contains an instruction with
/// this name.
pub fn why(name: &str, source: &Source, made: &Compilation, options: &Options) -> Result<Vec<String>, WorkshopError> {
    let mut module = source.parse()?;
    let mut is_there = !all(&module, name).is_empty();
    let mut lines: Vec<String> = all(&module, name).into_iter().map(described).collect();
    for step in Step::all().filter(|step| *step != Step::Fuse) {
        step.apply(&mut module, options)?;
        let now = all(&module, name);
        match (is_there, now.first()) {
            (true, None) => lines.push(format!("pass `{}` removes it", step.name())),
            (false, Some(&new)) => lines.push(format!("pass `{}` creates it: {}", step.name(), described(new))),
            _ => {}
        }
        is_there = !now.is_empty();
    }
    let reasons: Vec<_> = made.reasons.iter().filter(|reason| reason.instruction == name).collect();
    lines.extend(reasons.iter().map(|reason| format!("in `{}`: {}", reason.computation, reason.outcome)));
    let computing =
        made.kernels.iter().map(|kernel| &kernel.unit.fusion).filter(|it| it.computation().find(name).is_some());
    // If fusion recorded no reason for the instruction, a bid around another anchor included the
    // instruction.
    let is_about = |anchor: &str| {
        let is_beside = computing.clone().any(|fusion| fusion.computation().find(anchor).is_some());
        anchor == name || reasons.is_empty() && is_beside
    };
    let bids = made.bids.iter().filter(|bid| is_about(&bid.anchor));
    lines.extend(bids.map(|bid| format!("around `{}`: {} {}", bid.anchor, bid.emitter, bid.outcome)));
    for kernel in &made.kernels {
        if kernel.unit.fusion.computation().find(name).is_some() {
            let (fusion, emitter) = (&kernel.unit.fusion.name, &kernel.emitter);
            lines.push(format!("fusion `{fusion}` computes it, by emitter {} {}", emitter.name, emitter.version));
        }
    }
    if lines.is_empty() {
        Err(WorkshopError::NoSuchInstruction { name: name.into(), similar: similar(name, &made.fused) })
    } else {
        Ok(lines)
    }
}

fn all<'m>(module: &'m Module, name: &str) -> Vec<(&'m Computation, &'m Instruction)> {
    let of = |computation: &'m Computation| {
        computation
            .instructions
            .iter()
            .filter(|it| it.name == name)
            .map(move |it| (computation, it))
            .collect::<Vec<_>>()
    };
    module.computations.iter().flat_map(of).collect()
}

fn described((computation, instruction): (&Computation, &Instruction)) -> String {
    let shape = instruction.shape.as_array().map_or_else(|| "tuple".to_owned(), ToString::to_string);
    format!("`{}` is {} {shape} in `{}`", instruction.name, instruction.opcode(), computation.name)
}

/// Returns instruction names that contain this name, and names that this name contains.
fn similar(name: &str, module: &Module) -> String {
    let names = module.computations.iter().flat_map(|it| &it.instructions).map(|it| it.name.as_str());
    let mut similar: Vec<&str> = names.filter(|it| it.contains(name) || name.contains(it)).collect();
    similar.sort_unstable();
    similar.dedup();
    similar.truncate(MOST_SIMILAR);
    if similar.is_empty() { "no name is similar".into() } else { format!("there are {}", similar.join(", ")) }
}
