//! Checks whether the whole program is faster with the winners than with the choices without
//! tuning. In the program, the caches contain data of the previous kernels. In isolation, the
//! caches contain the data that the same kernel has just read.

use std::collections::BTreeSet;

use fusebox_compiler::{Emitters, Options, Phase, Source, compile};
use fusebox_core::hlo::{ArrayLiteral, Shape};
use fusebox_run::inputs;
use fusebox_runtime::Executable;

use super::contenders::find;
use super::database::{Decision, RaceOutcome, Replaceable};
use super::{Progress, Question, StoredChoice, TunedQuestion, Tuner};
use crate::WorkshopError;
use crate::measure::{PartComparison, ProgramComparison};
use crate::statistics::{Interval, Verdict};

/// Least time that a choice must save in a run of the program: as a fraction of the program's time,
/// and in microseconds. Savings below `LEAST_SAVED` or `LEAST_SAVED_US` are unreliable: they depend
/// on whether a second thread wakes in time for its part of a small kernel, which changes from
/// minute to minute.
const LEAST_SAVED: f64 = 0.005;
const LEAST_SAVED_US: f64 = 1.0;

fn is_worth_it(part: &PartComparison, program_us: f64) -> bool {
    let least = LEAST_SAVED_US.max(LEAST_SAVED * program_us);
    Verdict::of(&part.ratio) == Verdict::Faster && part.saved_us() >= least
}

impl TunedQuestion {
    /// Records the ratio that was measured in the program. If `stays` is false, reverts the choice.
    fn tried(&mut self, found: Interval, stays: bool) {
        let Decision { chosen, figures } = &mut self.decision;
        let winner = figures.iter_mut().find(|figures| figures.contender == chosen.spec);
        if let Some(RaceOutcome::Final { in_program, .. }) = winner.map(|it| &mut it.outcome) {
            *in_program = Some(found);
        }
        if !stays {
            self.take_back();
        }
    }

    fn take_back(&mut self) {
        self.decision.chosen.spec = self.decision.chosen.instead_of.clone();
    }
}

impl Tuner<'_> {
    /// Tries each new cut in the program. The program also has all cuts that are already decided.
    pub(super) fn try_cuts(&mut self, source: &Source) -> Result<(), WorkshopError> {
        for number in self.untried(|row| matches!(row.question, Question::Cut(_))) {
            (self.progress)(Progress::Trying(1));
            let asked = self.report.rows[number].question;
            let (untuned, tuned) =
                (self.compile_with_untuned(source, &[asked])?, self.compile_with_untuned(source, &[])?);
            let Some(whole) = self.compared(&untuned, &tuned, &BTreeSet::new())? else { continue };
            self.report.rows[number].tried(whole.all.ratio, is_worth_it(&whole.all, whole.all.us));
            self.store_trial(number)?;
        }
        Ok(())
    }

    /// Tries all new choices of emitters in the program together. Keeps a choice if its kernel is
    /// faster in the program than the untuned kernel. If the program with the kept choices is
    /// slower than the program without them, reverts all choices.
    pub(super) fn try_emitters(&mut self, source: &Source) -> Result<(), WorkshopError> {
        let untried = self.untried(|row| matches!(row.question, Question::Emitter(_)));
        if untried.is_empty() {
            return Ok(());
        }
        (self.progress)(Progress::Trying(untried.len()));
        let asked: Vec<Question> = untried.iter().map(|&number| self.report.rows[number].question).collect();
        let untuned = self.compile_with_untuned(source, &asked)?;
        let tuned = self.compile_with_untuned(source, &[])?;
        let names: Vec<String> = untried.iter().map(|&number| self.report.rows[number].name.clone()).collect();
        let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        let Some(whole) = self.compared(&untuned, &tuned, &names)? else { return Ok(()) };
        let mut stay = Vec::new();
        for &number in &untried {
            let row = &mut self.report.rows[number];
            // A kernel inside a loop's function is not a separate step. Its choice is judged by the
            // time of the whole program.
            let part = whole.kernels.get(&row.name).unwrap_or(&whole.all);
            let stays = is_worth_it(part, whole.all.us);
            row.tried(part.ratio, stays);
            stay.extend(stays.then_some(number));
        }
        let of_rest = match stay.len() {
            0 => None,
            all if all == untried.len() => Some(whole.all.ratio),
            _ => self
                .compared(&untuned, &self.compile_with_untuned(source, &[])?, &BTreeSet::new())?
                .map(|it| it.all.ratio),
        };
        if of_rest.is_some_and(|ratio| Verdict::of(&ratio) == Verdict::Slower) {
            stay.iter().for_each(|&number| self.report.rows[number].take_back());
        }
        untried.into_iter().try_for_each(|number| self.store_trial(number))
    }

    /// Returns the indices of untried rows. Returns no index if measuring is forbidden,
    /// interrupted, or impossible without inputs of the program.
    fn untried(&self, is_meant: impl Fn(&TunedQuestion) -> bool) -> Vec<usize> {
        if self.settings.locked || self.settings.program.is_none() || self.settings.is_stopped() {
            return Vec::new();
        }
        let rows = self.report.rows.iter().enumerate();
        rows.filter(|(_, row)| is_meant(row) && row.decision.is_untried()).map(|(number, _)| number).collect()
    }

    /// Compiles the program with the choices of the rows. For the questions in `untuned`, uses the
    /// choices without tuning.
    fn compile_with_untuned(&self, source: &Source, untuned: &[Question]) -> Result<Executable, WorkshopError> {
        let compiling = &self.settings.compile;
        let mut emitters =
            Emitters { tuned: Default::default(), cuts: Default::default(), ..compiling.emitters.clone() };
        for row in &self.report.rows {
            let StoredChoice { spec, instead_of, .. } = &row.decision.chosen;
            let spec = if untuned.contains(&row.question) { instead_of } else { spec };
            match row.question {
                Question::Cut(region) => drop(emitters.cuts.insert(region, spec.clone())),
                Question::Emitter(fusion) => {
                    emitters.tuned.extend(find(spec, &emitters.registry).map(|tuned| (fusion, tuned)));
                }
            }
        }
        let made = compile(source, &Options { until: Phase::Run, emitters, ..compiling.clone() })?;
        made.executable.ok_or_else(|| WorkshopError::Interface("there is no executable".into()))
    }

    /// Measures both programs. If the programs fail on these inputs, adds a warning and returns
    /// `None`.
    fn compared(
        &mut self,
        untuned: &Executable,
        tuned: &Executable,
        kernels: &BTreeSet<&str>,
    ) -> Result<Option<ProgramComparison>, WorkshopError> {
        let Some(choice) = &self.settings.program else { return Ok(None) };
        let shapes: Vec<Shape> = untuned.parameters.iter().filter_map(|it| it.shape.to_shape()).collect();
        let inputs: Vec<ArrayLiteral> = inputs::arrays(&inputs::load(choice, &shapes)?);
        match self.timer.in_program(untuned, tuned, &inputs, kernels) {
            Ok(whole) => Ok(Some(whole)),
            Err(WorkshopError::Run(error)) => {
                let hint = if choice.inputs.is_some() { "" } else { "; --inputs replaces the random inputs" };
                self.report.warnings.push(format!(
                    "the winners were not tried in the whole program, which does not run on these inputs: {error}{hint}"
                ));
                Ok(None)
            }
            Err(other) => Err(other),
        }
    }

    /// Stores the outcome of the trial. If another process has stored an outcome meanwhile, uses
    /// the outcome of that process.
    fn store_trial(&mut self, number: usize) -> Result<(), WorkshopError> {
        let row = &mut self.report.rows[number];
        row.decision = self.database.keep(&self.device, row.question, &row.decision, Replaceable::Untried)?;
        Ok(())
    }
}
