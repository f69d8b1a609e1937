//! A/B: compares two sides on one module. A side is a choice of emitters, or another fusebox
//! program. The comparison covers the whole program, and each fusion for which the sides build
//! different kernels.
//!
//! ```text
//! settings.rs  what to compare, and how
//! side.rs      a choice of emitters, or another fusebox -> a compiled module
//! fusions.rs   both compiled programs -> the fusions to compare in isolation
//! judge.rs     judges results by a reference
//! trial.rs     both sides compiled -> results judged and compared, times measured alternately, roof
//! report.rs    the result as data
//! table.rs     the report as text
//! ```

mod fusions;
mod judge;
mod report;
mod settings;
mod side;
mod table;
mod trial;

use fusebox_compiler::Source;
use fusebox_run::inputs::InputChoice;

use crate::WorkshopError;
use crate::measure::DisturbanceWatch;
use settings::Trial;

pub use judge::ResultJudgement;
pub use report::{Comparison, ComparisonReport, MeasuredTimes, SideFigures};
pub use settings::ComparisonSettings;
pub use side::{Side, SideCompiler};
pub use table::{write, write_summary};

/// Compares two sides on a module.
///
/// # Errors
/// If a side cannot compile or run the module, if no fusion matches the pattern, or if the shapes
/// of parameters or results differ between the sides.
pub fn compare(
    source: &Source,
    a: &Side,
    b: &Side,
    settings: &ComparisonSettings,
) -> Result<ComparisonReport, WorkshopError> {
    let mut watch = DisturbanceWatch::new();
    let both = trial::CompiledSides::compile(a, b, source, false, settings)?;
    let (of_a, of_b) = (both.a.kernels.as_deref(), both.b.kernels.as_deref());
    let chosen = fusions::choose(of_a, of_b, settings.fusion.as_ref(), a.lowers_like(b))?;
    let trial = Trial { source, of_part: false, choice: &settings.inputs, settings };
    let program = both.compare("program", &trial, &mut watch)?;
    let random = InputChoice { seed: settings.inputs.seed, ..InputChoice::default() };
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
