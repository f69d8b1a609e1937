//! Writes a folder that contains everything to reproduce the compilation of a module: the module,
//! the inputs, the output of every stage, and a script. The script runs the module with the same
//! choices of emitters, and fails if the result is wrong.

use std::path::Path;

use fusebox_compiler::{Dump, Emitters, Options, Phase, Selected, compile};
use fusebox_core::hlo::{ComputationId, InstrId, Literal, Module, Op};
use fusebox_files::NewFolder;
use fusebox_lowering::Lowering;
use fusebox_runtime::npz::write_outputs;

use crate::WorkshopError;
use crate::case::Case;
use crate::probe::Probe;
use crate::stages::{JudgedStage, KernelStages};

/// The content of the folder.
pub struct Repro<'r> {
    pub case: &'r Case,
    /// Options with which the module is compiled.
    pub options: &'r Options,
    /// The target as the command line names it.
    pub target: &'r str,
    /// Description of the fault or fusion.
    pub about: &'r str,
}

const MODULE: &str = "module.hlo";
const INPUTS: &str = "inputs.npz";
const EXPECTED: &str = "expected.npz";
pub const STAGES: &str = "stages";

/// Writes the whole folder, or nothing if an error occurs. If the case is a fusion, returns for
/// each stage whether the kernel is right after the stage.
///
/// # Errors
/// If the folder is not empty and `may_be_occupied` is false, a file cannot be written, or the
/// module cannot be compiled or interpreted.
pub fn write(place: &Path, may_be_occupied: bool, repro: &Repro<'_>) -> Result<Vec<JudgedStage>, WorkshopError> {
    let new = NewFolder::draft(place, may_be_occupied)?;
    let folder = new.path();
    let Repro { case, options, .. } = repro;
    let dump = Dump::to(folder.join(STAGES))?;
    let emitters = Emitters { of_part: true, ..options.emitters.clone() };
    let options = Options { dump, emitters, until: Phase::Run, ..(*options).clone() };
    let made = compile(&case.source(), &options)?;
    let stages = KernelStages::of(case, &Options { dump: Dump::default(), ..options })?;
    let judged = stages.as_ref().map(KernelStages::judged).transpose()?.unwrap_or_default();
    fusebox_files::write(&folder.join(MODULE), &case.source().bytes)?;
    write_outputs(&folder.join(INPUTS), &Literal::Tuple(case.inputs.clone()))?;
    write_outputs(&folder.join(EXPECTED), &case.expected_result()?)?;
    let in_charge: Vec<usize> = made.kernels.iter().filter_map(|kernel| kernel.selection.in_charge).collect();
    let command = command(repro, &in_charge);
    fusebox_files::write(&folder.join("check.sh"), script(&command).as_bytes())?;
    fusebox_files::write(&folder.join("README.md"), readme(repro, &command, &judged).as_bytes())?;
    new.put()?;
    Ok(judged)
}

/// Returns the arguments with which fusebox runs the module of the folder. Includes only those
/// choices of the user that affect the module, because fusebox would reject other choices.
fn command(repro: &Repro<'_>, in_charge: &[usize]) -> String {
    let Repro { options, target, .. } = repro;
    let mut words = vec!["run".into(), MODULE.into(), "--inputs".into(), INPUTS.into()];
    words.extend(["--check".into(), "--no-config".into(), "--target".into(), quoted(target)]);
    if options.target.lowering() != Lowering::default() {
        words.extend(["--lowering".into(), options.target.lowering().name().into()]);
    }
    let emitters = &options.emitters;
    let mut libraries: Vec<&Path> = emitters.registry.emitters().iter().filter_map(|it| it.origin().path()).collect();
    libraries.dedup();
    words.extend(libraries.iter().flat_map(|path| ["--load".into(), quoted(&path.display().to_string())]));
    let chosen = emitters.overrides.iter().enumerate().filter(|(number, _)| in_charge.contains(number));
    let mut specs: Vec<&str> = chosen.map(|(_, choice)| choice.spec.as_str()).collect();
    specs.dedup();
    words.extend(specs.iter().flat_map(|spec| ["--emitter".into(), quoted(spec)]));
    words.join(" ")
}

/// Quotes a text so that a shell reads it as one word.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=@:".contains(c);
    if text.chars().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

fn script(command: &str) -> String {
    format!(
        "#!/bin/sh\n\
         # Passes if the compiled module gives the result of the interpreter. FUSEBOX names another fusebox program;\n\
         # further arguments are passed on.\n\
         cd \"$(dirname \"$0\")\" || exit 2\n\
         exec \"${{FUSEBOX:-fusebox}}\" {command} \"$@\"\n"
    )
}

fn readme(repro: &Repro<'_>, command: &str, stages: &[JudgedStage]) -> String {
    format!(
        "# {name}\n\n{about}\n\n    fusebox {command}\n\n\
         `sh check.sh` runs this, with the program that `FUSEBOX` names, and fails if the result is not the interpreter's. \
         Written by fusebox {version}.\n\n\
         * `{MODULE}`: the module.\n\
         * `{INPUTS}`: its inputs, `arr_0`, `arr_1`, … in the order of its parameters, tuples flattened.\n\
         * `{EXPECTED}`: the interpreter's results.\n\
         * `{STAGES}/`: the module after every phase and stage, numbered.\n{stages}",
        stages = table(stages),
        name = repro.case.module.name,
        about = repro.about,
        version = env!("CARGO_PKG_VERSION"),
    )
}

/// Returns a table that states for each stage whether the kernel interpreter found the right
/// result.
fn table(stages: &[JudgedStage]) -> String {
    let row = |it: &JudgedStage| format!("| {} | `{STAGES}/{}` | {} |\n", it.stage.name(), it.file, it.judgement);
    let head = "\n\
                The kernel after each stage, executed on the inputs by the interpreter of kernels:\n\
                \n\
                | stage | file | result |\n\
                | --- | --- | --- |\n";
    if stages.is_empty() { String::new() } else { head.to_owned() + &stages.iter().map(row).collect::<String>() }
}

/// Returns a fusion of a compiled program as a case. The inputs of the case are the operands that
/// the program passes to the fusion. If the fusion is in a loop, the inputs are the operands of the
/// first iteration.
///
/// # Errors
/// If no sequence of the program uses the fusion, or the program fails.
pub fn fusion(
    fused: &Module,
    kernel: &Selected,
    inputs: &[Literal],
    options: &Options,
    run: &fusebox_runtime::Options,
) -> Result<Case, WorkshopError> {
    let way = fused.entry.and_then(|entry| way_to(fused, entry, &kernel.unit.uses));
    let way =
        way.ok_or_else(|| WorkshopError::Interface(format!("nothing runs fusion {}", kernel.unit.fusion.name)))?;
    let mut inputs = inputs.to_vec();
    for PathStep { sequence, operands } in way {
        let values = Probe::new(fused, sequence, operands.clone(), options, run)?.values(&inputs)?;
        inputs = operands.iter().map(|operand| values[operand.index()].clone()).collect();
    }
    Ok(Case::of_fusion(kernel, inputs))
}

/// A step on the path from the entry to a fusion. A step consists of a sequence of instructions,
/// and of the operands that this sequence passes to the next sequence or to the fusion.
struct PathStep {
    sequence: ComputationId,
    operands: Vec<InstrId>,
}

/// Returns the path that leads from a sequence, through loops and branches, to a fusion
/// instruction. The name of this instruction is one of `names`.
fn way_to(module: &Module, sequence: ComputationId, names: &[String]) -> Option<Vec<PathStep>> {
    module.computation(sequence).instructions.iter().find_map(|instruction| {
        let operands = &instruction.operands;
        let inner = |called: ComputationId, operands: &[InstrId]| {
            let stop = PathStep { sequence, operands: operands.to_vec() };
            Some([stop].into_iter().chain(way_to(module, called, names)?).collect())
        };
        match &instruction.op {
            Op::Fusion { .. } if names.contains(&instruction.name) => {
                Some(vec![PathStep { sequence, operands: operands.clone() }])
            }
            Op::While { condition, body } => inner(*condition, operands).or_else(|| inner(*body, operands)),
            Op::Conditional { branches } => {
                let arguments = operands[1..].chunks(1);
                branches.iter().zip(arguments).find_map(|(&branch, argument)| inner(branch, argument))
            }
            _ => None,
        }
    })
}
