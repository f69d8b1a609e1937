//! Finds the first pass, fusion or stage whose result is wrong.
//!
//! ```text
//! program right? ── yes ─> nothing to find
//!   │ no
//! steps.rs    the interpreter on the module after every pass, and after fusion       ─> a pass, a fusion
//! thunks.rs   each step of the compiled program, by the interpreter on its operands  ─> a kernel, a routine, the buffers
//! kernel.rs   the kernel after every stage of lowering, by the interpreter of kernels ─> a stage, or code before or after it;
//!             without LLVM's passes, by other emitters                               ─> LLVM, an emitter, common code
//! shrink.rs   the smallest module that still goes wrong
//! verdict.rs  the verdict, as data and in words
//! ```
//!
//! Each search compares the result of one step with the interpreter's result on the same operands.
//! So a step is not blamed for an error of an earlier step, nor for rounding that accumulates over
//! many steps.

mod kernel;
mod shrink;
mod steps;
mod thunks;
mod verdict;

use std::path::PathBuf;

use fusebox_compiler::{Emitters, Options, Source, Step};
use fusebox_core::hlo::Literal;
use fusebox_run::inputs::{self, InputChoice};
use fusebox_runtime::npz::read_inputs;

use crate::WorkshopError;
use crate::case::Case;
use crate::repro::{self, Repro, STAGES};
use crate::simulated;

pub use verdict::{BisectionVerdict, Suspect};

/// How to search.
pub struct BisectionSettings {
    /// How to compile.
    pub compile: Options,
    /// How to run.
    pub run: fusebox_runtime::Options,
    /// The target as the command line names it.
    pub target: String,
    /// Inputs of the program.
    pub inputs: InputChoice,
    /// A file with the right results; `None`: the interpreter computes them.
    pub reference: Option<PathBuf>,
    /// Folder into which a reproducer of the fault is written; `None`: no reproducer is written.
    pub repro: Option<PathBuf>,
    /// Whether the folder of the reproducer may already contain files.
    pub force: bool,
}

/// The result of the search: the suspect, and a case that shows the fault.
struct LocatedFault {
    suspect: Suspect,
    difference: String,
    /// A case whose result is wrong, if there is one.
    wrong: Option<FailingCase>,
}

/// A case whose result is wrong.
struct FailingCase {
    case: Case,
    /// The check that decides whether the result of a smaller case is still wrong.
    by: FailureCheck,
}

/// A check whether the result of a case is wrong.
enum FailureCheck {
    /// The result is wrong if the interpreter computes another result after these steps (passes and
    /// fusion) have changed the module.
    Steps(Vec<Step>),
    /// The case is compiled with these options. Its result is wrong if it differs from the
    /// interpreter's result.
    Compiled(Box<Options>),
}

/// Searches for the cause of a module's wrong result.
///
/// # Errors
/// If the module cannot be compiled, run or interpreted at all, or a file cannot be read or
/// written.
pub fn bisect(source: &Source, settings: &BisectionSettings) -> Result<BisectionVerdict, WorkshopError> {
    let module = source.parse()?;
    let inputs = inputs::load(&settings.inputs, &Case::parameters(&module))?;
    let case = Case { module, inputs };
    let meant = case.expected_result()?;
    let reference = reference(settings, &meant)?;
    let result = case.compiled(&settings.compile, &settings.run)?;
    let Some(difference) = case.difference_between(&result, &reference)? else {
        return Ok(BisectionVerdict::of(Suspect::Nothing, String::new()));
    };
    if let Some(difference) = case.difference_between(&meant, &reference)? {
        return Ok(BisectionVerdict::of(Suspect::Meaning, difference));
    }
    let found = match steps::first_wrong(&case, &settings.compile)? {
        Some(found) => found,
        None => in_program(&case, difference, settings)?,
    };
    shrunk_verdict(found, settings)
}

fn reference(settings: &BisectionSettings, meant: &Literal) -> Result<Literal, WorkshopError> {
    let Some(path) = &settings.reference else { return Ok(meant.clone()) };
    let mut read = read_inputs(path, std::slice::from_ref(&meant.shape())).map_err(inputs::InputError::from)?;
    read.pop().ok_or_else(|| WorkshopError::Interface(format!("{} holds no result", path.display())))
}

/// Searches the compiled program for the fault. Before this search, the interpreter has shown that
/// the passes and fusion are right.
fn in_program(case: &Case, difference: String, settings: &BisectionSettings) -> Result<LocatedFault, WorkshopError> {
    let fused = steps::fused(case, &settings.compile)?;
    match thunks::first_wrong(&fused, settings)? {
        Some(found) => Ok(found),
        None => {
            let by = FailureCheck::Compiled(Box::new(for_part(&settings.compile)));
            let wrong = Some(FailingCase { case: case.clone(), by });
            Ok(LocatedFault { suspect: Suspect::Together, difference, wrong })
        }
    }
}

/// Shrinks the case that shows the fault, and returns the verdict. If the settings name a folder,
/// writes the small case into this folder.
fn shrunk_verdict(found: LocatedFault, settings: &BisectionSettings) -> Result<BisectionVerdict, WorkshopError> {
    let mut verdict = BisectionVerdict::of(found.suspect, found.difference);
    let Some(wrong) = found.wrong else { return Ok(verdict) };
    verdict.instructions_before = Some(shrink::size(&wrong.case));
    let small = shrink::smallest(wrong.case, &|case| wrong.by.goes_wrong(case, settings));
    verdict.instructions_after = Some(shrink::size(&small));
    if let (FailureCheck::Compiled(options), Suspect::Emitter { .. } | Suspect::Kernel { .. }) =
        (&wrong.by, &verdict.suspect)
    {
        verdict.simulated = simulated::fault(&small, options, &settings.run);
    }
    if let Some(folder) = &settings.repro {
        let options = match wrong.by {
            FailureCheck::Steps(_) => for_part(&settings.compile),
            FailureCheck::Compiled(options) => *options,
        };
        let about = verdict.words();
        let repro = Repro { case: &small, options: &options, target: &settings.target, about: &about };
        let stages = repro::write(folder, settings.force, &repro)?;
        if let (Suspect::Stage { .. }, [.., before, after]) = (&verdict.suspect, &stages[..]) {
            verdict.kernel_ir = [before, after].map(|stage| folder.join(STAGES).join(&stage.file)).to_vec();
        }
        verdict.repro = Some(folder.clone());
    }
    Ok(verdict)
}

impl FailureCheck {
    /// Whether the result of a case is wrong. If the case cannot be compiled or interpreted,
    /// returns `false`, because the search is for a wrong result and not for an error.
    fn goes_wrong(&self, case: &Case, settings: &BisectionSettings) -> bool {
        let difference = match self {
            FailureCheck::Steps(steps) => steps::after(case, steps, &settings.compile).and_then(|after| {
                let found = Case { module: after, inputs: case.inputs.clone() }.expected_result()?;
                Ok(case.difference(&found)?)
            }),
            FailureCheck::Compiled(options) => {
                case.compiled(options, &settings.run).and_then(|found| Ok(case.difference(&found)?))
            }
        };
        difference.is_ok_and(|difference| difference.is_some())
    }
}

/// Returns the options with which to compile a part of the program. With the returned options, the
/// compiler accepts choices of emitters that have no effect, and dumps nothing.
fn for_part(options: &Options) -> Options {
    let emitters = Emitters { of_part: true, ..options.emitters.clone() };
    Options { emitters, dump: fusebox_compiler::Dump::default(), stages: Vec::new(), ..options.clone() }
}
