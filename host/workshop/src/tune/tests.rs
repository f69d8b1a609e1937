//! Tests of tuning, with a timer that returns prescribed times.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use fusebox_compiler::{Compilation, Options, Phase, Source, compile};
use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::ArrayLiteral;
use fusebox_lowering::Target;
use fusebox_plugins::Registry;
use fusebox_run::inputs::InputChoice;
use fusebox_runtime::Executable;

use super::judge::Racer;
use super::race::Timer;
use super::report::write_summary;
use super::{ContenderFigures, Database, Decision, RaceOutcome, TuningReport, TuningSettings, load, tune_by};
use crate::WorkshopError;
use crate::measure::{PartComparison, ProgramComparison};
use crate::statistics::Interval;

/// Returns the softmax of four rows: reductions whose results are broadcast back to the rows.
fn softmax(columns: usize) -> Source {
    Source::text(
        "softmax.hlo",
        &format!(
            "HloModule m\n\
             max {{ a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] maximum(a, b) }}\n\
             sum {{ a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }}\n\
             ENTRY main {{ x = f32[4,{columns}] parameter(0)\n low = f32[] constant(-inf)\n zero = f32[] constant(0)\n\
             most = f32[4] reduce(x, low), dimensions={{1}}, to_apply=max\n\
             mosts = f32[4,{columns}] broadcast(most), dimensions={{0}}\n\
             less = f32[4,{columns}] subtract(x, mosts)\n grown = f32[4,{columns}] exponential(less)\n\
             all = f32[4] reduce(grown, zero), dimensions={{1}}, to_apply=sum\n\
             alls = f32[4,{columns}] broadcast(all), dimensions={{0}}\n\
             ROOT shares = f32[4,{columns}] divide(grown, alls) }}\n"
        ),
    )
}

fn options() -> Options {
    let registry = Registry::new(fusebox_bundle::emitters()).unwrap();
    Options::new(Target::named("cpu").unwrap(), DeviceDescription::cpu(1), registry, Phase::Fuse)
}

/// A timer that returns one microsecond for the racer `fastest`, and two microseconds for all other
/// racers. `in_program` is the time of the tuned program divided by the time of the untuned
/// program.
struct FixedTimer {
    fastest: String,
    in_program: f64,
    /// Microseconds of the untuned program.
    program_us: f64,
}

impl FixedTimer {
    fn fastest(name: &str) -> FixedTimer {
        FixedTimer { fastest: name.to_owned(), in_program: 0.9, program_us: 100.0 }
    }

    fn us(&self, racer: &Racer) -> f64 {
        if racer.name == self.fastest { 1.0 } else { 2.0 }
    }
}

fn exactly(ratio: f64) -> Interval {
    Interval { low: ratio, ratio, high: ratio }
}

impl Timer for FixedTimer {
    fn time_isolated(&mut self, racer: &Racer, _: &[ArrayLiteral], samples: usize) -> Result<Vec<f64>, WorkshopError> {
        Ok(vec![self.us(racer); samples])
    }

    fn against(&mut self, first: &Racer, other: &Racer, _: &[ArrayLiteral]) -> Result<Interval, WorkshopError> {
        Ok(exactly(self.us(other) / self.us(first)))
    }

    fn in_program(
        &mut self,
        _: &Executable,
        _: &Executable,
        _: &[ArrayLiteral],
        kernels: &BTreeSet<&str>,
    ) -> Result<ProgramComparison, WorkshopError> {
        let all = PartComparison { us: self.program_us, ratio: exactly(self.in_program) };
        let kernels =
            kernels.iter().map(|name| ((*name).to_owned(), PartComparison { us: 0.5 * all.us, ..all })).collect();
        Ok(ProgramComparison { all, kernels })
    }
}

/// A timer that returns the times of another timer. Before the timer measures a whole program, it
/// calls the function `by`. The function `by` tunes the same program, as a concurrent process could
/// do.
struct OvertakenTimer<'a> {
    says: FixedTimer,
    by: &'a mut dyn FnMut(),
}

impl Timer for OvertakenTimer<'_> {
    fn time_isolated(
        &mut self,
        racer: &Racer,
        inputs: &[ArrayLiteral],
        samples: usize,
    ) -> Result<Vec<f64>, WorkshopError> {
        self.says.time_isolated(racer, inputs, samples)
    }

    fn against(&mut self, first: &Racer, other: &Racer, inputs: &[ArrayLiteral]) -> Result<Interval, WorkshopError> {
        self.says.against(first, other, inputs)
    }

    fn in_program(
        &mut self,
        untuned: &Executable,
        tuned: &Executable,
        inputs: &[ArrayLiteral],
        kernels: &BTreeSet<&str>,
    ) -> Result<ProgramComparison, WorkshopError> {
        (self.by)();
        self.says.in_program(untuned, tuned, inputs, kernels)
    }
}

fn tuned(timer: &mut dyn Timer, source: &Source, path: &Path, locked: bool) -> Result<TuningReport, WorkshopError> {
    let (run, stop) = (fusebox_runtime::Options { threads: 1, ..Default::default() }, AtomicBool::new(false));
    let program = Some(InputChoice::default());
    let settings = TuningSettings { compile: options(), run, locked, again: false, seed: 0, program, stop: &stop };
    tune_by(timer, source, &settings, &Database::open(path).unwrap(), &mut |_| {})
}

fn cuts_are(made: &Compilation, said: &str) -> bool {
    made.bids.iter().any(|bid| bid.outcome.contains(said))
}

#[test]
fn a_cut_that_is_measured_to_be_faster_than_the_predicted_one_is_made_from_then_on() {
    let sizes = (1..200).map(|it| softmax(8 * it));
    let made = |source: &Source, options: &Options| compile(source, options).unwrap();
    let (source, predicted) = sizes
        .map(|source| (source.clone(), made(&source, &options())))
        .find(|(_, made)| made.cuts.len() == 1)
        .expect("there is a size for which predictions do not tell cuts apart");
    let [first, other, ..] = predicted.cuts[0].ways.as_slice() else { panic!("{:?}", predicted.cuts) };
    assert!(!cuts_are(&predicted, "tuned"));

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tuned.redb");
    let tuned = |timer: &mut FixedTimer, locked: bool| tuned(timer, &source, &path, locked);
    let missing = tuned(&mut FixedTimer::fastest(""), true).unwrap_err().to_string();
    assert!(missing.contains(&format!("(cut-{}) was never tuned", predicted.cuts[0].fingerprint)), "{missing}");
    let report = tuned(&mut FixedTimer::fastest(&other.name), false).unwrap();
    let chosen = &report.rows[0].decision.chosen;
    assert_eq!((&chosen.spec, &chosen.instead_of), (&other.name, &first.name));
    // Each tuned region takes one microsecond instead of two. Each fusion takes two microseconds
    // with any emitter.
    let mut said = Vec::new();
    write_summary(&mut said, std::slice::from_ref(&report)).unwrap();
    let cuts = report.rows.iter().filter(|row| row.decision.chosen.spec == other.name).count();
    let tuned_us = 2 * (report.rows.len() - cuts);
    let together = format!("their kernels together: {}.0 us untuned, {tuned_us}.0 us tuned", tuned_us + cuts);
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains(&together), "{said}\nlacks: {together}");
    let known = tuned(&mut FixedTimer::fastest(""), true).unwrap();
    assert_eq!(known.rows[0].decision.chosen, *chosen);

    let mut options = options();
    load(&path, &mut options).unwrap();
    let obeyed = made(&source, &options);
    assert!(cuts_are(&obeyed, &format!("tuned: `fusebox tune` chose `{}`", other.name)), "{:?}", obeyed.bids);
    assert_ne!(fusebox_core::hlo::print_module(&obeyed.fused), fusebox_core::hlo::print_module(&predicted.fused));
}

/// Returns a transpose, which several emitters accept.
fn transpose() -> Source {
    let text = "HloModule m\nENTRY main { x = f32[300,48] parameter(0)\n ROOT t = f32[48,300] transpose(x), dimensions={1,0} }\n";
    Source::text("transpose.hlo", text)
}

#[test]
fn what_wins_by_itself_stays_only_if_the_program_is_faster_with_it() {
    let source = transpose();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let row = |timer: &mut FixedTimer, name: &str| tuned(timer, &source, &path(name), false).unwrap().rows.remove(0);
    let untuned = row(&mut FixedTimer::fastest(""), "none");
    let other = untuned.decision.figures[1].contender.clone();
    let in_program = |ratio: f64, us: f64| FixedTimer { fastest: other.clone(), in_program: ratio, program_us: us };
    for (ratio, us, name, stays) in [
        (0.9, 100.0, "faster", true),
        (0.99, 100.0, "same", false),
        (1.2, 100.0, "slower", false),
        (0.9, 10.0, "short", false),
    ] {
        let Decision { chosen, figures } = row(&mut in_program(ratio, us), name).decision;
        let wanted = if stays { &other } else { &chosen.instead_of };
        assert_eq!(&chosen.spec, wanted, "{name}");
        let tried = RaceOutcome::Final { us: 1.0, ratio: exactly(0.5), in_program: Some(exactly(ratio)) };
        assert!(figures.iter().any(|figures| figures.contender == other && figures.outcome == tried), "{figures:?}");
        // Tuning stores the choice whether it is kept or rejected, and does not try it again.
        let known = row(&mut in_program(0.5, 100.0), name);
        assert_eq!(known.decision, Decision { chosen, figures }, "{name}");
    }
}

#[test]
fn of_what_is_much_faster_the_summary_says_why_prediction_missed_it() {
    let source = transpose();
    let folder = tempfile::tempdir().unwrap();
    let report = |timer: &mut FixedTimer, name: &str| tuned(timer, &source, &folder.path().join(name), false).unwrap();
    let said = |report: TuningReport| {
        let mut said = Vec::new();
        write_summary(&mut said, &[report]).unwrap();
        String::from_utf8(said).unwrap()
    };
    let untuned = report(&mut FixedTimer::fastest(""), "none");
    let figures = untuned.rows[0].decision.figures.clone();
    assert!(!said(untuned).contains("us predicted for"));
    let predicted = |figures: &ContenderFigures| figures.predicted_us.unwrap();
    let first = &figures[0];
    let slower = figures.iter().find(|other| predicted(other) > predicted(first)).unwrap();
    let missed = said(report(&mut FixedTimer::fastest(&slower.contender), "missed"));
    for words in [
        format!("us predicted for {}, most of it ", first.contender),
        "2.00 us measured; ".to_owned(),
        format!("us predicted for {}, most of it ", slower.contender),
        "1.00 us measured: the prediction for ".to_owned(),
        "is too long by a factor of ".to_owned(),
    ] {
        assert!(missed.contains(&words), "{missed}\nlacks: {words}");
    }
}

#[test]
fn two_at_once_go_by_who_tried_it_in_the_program_first() {
    let source = transpose();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let decision =
        |timer: &mut dyn Timer, name: &str| tuned(timer, &source, &path(name), false).unwrap().rows.remove(0).decision;
    let other = decision(&mut FixedTimer::fastest(""), "none").figures[1].contender.clone();
    for (slow, fast) in [(1.2, 0.9), (0.9, 1.2)] {
        let says = |in_program| FixedTimer { in_program, ..FixedTimer::fastest(&other) };
        let name = format!("{slow}");
        let mut overtook = None;
        let by = &mut || overtook = Some(decision(&mut says(fast), &name));
        let overtaken = decision(&mut OvertakenTimer { says: says(slow), by }, &name);
        assert_eq!(overtook.as_ref(), Some(&overtaken));
        assert_eq!(overtaken.chosen.spec == other, fast < 1.0);
        assert_eq!(decision(&mut FixedTimer::fastest(""), &name), overtaken, "what is kept");
    }
}
