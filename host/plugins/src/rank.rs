//! In which order emitters that take a fusion are tried: by the time that their plans are predicted to take.
//!
//! ```text
//! failed      emitters without a plan: they are tried first, so that their failure is reported
//! accepting   emitters that accept, the fastest first. Of those that take about as long, emitters
//!             made for such a fusion come first: that say which values they visit, or ask for an
//!             operation in it. Of equal times by kind, name and version
//! on request  emitters that take it on request
//! ```

use std::cmp::{Ordering, Reverse};

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Fusion, Plan, Prediction, Verdict, check_visits, order, predict};
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
    /// Whether it comes after all that accept.
    pub on_request: bool,
    /// The knobs that it is to plan with.
    pub knobs: Configuration,
    /// Its plan without knobs, not checked yet but for its visits, and what that is predicted to take. None if nothing had
    /// to be compared.
    pub planned: Option<Result<(Plan, Prediction), Failure>>,
}

impl Ranked {
    /// By what it has said.
    pub fn new(emitter: usize, verdict: &Verdict) -> Self {
        let on_request = *verdict == Verdict::OnRequest;
        Ranked { emitter, on_request, knobs: Configuration::default(), planned: None }
    }

    /// Why it has no plan, if it was asked for one and failed.
    pub fn failure(&self) -> Option<&Failure> {
        self.planned.as_ref()?.as_ref().err()
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
        let prediction = predict(&plan, fusion, device);
        Ok((plan, prediction))
    }

    /// Its way to be ranked, in words.
    pub(crate) fn reason(&self) -> String {
        match &self.planned {
            Some(Err(failure)) => failure.kind.to_string(),
            Some(Ok((_, prediction))) => format!("predicted to take {} us", microseconds(prediction.seconds * 1e6, 2)),
            None if self.on_request => "on request".into(),
            None => "no other plan to compare with".into(),
        }
    }

    /// The number of its class, as above.
    fn class(&self) -> u8 {
        match &self.planned {
            Some(Err(_)) => 0,
            _ if self.on_request => 2,
            _ => 1,
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
    if takers.iter().filter(|taker| !taker.on_request).count() > 1 {
        for taker in takers.iter_mut().filter(|taker| !taker.on_request) {
            taker.planned = Some(taker.plan(&emitters[taker.emitter], fusion, device));
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

/// A total order that does not depend on what was loaded when: of one name, the newest version first.
fn by_name(a: &LoadedEmitter, b: &LoadedEmitter) -> Ordering {
    let version = |it: &LoadedEmitter| Reverse(Version::parse(&it.descriptor().version).ok());
    let key =
        |it: &LoadedEmitter| (it.descriptor().kind.clone(), it.descriptor().name.clone(), version(it), it.identity());
    key(a).cmp(&key(b))
}
