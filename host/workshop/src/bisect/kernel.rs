//! Finds the cause of a wrong kernel. The cause is the kernel's emitter, a stage of lowering, LLVM,
//! or code that all emitters use.

use fusebox_compiler::{Departures, Options, Selected};
use fusebox_core::hlo::Literal;
use fusebox_lowering::Stage;
use fusebox_plugins::Outcome;

use super::{BisectionSettings, FailingCase, FailureCheck, LocatedFault, Suspect, for_part};
use crate::WorkshopError;
use crate::case::Case;
use crate::pinned::{pinned, pinned_to};
use crate::stages::{JudgedStage, KernelStages, StageJudgement};

/// Finds the cause if the result of a fusion is wrong on these operands.
///
/// # Errors
/// If the interpreter fails.
pub fn examine(
    kernel: &Selected,
    operands: &[Literal],
    difference: String,
    settings: &BisectionSettings,
) -> Result<LocatedFault, WorkshopError> {
    let case = Case::of_fusion(kernel, operands.to_vec());
    let alone = IsolatedFusion { kernel, case, settings };
    let options = pinned(kernel, &for_part(&settings.compile));
    if alone.is_right(&options)? {
        let suspect = Suspect::Buffers { fusion: alone.fusion() };
        return Ok(LocatedFault { suspect, difference, wrong: None });
    }
    let suspect = alone.suspect(&options)?;
    let by = FailureCheck::Compiled(Box::new(options));
    Ok(LocatedFault { suspect, difference, wrong: Some(FailingCase { case: alone.case, by }) })
}

/// A fusion whose result is wrong in isolation.
struct IsolatedFusion<'s> {
    kernel: &'s Selected,
    case: Case,
    settings: &'s BisectionSettings,
}

impl IsolatedFusion<'_> {
    fn fusion(&self) -> String {
        self.kernel.unit.fusion.name.clone()
    }

    fn emitter(&self) -> String {
        format!("{} {}", self.kernel.emitter.name, self.kernel.emitter.version)
    }

    fn is_right(&self, options: &Options) -> Result<bool, WorkshopError> {
        let found = self.case.compiled(options, &self.settings.run)?;
        Ok(self.case.difference(&found)?.is_none())
    }

    fn suspect(&self, options: &Options) -> Result<Suspect, WorkshopError> {
        let stages = KernelStages::of(&self.case, options)?;
        let judged = stages.as_ref().map(KernelStages::judged).transpose()?.unwrap_or_default();
        let (fusion, emitter) = (self.fusion(), self.emitter());
        Ok(match &judged[..] {
            [JudgedStage { judgement: StageJudgement::Wrong(_), .. }] => self.emitter_or_all(None),
            [
                ..,
                JudgedStage { stage: before, judgement: StageJudgement::Right, .. },
                JudgedStage { stage, judgement: StageJudgement::Wrong(fault), .. },
            ] => {
                let (stage, before) = (stage.name().into(), before.name().into());
                Suspect::Stage { fusion, emitter, stage, before, fault: fault.clone() }
            }
            _ if self.is_right(&unoptimised(options)).unwrap_or(false) => {
                match stages.and_then(|stages| stages.broken_promise()) {
                    Some((stage, promise)) => Suspect::Promise { fusion, emitter, stage: stage.name().into(), promise },
                    None => Suspect::Optimisation { fusion, emitter },
                }
            }
            [.., JudgedStage { stage: Stage::Scalars, judgement: StageJudgement::Right, .. }] => {
                Suspect::Code { fusion, emitter }
            }
            judged => self.emitter_or_all(Some(why_unknown(judged))),
        })
    }

    /// Compiles the fusion with the other emitters. If one of the other emitters builds a right
    /// kernel, returns `Suspect::Emitter`; otherwise returns `Suspect::Kernel`.
    fn emitter_or_all(&self, unknown: Option<String>) -> Suspect {
        let judged = others(self.kernel, &self.settings.compile).into_iter();
        let judged = judged.filter_map(|(name, options)| Some((name, self.is_right(&options).ok()?)));
        let (right, wrong): (Vec<_>, Vec<_>) = judged.partition(|(_, is_right)| *is_right);
        let names = |judged: Vec<(String, bool)>| judged.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        let (right, wrong) = (names(right), names(wrong));
        let (fusion, emitter) = (self.fusion(), self.emitter());
        if right.is_empty() {
            Suspect::Kernel { fusion, emitter, wrong, unknown }
        } else {
            Suspect::Emitter { fusion, emitter, right, wrong, unknown }
        }
    }
}

fn unoptimised(options: &Options) -> Options {
    let departures = Departures { unoptimised: true, ..options.departures.clone() };
    Options { departures, ..options.clone() }
}

fn why_unknown(judged: &[JudgedStage]) -> String {
    let reason = judged.iter().find_map(|it| match &it.judgement {
        StageJudgement::Unknown(reason) => Some(format!("stage `{}`: {reason}", it.stage.name())),
        _ => None,
    });
    reason.unwrap_or_else(|| "it has no stages".into())
}

/// Returns the names of the other emitters that accept the fusion, each with options that choose
/// this emitter.
fn others(kernel: &Selected, options: &Options) -> Vec<(String, Options)> {
    let all = options.emitters.registry.emitters();
    let own = kernel.selection.order[kernel.place].emitter;
    let taking =
        kernel.selection.records.iter().filter(|record| {
            record.emitter != own && matches!(record.outcome, Outcome::Passed(_) | Outcome::Chosen(_))
        });
    let taking = taking.map(|record| (all[record.emitter].identity(), pinned_to(record.emitter, &for_part(options))));
    taking.collect()
}
