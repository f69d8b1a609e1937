//! The steps from a parsed module to a module with fusions.

use fusebox_core::hlo::{Module, verify};
use fusebox_edit::EditError;
use fusebox_plugins::KnownPlans;

use crate::fuse::{self, Claims, FusionOutcome};
use crate::passes::PASSES;
use crate::{CompileError, Options, Phase, host_operations, wide};

/// A step that rewrites a module to an equivalent one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A pass, identified by its number in `PASSES`.
    Pass(usize),
    /// Fusion.
    Fuse,
}

impl Step {
    /// All steps in order.
    pub fn all() -> impl Iterator<Item = Step> {
        Step::passes().chain([Step::Fuse])
    }

    pub(crate) fn passes() -> impl Iterator<Item = Step> {
        (0..PASSES.len()).map(Step::Pass)
    }

    /// Returns the name of the step in dumps.
    pub fn name(self) -> &'static str {
        match self {
            Step::Pass(number) => PASSES[number].name,
            Step::Fuse => "fuse",
        }
    }

    /// Applies this step to a module that has passed the earlier steps.
    ///
    /// # Errors
    /// If the module is not supported.
    pub fn apply(self, module: &mut Module, options: &Options) -> Result<(), CompileError> {
        let known = KnownPlans::default();
        match self {
            Step::Pass(number) => {
                pass(number, module, &mut Claims::new(&options.device, &options.emitters, &known), options)
            }
            Step::Fuse => fuse(module, options, &known).map(|_| ()),
        }
    }
}

pub fn pass(number: usize, module: &mut Module, claims: &mut Claims, options: &Options) -> Result<(), CompileError> {
    let pass = &PASSES[number];
    let name = pass.name;
    if options.departures.without_passes.contains(&name) {
        return Ok(());
    }
    let is_verified = options.departures.is_verified();
    pass.apply(module, claims, is_verified)?;
    options.departures.planted.in_module(name, module);
    if is_verified { check(module, Phase::Passes, name) } else { Ok(()) }
}

/// Fuses instructions. Adds the plans of emitters to `known`.
pub fn fuse(module: &mut Module, options: &Options, known: &KnownPlans) -> Result<FusionOutcome, CompileError> {
    let most = options.target.most_buffers();
    let internal = |fault: EditError| CompileError::Internal { phase: Phase::Fuse.name(), message: fault.to_string() };
    wide::split(module, most).map_err(internal)?;
    let outcome = fuse::run(module, &options.device, &options.emitters, known).map_err(internal)?;
    options.departures.planted.in_module(Step::Fuse.name(), module);
    if options.departures.is_verified() {
        check(module, Phase::Fuse, Step::Fuse.name())?;
    }
    host_operations::check(module)?;
    match wide::refused(module, most) {
        refused if refused.is_empty() => Ok(outcome),
        refused => Err(CompileError::Module(refused)),
    }
}

/// Checks that the module is valid after a step.
fn check(module: &Module, phase: Phase, step: &str) -> Result<(), CompileError> {
    verify(module).map_err(|faults| {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        CompileError::Internal { phase: phase.name(), message: format!("after {step}: {}", faults.join("\n")) }
    })
}
