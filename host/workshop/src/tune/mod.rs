//! Tuning. Some regions of a program can be cut into kernels in several ways, and predictions do
//! not show which way is fastest. Tuning first measures all ways to cut a region. Then tuning
//! measures for each fusion which emitter and knobs are fastest. Tuning tries all emitters that
//! accept the fusion, with all knobs that their plans declare.
//!
//! ```text
//! question.rs       the question to decide: a cut into kernels, or the emitter of a fusion
//! contenders.rs     an untuned kernel -> all emitters and knobs that can build it, in the fixed order that decides ties
//! compiled.rs       contenders -> programs of the fusion or region in isolation, compiled in parallel
//! judge.rs          programs -> programs with right results that are not hopelessly slow
//! race.rs           right programs -> times; eliminates the slower half early, measures finalists against the first
//! in_program.rs     winners in isolation -> winners that are also faster in the whole program
//! choice.rs         choices of emitters and cuts
//! database.rs       choices and measurements by device and fusion, in a file that several processes use at once
//! lock.rs           choices as text for people
//! stored.rs         stored choices -> the choices that a compilation uses
//! largest_part.rs   the largest part of a predicted time
//! tuned.rs          the decision on one question
//! misprediction.rs  why the untuned choice is not a contender that is much faster
//! report.rs         gains, and the emitters that bring them
//! ```

mod choice;
mod compiled;
mod contenders;
mod database;
mod in_program;
mod judge;
mod largest_part;
mod lock;
mod misprediction;
mod question;
mod race;
mod report;
mod stored;
mod tuned;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};

use fusebox_compiler::{Compilation, Cut, Emitters, Options, Phase, Selected, Source};
use fusebox_core::emitter::Fusion;
use fusebox_lowering::{Runner, Target};
use fusebox_plugins::Fingerprint;
use fusebox_run::inputs::InputChoice;

use crate::WorkshopError;
use contenders::Contender;
use largest_part::LargestParts;
use race::{Stopwatch, Timer};

pub use choice::{Choices, StoredChoice};
pub use database::{ContenderFigures, Database, DatabaseError, Decision, RaceOutcome, Replaceable};
pub use lock::{LockError, read, write};
pub use question::Question;
pub use report::{TuningReport, write_predictions, write_summary};
pub use stored::{device, load};
pub use tuned::{DecisionOrigin, TunedQuestion};

/// Settings of tuning.
pub struct TuningSettings<'a> {
    /// Options of compilation. If the options contain the user's choice of an emitter for a fusion,
    /// the fusion is not tuned.
    pub compile: Options,
    /// Options with which programs run.
    pub run: fusebox_runtime::Options,
    /// Whether measuring is forbidden. If measuring is forbidden, the database must have a decision
    /// on each question.
    pub locked: bool,
    /// Whether to measure again if the database has a decision.
    pub again: bool,
    /// Seed for the random inputs of fusions.
    pub seed: u64,
    /// Inputs of the whole program. With `None`, winners are not tried in the whole program.
    pub program: Option<InputChoice>,
    /// Flag that the caller sets to interrupt the tuning.
    pub stop: &'a AtomicBool,
}

impl TuningSettings<'_> {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Progress of the tuning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    /// Number of additional questions to decide. A question concerns a fusion, or a region that can
    /// be cut in several ways.
    Begun(usize),
    /// Name of the question whose contenders are being compiled, and the number of its contenders.
    Compiling(&'a str, usize),
    /// Name of the question whose contenders are being measured, and the number of contenders with
    /// right results.
    Measuring(&'a str, usize),
    /// Name of a question that has been decided.
    Done(&'a str),
    /// Number of winners that are being tried in the whole program.
    Trying(usize),
}

/// Checks that programs for a target can be measured on this machine. If programs for the target
/// cannot be measured, returns the reason.
pub fn check_target(target: &Target) -> Result<(), String> {
    match target.runner() {
        Some(Runner::Cpu | Runner::Cuda(_)) => Ok(()),
        Some(Runner::Simulator) => Err("times on the simulator say nothing about a GPU: tune for cpu or cuda".into()),
        None => Err(format!("{target} cannot run here: tune for cpu or cuda")),
    }
}

/// Tunes the cuts of a program, then all its fusions. Stores each decision immediately.
///
/// # Errors
/// If the program cannot be compiled, if the database cannot be used, or if a question is undecided
/// and `locked` forbids measuring.
pub fn tune(
    source: &Source,
    settings: &TuningSettings<'_>,
    database: &Database,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<TuningReport, WorkshopError> {
    tune_by(&mut Stopwatch::new(&settings.run, settings.seed), source, settings, database, progress)
}

/// Tunes a program. `timer` measures the times.
fn tune_by(
    timer: &mut dyn Timer,
    source: &Source,
    settings: &TuningSettings<'_>,
    database: &Database,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<TuningReport, WorkshopError> {
    let compile = &settings.compile;
    let report = TuningReport { module: source.name.clone(), ..TuningReport::default() };
    let mut tuner = Tuner { settings, database, device: device(compile), timer, progress, report };
    let made = tuner.tune_cuts(source)?;
    let (tunable, chosen): (Vec<&Selected>, Vec<&Selected>) =
        made.kernels.iter().partition(|kernel| kernel.selection.in_charge.is_none());
    tuner.report.chosen_by_user = chosen.len();
    tuner.tune_all(tunable.into_iter().map(|kernel| OpenQuestion::about_kernel(kernel, compile)).collect())?;
    tuner.try_emitters(source)?;
    tuner.report.warnings.extend(made.warnings);
    Ok(tuner.report)
}

/// Replaces stored predictions by the predictions of this run. Stored times do not change.
fn predict_anew(figures: &mut [ContenderFigures], contenders: &[Contender]) {
    for contender in contenders {
        let known = figures.iter_mut().find(|figures| figures.contender == contender.name);
        known.into_iter().for_each(|figures| figures.predicted_us = contender.predicted_us);
    }
}

/// A question with all its contenders. The first contender is the choice without tuning.
struct OpenQuestion<'m> {
    question: Question,
    name: &'m str,
    /// The fusion or region whose results all contenders compute.
    fusion: &'m Fusion,
    uses: usize,
    contenders: Vec<Contender>,
}

impl<'m> OpenQuestion<'m> {
    fn about_kernel(kernel: &'m Selected, options: &Options) -> OpenQuestion<'m> {
        let fusion = &kernel.unit.fusion;
        let (question, uses) = (Question::Emitter(Fingerprint::of(fusion)), kernel.unit.uses.len());
        OpenQuestion { question, name: &fusion.name, fusion, uses, contenders: contenders::of(kernel, options) }
    }

    fn about_cut(cut: &'m Cut, options: &Options) -> OpenQuestion<'m> {
        let contenders = contenders::of_cut(cut, &options.emitters.registry);
        OpenQuestion {
            question: Question::Cut(cut.fingerprint),
            name: &cut.anchor,
            fusion: &cut.region,
            uses: 1,
            contenders,
        }
    }

    /// Checks that a stored choice can be used: it is one of the contenders, or one of the
    /// contenders has the same emitter. If the choice cannot be used, returns a description of the
    /// problem.
    fn is_answered(&self, chosen: Option<&StoredChoice>, settings: &TuningSettings<'_>) -> Result<(), String> {
        let Some(StoredChoice { spec, .. }) = chosen else { return Err("was never tuned".into()) };
        let registry = &settings.compile.emitters.registry;
        let is_of = |contender: &Contender, emitter: usize| {
            contenders::find(&contender.name, registry).is_some_and(|found| found.emitter == emitter)
        };
        match contenders::find(spec, registry) {
            _ if self.contenders.iter().any(|contender| contender.name == *spec) => Ok(()),
            Some(tuned) if self.contenders.iter().any(|it| is_of(it, tuned.emitter)) => Ok(()),
            Some(_) => Err(format!("is declined by {spec}, which was chosen for it")),
            None => Err(format!("was tuned for {spec}, which is not here")),
        }
    }
}

/// Decides the questions of a program in succession.
struct Tuner<'a> {
    settings: &'a TuningSettings<'a>,
    database: &'a Database,
    device: String,
    timer: &'a mut dyn Timer,
    progress: &'a mut dyn FnMut(Progress<'_>),
    report: TuningReport,
}

impl Tuner<'_> {
    /// Tunes all cuts, and returns the compilation with the fastest cuts. After a cut is decided,
    /// the program may contain new regions that can be cut in several ways; the function tunes
    /// these regions too.
    fn tune_cuts(&mut self, source: &Source) -> Result<Compilation, WorkshopError> {
        let compile = &self.settings.compile;
        let emitters = Emitters { tuned: Default::default(), cuts: Default::default(), ..compile.emitters.clone() };
        let mut options = Options { until: Phase::Fuse, emitters, ..compile.clone() };
        loop {
            let made = fusebox_compiler::compile(source, &options)?;
            let is_open = |cut: &&Cut| !options.emitters.cuts.contains_key(&cut.fingerprint);
            let open: Vec<&Cut> = made.cuts.iter().filter(is_open).collect();
            if open.is_empty() || self.settings.is_stopped() {
                options.until = Phase::Emit;
                return Ok(fusebox_compiler::compile(source, &options)?);
            }
            self.tune_all(open.into_iter().map(|cut| OpenQuestion::about_cut(cut, compile)).collect())?;
            self.try_cuts(source)?;
            let decided = self.report.rows.iter().filter_map(|row| match row.question {
                Question::Cut(region) => Some((region, row.decision.chosen.spec.clone())),
                Question::Emitter(_) => None,
            });
            options.emitters.cuts = decided.collect();
        }
    }

    fn tune_all(&mut self, asked: Vec<OpenQuestion<'_>>) -> Result<(), WorkshopError> {
        if self.settings.locked {
            self.check_locked(&asked)?;
        }
        (self.progress)(Progress::Begun(asked.len()));
        for asked in asked {
            let name = asked.name;
            match self.tune(asked)? {
                Some(row) => self.report.rows.push(row),
                None => self.report.interrupted += 1,
            }
            (self.progress)(Progress::Done(name));
        }
        Ok(())
    }

    /// Decides a question. Returns `None` if the tuning is interrupted before the decision.
    fn tune(&mut self, asked: OpenQuestion<'_>) -> Result<Option<TunedQuestion>, WorkshopError> {
        let OpenQuestion { question, name, uses, .. } = asked;
        let names: Vec<String> = asked.contenders.iter().map(|contender| contender.name.clone()).collect();
        let longest: LargestParts =
            asked.contenders.iter().filter_map(|it| Some((it.name.clone(), it.longest?))).collect();
        let row = |decision, origin| {
            Ok(Some(TunedQuestion { question, name: name.to_owned(), decision, uses, origin, longest }))
        };
        let TuningSettings { locked, again, .. } = *self.settings;
        let known = self.database.find(&self.device, question)?;
        if let Some(mut known) = known.filter(|known| locked || (!again && known.is_about(&names))) {
            predict_anew(&mut known.figures, &asked.contenders);
            return row(known, DecisionOrigin::Known);
        }
        let Some(figures) = self.measure(asked)? else { return Ok(None) };
        let instead_of = names.into_iter().next().unwrap_or_default();
        let winner = race::winner(&figures).map(str::to_owned);
        let (spec, is_right) = (winner.clone().unwrap_or_else(|| instead_of.clone()), winner.is_some());
        let found = Decision { chosen: StoredChoice { fusion: name.to_owned(), spec, instead_of }, figures };
        if !is_right {
            return row(found, DecisionOrigin::Nobody);
        }
        // If another process has decided the question meanwhile, the decision of that process is
        // valid.
        let replaceable = if again { Replaceable::All } else { Replaceable::None };
        row(self.database.keep(&self.device, question, &found, replaceable)?, DecisionOrigin::Measured)
    }

    /// Measures all contenders. Returns the figures of the contenders in the fixed order; `None` if
    /// the tuning is interrupted.
    fn measure(&mut self, asked: OpenQuestion<'_>) -> Result<Option<Vec<ContenderFigures>>, WorkshopError> {
        let settings = self.settings;
        let OpenQuestion { name, fusion, contenders, .. } = asked;
        // The only contender wins without a race.
        if let [only] = contenders.as_slice() {
            let predicted_us = only.predicted_us.unwrap_or(f64::NAN);
            return Ok(Some(vec![ContenderFigures::of(only.name.clone(), predicted_us, RaceOutcome::Alone)]));
        }
        (self.progress)(Progress::Compiling(name, contenders.len()));
        let Some(made) = compiled::all(contenders, settings) else { return Ok(None) };
        let choice = InputChoice { seed: settings.seed, ..InputChoice::default() };
        let judged = judge::all(made, fusion, &choice, settings)?;
        (self.progress)(Progress::Measuring(name, judged.racers.len()));
        let Some(mut figures) = race::run(&judged, settings, self.timer)? else { return Ok(None) };
        figures.extend(judged.out);
        figures.sort_by_key(|(place, _)| *place);
        Ok(Some(figures.into_iter().map(|(_, figures)| figures).collect()))
    }

    fn check_locked(&self, asked: &[OpenQuestion<'_>]) -> Result<(), WorkshopError> {
        let mut missing = Vec::new();
        for asked in asked {
            let known = self.database.find(&self.device, asked.question)?;
            if let Err(why) = asked.is_answered(known.map(|it| it.chosen).as_ref(), self.settings) {
                missing.push(format!("{} ({}) {why}", asked.name, asked.question));
            }
        }
        if missing.is_empty() {
            Ok(())
        } else {
            Err(WorkshopError::Locked { device: self.device.clone(), missing: missing.join("\n  ") })
        }
    }
}
