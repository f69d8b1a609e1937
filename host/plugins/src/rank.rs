//! Orders the emitters that accept a fusion by the predicted time of their plans.
//!
//! ```text
//! failed      emitters that fail to plan. They come first, so that their failure is reported
//! accepting   emitters that accept, the fastest first. Among similar times, specialised emitters
//!             come first: their plans state visits, or the fusion has their hero or anchor. Equal
//!             times are ordered by kind, name and version
//! on request  emitters that accept only on request
//! ```

use std::cmp::{Ordering, Reverse};

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Fusion, Verdict, check_visits};
use fusebox_core::hlo::Opcode;
use fusebox_core::times::microseconds;
use fusebox_prediction::{order, predict};
use semver::Version;

use crate::failure::{Failure, FailureKind, Stage};
use crate::known_plans::{PlanWithPrediction, PlansOfForm};
use crate::loaded_emitter::LoadedEmitter;

/// An emitter that accepts a fusion.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// Index of the emitter in the registry.
    pub emitter: usize,
    /// Whether the emitter accepts only on request, and comes after all others.
    pub on_request: bool,
    /// The knobs for the emitter's plan.
    pub knobs: Configuration,
    /// The emitter's plan without knobs, and the prediction for this plan. Only the plan's visits
    /// are checked. `None` if there was no other plan to compare the emitter's plan with.
    pub planned: Option<Result<PlanWithPrediction, Failure>>,
}

impl Ranked {
    /// Creates an entry for an emitter with this verdict.
    pub fn new(emitter: usize, verdict: &Verdict) -> Self {
        let on_request = *verdict == Verdict::OnRequest;
        Ranked { emitter, on_request, knobs: Configuration::default(), planned: None }
    }

    /// Returns the failure, if the emitter failed to plan.
    pub fn failure(&self) -> Option<&Failure> {
        self.planned.as_ref()?.as_ref().err()
    }

    /// Returns the plan and its prediction. Asks for the plan if it is not known yet.
    ///
    /// # Errors
    /// If the emitter fails, or the visits of its plan are wrong.
    pub fn plan(
        &self,
        emitter: &LoadedEmitter,
        fusion: &Fusion,
        device: &DeviceDescription,
        known: &PlansOfForm,
    ) -> Result<PlanWithPrediction, Failure> {
        if let Some(planned) = &self.planned {
            return planned.clone();
        }
        known.plan(self.emitter, fusion, || {
            let plan = emitter.plan(fusion, device, &Configuration::default())?;
            check_visits(&plan, fusion)
                .map_err(|fault| emitter.failure(Stage::Plan, fusion, FailureKind::Plan(Box::new(fault))))?;
            let prediction = predict(&plan, fusion, device);
            Ok((plan, prediction))
        })
    }

    /// Returns the reason for the emitter's position as text.
    pub(crate) fn reason(&self) -> String {
        match &self.planned {
            Some(Err(failure)) => failure.kind.to_string(),
            Some(Ok((_, prediction))) => format!("predicted to take {} us", microseconds(prediction.seconds * 1e6, 2)),
            None if self.on_request => "on request".into(),
            None => "no other plan to compare with".into(),
        }
    }

    /// Returns the number of the emitter's class in the list at the top of this file.
    fn class(&self) -> u8 {
        match &self.planned {
            Some(Err(_)) => 0,
            _ if self.on_request => 2,
            _ => 1,
        }
    }

    /// Whether two conditions hold: the emitter's plan has no visits, and no operation of the
    /// fusion is a hero or anchor of the emitter.
    fn computes_one_by_one(&self, emitters: &[LoadedEmitter], fusion: &Fusion) -> bool {
        let emitter = &emitters[self.emitter];
        let is_wanted = |opcode: Opcode| emitter.heroes().contains(&opcode) || emitter.anchors().contains(&opcode);
        let visits_nothing = |planned: &Result<PlanWithPrediction, Failure>| {
            planned.as_ref().is_ok_and(|(plan, _)| plan.visits.is_empty())
        };
        self.planned.as_ref().is_some_and(visits_nothing)
            && !fusion.computation().instructions.iter().any(|instruction| is_wanted(instruction.opcode()))
    }

    fn seconds(&self) -> f64 {
        self.planned.as_ref().and_then(|it| it.as_ref().ok()).map_or(0.0, |(_, prediction)| prediction.seconds)
    }
}

/// Orders emitters that accept a fusion. Asks the emitters for plans only if there are several
/// plans to compare.
pub(crate) fn rank(
    emitters: &[LoadedEmitter],
    mut takers: Vec<Ranked>,
    fusion: &Fusion,
    device: &DeviceDescription,
    known: &PlansOfForm,
) -> Vec<Ranked> {
    if takers.iter().filter(|taker| !taker.on_request).count() > 1 {
        for taker in takers.iter_mut().filter(|taker| !taker.on_request) {
            taker.planned = Some(taker.plan(&emitters[taker.emitter], fusion, device, known));
        }
    }
    let of_any = |it: &Ranked| it.computes_one_by_one(emitters, fusion);
    let otherwise = |a: &Ranked, b: &Ranked| {
        let made_for_it = of_any(a).cmp(&of_any(b));
        let by_name = || by_name(&emitters[a.emitter], &emitters[b.emitter]);
        made_for_it.then(a.seconds().total_cmp(&b.seconds())).then_with(by_name)
    };
    takers.sort_by(|a, b| a.class().cmp(&b.class()).then_with(|| otherwise(a, b)));
    let first = takers.partition_point(|it| it.class() < 1);
    let end = takers.partition_point(|it| it.class() <= 1);
    order(&mut takers[first..end], Ranked::seconds, otherwise);
    takers
}

/// Compares two emitters, first by kind and name. The comparison does not depend on the order in
/// which libraries were loaded. For equal names, the newest version comes first.
fn by_name(a: &LoadedEmitter, b: &LoadedEmitter) -> Ordering {
    let version = |it: &LoadedEmitter| Reverse(Version::parse(&it.descriptor().version).ok());
    let key =
        |it: &LoadedEmitter| (it.descriptor().kind.clone(), it.descriptor().name.clone(), version(it), it.identity());
    key(a).cmp(&key(b))
}
