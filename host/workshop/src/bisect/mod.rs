//! The first pass, fusion or stage whose result goes wrong.
//!
//! ```text
//! program right? ── yes ─> nothing to find
//!   │ no
//! steps.rs    the interpreter on the module after every pass, and after fusion       ─> a pass, a fusion
//! thunks.rs   each step of the compiled program, by the interpreter on its operands  ─> a kernel, a routine, the buffers
//! kernel.rs   the kernel after every stage of lowering, by the interpreter of kernels ─> a stage, or what comes before or after;
//!             without LLVM's passes, by other emitters                               ─> LLVM, an emitter, what all share
//! shrink.rs   the smallest module that still goes wrong
//! verdict.rs  what was found, in words
//! ```
//!
//! Every part compares what one step makes with what the interpreter makes of the same operands, so that no error of an
//! earlier step, and no rounding that adds up, is taken for an error of this one.

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

pub use verdict::{Suspect, Verdict};

/// How to search.
pub struct Settings {
    /// How to compile.
    pub compile: Options,
    /// How to run.
    pub run: fusebox_runtime::Options,
    /// The target as the command line names it.
    pub target: String,
    /// What the program runs on.
    pub inputs: InputChoice,
    /// The right results, in a file; without, the interpreter has them.
    pub reference: Option<PathBuf>,
    /// Where what reproduces the fault is written; without, nowhere.
    pub repro: Option<PathBuf>,
    /// Whether something may be in that folder already.
    pub force: bool,
}

/// What was found, and how to see it again.
struct Found {
    suspect: Suspect,
    difference: String,
    /// What goes wrong, and how it is compiled for that.
    wrong: Option<Wrong>,
}

/// A case that goes wrong.
struct Wrong {
    case: Case,
    /// What to look at when it is made smaller.
    by: Way,
}

/// How a case is seen to go wrong.
enum Way {
    /// The interpreter gets something else after these steps.
    Steps(Vec<Step>),
    /// The compiled program gives something else.
    Compiled(Box<Options>),
}

/// Searches.
///
/// # Errors
/// If the module cannot be compiled, run or interpreted at all, or a file cannot be read or written.
pub fn bisect(source: &Source, settings: &Settings) -> Result<Verdict, WorkshopError> {
    let module = source.parse()?;
    let inputs = inputs::load(&settings.inputs, &Case::parameters(&module))?;
    let case = Case { module, inputs };
    let meant = case.meant()?;
    let reference = reference(settings, &meant)?;
    let result = case.compiled(&settings.compile, &settings.run)?;
    let Some(difference) = case.difference_between(&result, &reference)? else {
        return Ok(Verdict::of(Suspect::Nothing, String::new()));
    };
    if let Some(difference) = case.difference_between(&meant, &reference)? {
        return Ok(Verdict::of(Suspect::Meaning, difference));
    }
    let found = match steps::first_wrong(&case, &settings.compile)? {
        Some(found) => found,
        None => in_program(&case, difference, settings)?,
    };
    told(found, settings)
}

fn reference(settings: &Settings, meant: &Literal) -> Result<Literal, WorkshopError> {
    let Some(path) = &settings.reference else { return Ok(meant.clone()) };
    let mut read = read_inputs(path, std::slice::from_ref(&meant.shape())).map_err(inputs::InputError::from)?;
    read.pop().ok_or_else(|| WorkshopError::Interface(format!("{} holds no result", path.display())))
}

/// The passes and fusion are right, the compiled program is wrong.
fn in_program(case: &Case, difference: String, settings: &Settings) -> Result<Found, WorkshopError> {
    let fused = steps::fused(case, &settings.compile)?;
    match thunks::first_wrong(&fused, settings)? {
        Some(found) => Ok(found),
        None => {
            let by = Way::Compiled(Box::new(for_part(&settings.compile)));
            let wrong = Some(Wrong { case: case.clone(), by });
            Ok(Found { suspect: Suspect::Together, difference, wrong })
        }
    }
}

/// The verdict, with the case made small and written down.
fn told(found: Found, settings: &Settings) -> Result<Verdict, WorkshopError> {
    let mut verdict = Verdict::of(found.suspect, found.difference);
    let Some(wrong) = found.wrong else { return Ok(verdict) };
    verdict.instructions_before = Some(shrink::size(&wrong.case));
    let small = shrink::smallest(wrong.case, &|case| wrong.by.goes_wrong(case, settings));
    verdict.instructions_after = Some(shrink::size(&small));
    if let (Way::Compiled(options), Suspect::Emitter { .. } | Suspect::Kernel { .. }) = (&wrong.by, &verdict.suspect) {
        verdict.simulated = simulated::fault(&small, options, &settings.run);
    }
    if let Some(folder) = &settings.repro {
        let options = match wrong.by {
            Way::Steps(_) => for_part(&settings.compile),
            Way::Compiled(options) => *options,
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

impl Way {
    /// Whether a case goes wrong. One that cannot be compiled or interpreted does not: it has another fault.
    fn goes_wrong(&self, case: &Case, settings: &Settings) -> bool {
        let difference = match self {
            Way::Steps(steps) => steps::after(case, steps, &settings.compile).and_then(|after| {
                let found = Case { module: after, inputs: case.inputs.clone() }.meant()?;
                Ok(case.difference(&found)?)
            }),
            Way::Compiled(options) => {
                case.compiled(options, &settings.run).and_then(|found| Ok(case.difference(&found)?))
            }
        };
        difference.is_ok_and(|difference| difference.is_some())
    }
}

/// The same options for a part of the program.
fn for_part(options: &Options) -> Options {
    let emitters = Emitters { of_part: true, ..options.emitters.clone() };
    Options { emitters, dump: fusebox_compiler::Dump::default(), stages: Vec::new(), ..options.clone() }
}
