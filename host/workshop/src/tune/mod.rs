//! Tuning: for each fusion of a program, the fastest of all emitters that take it, with all knobs that they declare.
//!
//! ```text
//! contenders.rs  a kernel as fusebox makes it by itself -> all who might make it instead, in the fixed order that decides ties
//! made.rs        contenders -> programs of the fusion alone, compiled in parallel
//! judge.rs       programs -> those whose results are right
//! race.rs        right programs -> their times; the slower half leaves early, the last ones are measured against the first
//! database.rs    what was chosen and measured, by device and fusion, in a file that several processes use at once
//! lock.rs        what was chosen, as a text for people
//! chosen.rs      what was chosen -> what a compilation goes by
//! report.rs      what was gained, and by whom
//! ```

mod chosen;
mod contenders;
mod database;
mod judge;
mod lock;
mod made;
mod race;
mod report;

use std::sync::atomic::{AtomicBool, Ordering};

use fusebox_compiler::{Emitters, Options, Phase, Selected, Source};
use fusebox_plugins::Fingerprint;
use fusebox_run::inputs::InputChoice;

use crate::WorkshopError;
use crate::case::source_alone;
use crate::measure::Watch;

pub use chosen::{device, load};
pub use database::{Chosen, Database, DatabaseError, Figures, Outcome};
pub use lock::{Choices, LockError, read, write};
pub use report::{Origin, Report, Row, write_predictions, write_summary};

/// How to tune.
pub struct Settings<'a> {
    /// How to compile; what the user has chosen here is not tuned.
    pub compile: Options,
    /// How to run.
    pub run: fusebox_runtime::Options,
    /// Measure nothing: all must have been measured before.
    pub locked: bool,
    /// Measure also what has been measured before.
    pub again: bool,
    /// Seed of the random numbers that fusions run on.
    pub seed: u64,
    /// Set from outside when the work is to end.
    pub stop: &'a AtomicBool,
}

impl Settings<'_> {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// How far the work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    /// So many fusions are to be tuned.
    Begun(usize),
    /// One is being compiled, by so many.
    Compiling(&'a str, usize),
    /// Those who make it right are being measured.
    Measuring(&'a str, usize),
    /// It is done.
    Done(&'a str),
}

/// Tunes all fusions of a program, and keeps what comes of each as soon as it is known.
///
/// # Errors
/// If the program is not compiled, the database cannot be used, or, where nothing may be measured, something has to be.
pub fn tune(
    source: &Source,
    settings: &Settings<'_>,
    database: &Database,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Report, WorkshopError> {
    let compile = &settings.compile;
    let emitters = Emitters { tuned: Default::default(), ..compile.emitters.clone() };
    let untuned = Options { until: Phase::Emit, emitters, ..compile.clone() };
    let made = fusebox_compiler::compile(source, &untuned)?;
    let mut tuner = Tuner { settings, database, device: device(compile), watch: Watch::new(), progress };
    let mut report = Report { module: source.name.clone(), warnings: made.warnings, ..Report::default() };
    let (tunable, chosen): (Vec<&Selected>, Vec<&Selected>) =
        made.kernels.iter().partition(|kernel| kernel.selection.in_charge.is_none());
    report.chosen_by_user = chosen.len();
    if settings.locked {
        tuner.check_locked(&tunable)?;
    }
    (tuner.progress)(Progress::Begun(tunable.len()));
    for kernel in tunable {
        match tuner.tune(kernel)? {
            Some(row) => report.rows.push(row),
            None => report.interrupted += 1,
        }
        (tuner.progress)(Progress::Done(&kernel.unit.fusion.name));
    }
    Ok(report)
}

/// Predictions are those of today, also beside times that were measured long ago.
fn predict_anew(figures: &mut [Figures], contenders: &[contenders::Contender]) {
    for contender in contenders {
        let name = contender.spec.to_string();
        let known = figures.iter_mut().find(|figures| figures.contender == name);
        known.into_iter().for_each(|figures| figures.predicted_us = contender.predicted_us);
    }
}

/// What tunes the fusions of a program, one after the other.
struct Tuner<'a> {
    settings: &'a Settings<'a>,
    database: &'a Database,
    device: String,
    watch: Watch,
    progress: &'a mut dyn FnMut(Progress<'_>),
}

impl Tuner<'_> {
    /// The outcome for a fusion; `None` if the work ends before it is known.
    fn tune(&mut self, kernel: &Selected) -> Result<Option<Row>, WorkshopError> {
        let fingerprint = Fingerprint::of(&kernel.unit.fusion);
        let contenders = contenders::of(kernel, &self.settings.compile);
        let names: Vec<String> = contenders.iter().map(|contender| contender.spec.to_string()).collect();
        let known = self.database.find(&self.device, fingerprint)?;
        if let Some(known) = known.filter(|_| self.settings.locked || !self.settings.again)
            && (self.settings.locked || self.database.is_about(&self.device, fingerprint, &names)?)
        {
            let mut figures = self.database.figures(&self.device, fingerprint)?;
            predict_anew(&mut figures, &contenders);
            return Ok(Some(Row::of(kernel, known, figures, Origin::Known)));
        }
        let Some(figures) = self.measure(kernel, contenders)? else { return Ok(None) };
        let instead_of = names.into_iter().next().unwrap_or_default();
        let winner = race::winner(&figures).map(str::to_owned);
        let (spec, is_right) = (winner.clone().unwrap_or_else(|| instead_of.clone()), winner.is_some());
        let chosen = Chosen { fusion: kernel.unit.fusion.name.clone(), spec, instead_of };
        if !is_right {
            return Ok(Some(Row::of(kernel, chosen, figures, Origin::Nobody)));
        }
        let kept = self.database.keep(&self.device, fingerprint, &chosen, &figures, self.settings.again)?;
        // Another process may have been faster: then all go by what it has found.
        let figures = if kept == chosen { figures } else { self.database.figures(&self.device, fingerprint)? };
        Ok(Some(Row::of(kernel, kept, figures, Origin::Measured)))
    }

    /// What became of all contenders, in their order.
    fn measure(
        &mut self,
        kernel: &Selected,
        contenders: Vec<contenders::Contender>,
    ) -> Result<Option<Vec<Figures>>, WorkshopError> {
        let settings = self.settings;
        let fusion = &kernel.unit.fusion;
        // Who is alone wins without a race.
        if let [only] = contenders.as_slice() {
            let predicted_us = kernel.prediction.seconds * 1e6;
            return Ok(Some(vec![Figures::of(only.spec.to_string(), predicted_us, Outcome::Alone)]));
        }
        (self.progress)(Progress::Compiling(&fusion.name, contenders.len()));
        let source = source_alone(kernel);
        let Some(made) = made::all(contenders, fusion, &source, settings) else { return Ok(None) };
        let choice = InputChoice { inputs: None, seed: settings.seed };
        let judged = judge::all(made, fusion, &choice, settings)?;
        (self.progress)(Progress::Measuring(&fusion.name, judged.racers.len()));
        let Some(mut figures) = race::run(&judged, settings, &mut self.watch)? else { return Ok(None) };
        figures.extend(judged.refused);
        figures.sort_by_key(|(place, _)| *place);
        Ok(Some(figures.into_iter().map(|(_, figures)| figures).collect()))
    }

    fn check_locked(&self, kernels: &[&Selected]) -> Result<(), WorkshopError> {
        let mut missing = Vec::new();
        for kernel in kernels {
            let fusion = &kernel.unit.fusion;
            let fingerprint = Fingerprint::of(fusion);
            let known = self.database.find(&self.device, fingerprint)?;
            let why = match &known {
                None => "was never tuned".to_owned(),
                Some(chosen) => match contenders::find(&chosen.spec, &self.settings.compile.emitters.registry) {
                    Some(tuned) if kernel.selection.order.iter().any(|it| it.emitter == tuned.emitter) => continue,
                    Some(_) => format!("is declined by {}, which was chosen for it", chosen.spec),
                    None => format!("was tuned for {}, which is not here", chosen.spec),
                },
            };
            missing.push(format!("{} ({fingerprint}) {why}", fusion.name));
        }
        match missing.is_empty() {
            true => Ok(()),
            false => Err(WorkshopError::Locked { device: self.device.clone(), missing: missing.join("\n  ") }),
        }
    }
}
