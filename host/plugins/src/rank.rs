//! In which order emitters that take a fusion are tried: by the time that their plans are predicted to take.
//!
//! ```text
//! failed     those that have no plan: they are tried first, so that their failure is reported
//! claimed    those of an interface before 1.1 whose score is above that of the former loop emitter, the highest first
//! predicted  all others of today, the fastest first; those that compute each result by itself give way to those that are
//!            made for such a fusion, if these take about as long: that say what they visit, or ask for an operation in it;
//!            of equal times by kind, name and version
//! others     those of an interface before 1.1 that claim no more than the loop emitter did
//! ```
//!
//! A plan of an interface before 1.1 does not say what is read, so that its time cannot be compared. Whoever got a fusion by
//! its score still gets it.

use std::cmp::{Ordering, Reverse};

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Configuration, FORMER_LOOP, Fusion, Plan, Prediction, Verdict, check_visits, order, predict, predict_unsaid,
};
use fusebox_core::hlo::Opcode;
use fusebox_core::times::microseconds;
use semver::Version;

use crate::carrier::LoadedEmitter;
use crate::failure::{Failure, FailureKind, Stage};

/// An emitter that takes a fusion.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// Its number in the registry.
    pub emitter: usize,
    /// Its score, if it says one instead of being predicted, as those of an interface before 1.1 do.
    pub score: Option<u32>,
    /// The knobs that it is to plan with.
    pub knobs: Configuration,
    /// Its plan without knobs, not checked yet but for its visits, and what that is predicted to take. None if nothing had
    /// to be compared.
    pub planned: Option<Result<(Plan, Prediction), Failure>>,
}

impl Ranked {
    /// By what it has said.
    pub fn new(emitter: usize, verdict: &Verdict) -> Self {
        let score = match verdict {
            Verdict::Scored { score } => Some(*score),
            Verdict::Accept | Verdict::Decline(_) => None,
        };
        Ranked { emitter, score, knobs: Configuration::default(), planned: None }
    }

    /// Why it has no plan, if it was asked for one and failed.
    pub fn failure(&self) -> Option<&Failure> {
        self.planned.as_ref()?.as_ref().err()
    }

    /// What a plan of it is predicted to take.
    pub fn prediction(&self, plan: &Plan, fusion: &Fusion, device: &DeviceDescription) -> Prediction {
        match self.score {
            None => predict(plan, fusion, device),
            Some(_) => predict_unsaid(plan, fusion, device),
        }
    }

    /// Plans, unless it has, and predicts.
    ///
    /// # Errors
    /// If it fails, or its visits cannot be.
    pub fn plan(
        &self,
        emitter: &LoadedEmitter,
        fusion: &Fusion,
        device: &DeviceDescription,
    ) -> Result<(Plan, Prediction), Failure> {
        if let Some(planned) = &self.planned {
            return planned.clone();
        }
        let plan = emitter.plan(fusion, device, &Configuration::default())?;
        check_visits(&plan, fusion)
            .map_err(|fault| emitter.failure(Stage::Plan, fusion, FailureKind::Plan(Box::new(fault))))?;
        let prediction = self.prediction(&plan, fusion, device);
        Ok((plan, prediction))
    }

    /// Its way to be ranked, in words.
    pub(crate) fn reason(&self) -> String {
        match (&self.planned, self.score) {
            (Some(Err(failure)), _) => failure.kind.to_string(),
            (_, Some(score)) => format!("with score {score} instead of a predicted time"),
            (Some(Ok((_, prediction))), None) => {
                format!("predicted to take {} us", microseconds(prediction.seconds * 1e6, 2))
            }
            (None, None) => "no other plan to compare with".into(),
        }
    }

    fn class(&self) -> u8 {
        match (&self.planned, self.score) {
            (Some(Err(_)), _) => 0,
            (_, Some(score)) if score > FORMER_LOOP => 1,
            (_, None) => 2,
            (_, Some(_)) => 3,
        }
    }

    /// Whether its plan says nothing of what is visited, and it asks for no operation in the fusion.
    fn computes_one_by_one(&self, emitters: &[LoadedEmitter], fusion: &Fusion) -> bool {
        let emitter = &emitters[self.emitter];
        let is_wanted = |opcode: Opcode| emitter.heroes().contains(&opcode) || emitter.anchors().contains(&opcode);
        let visits_nothing = |planned: &Result<(Plan, Prediction), Failure>| {
            planned.as_ref().is_ok_and(|(plan, _)| plan.visits.is_empty())
        };
        self.planned.as_ref().is_some_and(visits_nothing)
            && !fusion.computation().instructions.iter().any(|instruction| is_wanted(instruction.opcode()))
    }

    fn seconds(&self) -> f64 {
        self.planned.as_ref().and_then(|it| it.as_ref().ok()).map_or(0.0, |(_, prediction)| prediction.seconds)
    }
}

/// Orders emitters that take a fusion. Those whose plan would not be compared with another are not asked for it.
pub(crate) fn rank(
    emitters: &[LoadedEmitter],
    mut takers: Vec<Ranked>,
    fusion: &Fusion,
    device: &DeviceDescription,
) -> Vec<Ranked> {
    if takers.iter().filter(|taker| taker.score.is_none()).count() > 1 {
        for taker in takers.iter_mut().filter(|taker| taker.score.is_none()) {
            taker.planned = Some(taker.plan(&emitters[taker.emitter], fusion, device));
        }
    }
    let of_any = |it: &Ranked| it.computes_one_by_one(emitters, fusion);
    let otherwise = |a: &Ranked, b: &Ranked| {
        let made_for_it = of_any(a).cmp(&of_any(b));
        let by_name = || by_name(&emitters[a.emitter], &emitters[b.emitter]);
        made_for_it.then(a.seconds().total_cmp(&b.seconds())).then_with(by_name)
    };
    takers.sort_by(|a, b| {
        let key = |it: &Ranked| (it.class(), Reverse(it.score));
        key(a).cmp(&key(b)).then_with(|| otherwise(a, b))
    });
    let first = takers.partition_point(|it| it.class() < 2);
    let end = takers.partition_point(|it| it.class() <= 2);
    order(&mut takers[first..end], Ranked::seconds, otherwise);
    takers
}

/// A total order that does not depend on what was loaded when: of one name, the newest version first.
fn by_name(a: &LoadedEmitter, b: &LoadedEmitter) -> Ordering {
    let version = |it: &LoadedEmitter| Reverse(Version::parse(&it.descriptor().version).ok());
    let key =
        |it: &LoadedEmitter| (it.descriptor().kind.clone(), it.descriptor().name.clone(), version(it), it.identity());
    key(a).cmp(&key(b))
}
