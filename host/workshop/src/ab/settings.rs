//! The settings of a comparison: the sides to compare and the way to measure them.

use fusebox_compiler::Source;
use fusebox_plugins::Registry;
use fusebox_run::inputs::InputChoice;

use crate::measure::Effort;

/// Settings common to both sides.
pub struct ComparisonSettings {
    /// Options of compilation. Each side replaces the emitters in the common options by its own
    /// emitters.
    pub compile: fusebox_compiler::Options,
    /// The bundled emitters. If the interpreter is too slow, the results of the bundled emitters
    /// are the reference.
    pub bundled: Registry,
    /// Options with which programs run.
    pub run: fusebox_runtime::Options,
    /// Name of the target, as an argument for another fusebox program.
    pub target: String,
    /// Inputs of the program. Fusions in isolation run on random inputs.
    pub inputs: InputChoice,
    /// Pattern that selects the fusions to compare by name. `None` selects the fusions for which
    /// the sides build different kernels.
    pub fusion: Option<glob::Pattern>,
    /// Number of pairs to measure, and limits of the measurement.
    pub effort: Effort,
}

/// A module to compare, and its inputs.
#[derive(Clone, Copy)]
pub struct Trial<'a> {
    pub source: &'a Source,
    /// Whether the module is a part of a program.
    pub of_part: bool,
    pub choice: &'a InputChoice,
    pub settings: &'a ComparisonSettings,
}
