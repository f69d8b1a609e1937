//! A/B: compares two sides on one module: the whole program, and each fusion for which they build
//! different kernels.
//!
//! ```text
//! side.rs     a choice of emitters, or another fusebox -> a compiled module
//! fusions.rs  both compiled programs -> the fusions to compare in isolation
//! judge.rs    judges results by a reference
//! trial.rs    both sides compiled -> results judged and compared, times measured alternately, roof
//! report.rs   the result as data
//! table.rs    the report as text
//! ```

mod fusions;
mod judge;
mod report;
mod side;
mod table;
mod trial;

use fusebox_compiler::Source;
use fusebox_plugins::Registry;
use fusebox_run::inputs::InputChoice;

use crate::WorkshopError;
use crate::measure::{DisturbanceWatch, Effort};
use trial::Trial;

pub use judge::ResultJudgement;
pub use report::{Comparison, ComparisonReport, MeasuredTimes, SideFigures};
pub use side::{Side, SideCompiler};
pub use table::{write, write_summary};

/// Settings common to both sides.
pub struct ComparisonSettings {
    /// How to compile; each side replaces the emitters by its own.
    pub compile: fusebox_compiler::Options,
    /// The bundled emitters. Their results are the reference where the interpreter is too slow.
    pub bundled: Registry,
    /// How to run.
    pub run: fusebox_runtime::Options,
    /// Name of the target, passed to another fusebox program.
    pub target: String,
    /// Inputs of the program. Fusions in isolation run on random inputs.
    pub inputs: InputChoice,
    /// Pattern of the names of fusions to compare. `None`: fusions for which the sides build
    /// different kernels.
    pub fusion: Option<glob::Pattern>,
    /// How much to measure.
    pub effort: Effort,
}

/// Compares two sides on a module.
///
/// # Errors
/// If a side does not compile or run the module, the sides' interfaces differ, or no fusion matches
/// the pattern.
pub fn compare(
    source: &Source,
    a: &Side,
    b: &Side,
    settings: &ComparisonSettings,
) -> Result<ComparisonReport, WorkshopError> {
    let mut watch = DisturbanceWatch::new();
    let both = trial::CompiledSides::compile(a, b, source, false, settings)?;
    let (of_a, of_b) = (both.a.kernels.as_deref(), both.b.kernels.as_deref());
    let chosen = fusions::choose(of_a, of_b, settings.fusion.as_ref(), a.mlir_passes == b.mlir_passes)?;
    let trial = Trial { source, of_part: false, choice: &settings.inputs, settings };
    let program = both.compare("program", &trial, &mut watch)?;
    let random = InputChoice { inputs: None, seed: settings.inputs.seed };
    let alone = |fusion: &fusions::ComparedFusion| {
        let both = trial::CompiledSides::compile(a, b, &fusion.source, true, settings)?;
        let trial = Trial { source: &fusion.source, of_part: true, choice: &random, settings };
        both.compare(&fusion.name, &trial, &mut watch)
    };
    Ok(ComparisonReport {
        module: source.name.clone(),
        target: settings.target.clone(),
        a: a.name.clone(),
        b: b.name.clone(),
        program,
        fusions: chosen.compared.iter().map(alone).collect::<Result<_, _>>()?,
        only_in_a: chosen.only_in_a,
        only_in_b: chosen.only_in_b,
    })
}
