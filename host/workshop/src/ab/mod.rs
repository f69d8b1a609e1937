//! A/B: two sides on one module, the whole program and each fusion of which they make different kernels.
//!
//! ```text
//! side.rs     a choice of emitters, or another fusebox -> what it makes of a module
//! fusions.rs  what both make of the program -> the fusions to compare alone
//! judge.rs    a reference's word on the results
//! trial.rs    what both made -> results judged and compared, times in turns, the roof
//! report.rs   all of it as data
//! table.rs    as a text
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
use crate::measure::{Effort, Watch};
use trial::Trial;

pub use judge::Judgement;
pub use report::{Comparison, Figures, Measured, Report};
pub use side::{Maker, Side};
pub use table::{write, write_summary};

/// What both sides have in common.
pub struct Settings {
    /// How to compile; each side has emitters of its own.
    pub compile: fusebox_compiler::Options,
    /// The emitters that come with fusebox. Their results count as right where the interpreter
    /// takes long.
    pub bundled: Registry,
    /// How to run.
    pub run: fusebox_runtime::Options,
    /// The target as another fusebox is told it.
    pub target: String,
    /// What the program runs on. Fusions alone run on random numbers.
    pub inputs: InputChoice,
    /// The fusions to compare, by a pattern of their names; without: those of which the sides make different kernels.
    pub fusion: Option<glob::Pattern>,
    /// How much to measure.
    pub effort: Effort,
}

/// Compares two sides on a module.
///
/// # Errors
/// If a side does not compile or run the module, the sides' interfaces differ, or the pattern fits no fusion.
pub fn compare(source: &Source, a: &Side, b: &Side, settings: &Settings) -> Result<Report, WorkshopError> {
    let mut watch = Watch::new();
    let both = trial::Both::make(a, b, source, false, settings)?;
    let chosen = fusions::choose(both.a.kernels.as_deref(), both.b.kernels.as_deref(), settings.fusion.as_ref())?;
    let trial = Trial { source, of_part: false, choice: &settings.inputs, settings };
    let program = both.compare("program", &trial, &mut watch)?;
    let random = InputChoice { inputs: None, seed: settings.inputs.seed };
    let alone = |fusion: &fusions::Fusion| {
        let both = trial::Both::make(a, b, &fusion.source, true, settings)?;
        let trial = Trial { source: &fusion.source, of_part: true, choice: &random, settings };
        both.compare(&fusion.name, &trial, &mut watch)
    };
    Ok(Report {
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
