//! Selects the emitter of a fusion: by overrides of the user, then by predicted time.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Fusion, KernelKind, Verdict};

use crate::choice::Override;
use crate::failure::Failure;
use crate::known_plans::PlansOfForm;
use crate::loaded_emitter::LoadedEmitter;
use crate::rank::{Ranked, rank};
use crate::registry::Registry;
use crate::spec::Subject;

/// Outcome of one emitter in a selection.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The emitter ranks first. Contains the reason.
    Chosen(String),
    /// The emitter accepts the fusion, but another emitter ranks first. Contains the reason for
    /// this emitter's rank, usually the predicted time of its plan.
    Passed(String),
    /// The emitter declined. Contains the reason.
    Declined(String),
    /// The emitter gave no usable answer.
    Failed(Failure),
}

/// The outcome of one emitter.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Index of the emitter in the registry.
    pub emitter: usize,
    /// Name, version and origin of the emitter.
    pub identity: String,
    /// The outcome.
    pub outcome: Outcome,
}

/// The emitters to try for a fusion, with reasons.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// Emitters that accept the fusion, in the order in which they are tried. If an override
    /// applies, the list contains only emitters that the override names.
    pub order: Vec<Ranked>,
    /// Index of the override that applies, if any. If an override applies, a failure of the
    /// override's emitters is an error. If no override applies, the host prints a warning after the
    /// failure of an emitter, and tries the next emitter.
    pub in_charge: Option<usize>,
    /// Index of the override that applies to the fusion, and the reasons why all emitters of this
    /// override decline the fusion. `None` if no override applies, or if an emitter of the override
    /// accepts the fusion.
    pub declined: Option<(usize, String)>,
    /// Kind of the fusion: the kind of the emitter that gets the fusion without overrides.
    pub kind: Option<KernelKind>,
    /// One record per emitter, in the registry's order.
    pub records: Vec<Record>,
}

/// Reason why no emitter was selected for a fusion.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SelectError {
    /// No emitter accepts the fusion.
    #[error("no emitter accepts fusion {fusion}: {reasons}")]
    Nobody {
        /// Name of the fusion.
        fusion: String,
        /// Each emitter's reason why it does not accept the fusion.
        reasons: String,
    },
    /// The emitter that the user named does not accept the fusion.
    #[error("emitter {emitter}, chosen by {choice}, does not accept fusion {fusion}: {reason}")]
    Forced {
        /// Name, version and origin of the emitter.
        emitter: String,
        /// The SPEC and its position in a file.
        choice: String,
        /// Name of the fusion.
        fusion: String,
        /// The emitter's reason why it does not accept the fusion.
        reason: String,
    },
}

impl Selection {
    /// Makes an emitter with these knobs the first in the order. Does nothing if an override
    /// applies, or if the emitter does not accept the fusion.
    pub fn prefer(&mut self, emitter: usize, knobs: &Configuration, reason: &str) {
        let taker = self.order.iter().find(|it| it.emitter == emitter && it.failure().is_none());
        let Some(taker) = taker.filter(|_| self.in_charge.is_none()) else { return };
        let first = Ranked { knobs: knobs.clone(), ..taker.clone() };
        for record in &mut self.records {
            match &record.outcome {
                _ if record.emitter == emitter => record.outcome = Outcome::Chosen(reason.to_owned()),
                Outcome::Chosen(own) => record.outcome = Outcome::Passed(own.clone()),
                _ => {}
            }
        }
        self.order.insert(0, first);
    }
}

/// Asks all emitters, and orders the emitters that accept.
///
/// # Errors
/// If no emitter accepts the fusion, or if the emitter that the user named does not accept the
/// fusion.
pub fn select(
    registry: &Registry,
    fusion: &Fusion,
    device: &DeviceDescription,
    overrides: &[Override],
) -> Result<Selection, SelectError> {
    select_known(registry, fusion, device, overrides, &PlansOfForm::of(fusion))
}

/// Does the same as [`select`], but does not ask for verdicts and plans that are known.
///
/// # Errors
/// The errors of [`select`].
pub fn select_known(
    registry: &Registry,
    fusion: &Fusion,
    device: &DeviceDescription,
    overrides: &[Override],
    known: &PlansOfForm,
) -> Result<Selection, SelectError> {
    let emitters = registry.emitters();
    let numbered = emitters.iter().enumerate();
    let verdicts: Vec<_> = numbered.map(|(number, emitter)| known.verdict(number, emitter, fusion, device)).collect();
    let taker = |(number, verdict): (usize, &Result<Verdict, Failure>)| {
        verdict.as_ref().ok().filter(|verdict| verdict.accepts()).map(|verdict| Ranked::new(number, verdict))
    };
    let takers = verdicts.iter().enumerate().filter_map(taker).collect();
    let mut order = rank(emitters, takers, fusion, device, known);
    let all = order.clone();

    let kind = first_planned(&order).map(|it| emitters[it.emitter].descriptor().kind.clone());
    let (mut in_charge, mut declined, mut chosen_by) = (None, None, None);
    if let Some(number) = override_for(fusion, kind.as_ref(), &order, emitters, overrides) {
        let choice = &overrides[number];
        if order.iter().any(|it| choice.emitters.contains(&it.emitter)) {
            order.retain(|it| choice.emitters.contains(&it.emitter));
            order.iter_mut().for_each(|it| it.knobs.clone_from(&choice.knobs));
            chosen_by = Some(format!("chosen by {choice}"));
            in_charge = Some(number);
        } else {
            declined = Some((number, reasons_to_decline(emitters, &verdicts, choice, fusion)?))
        }
    }
    let Some(first) = first_planned(&order).map(|it| it.emitter) else {
        let reasons: Vec<String> =
            emitters.iter().zip(&verdicts).map(|(e, v)| format!("{}: {}", e.identity(), reason_of(v))).collect();
        return Err(SelectError::Nobody { fusion: fusion.name.clone(), reasons: reasons.join("; ") });
    };
    let ranked = |i: usize| all.iter().find(|it| it.emitter == i);
    let outcome = |i: usize| match (&verdicts[i], ranked(i)) {
        (Err(failure), _) => Outcome::Failed(failure.clone()),
        (Ok(_), Some(ranked)) => match ranked.failure() {
            Some(failure) => Outcome::Failed(failure.clone()),
            None if i == first => Outcome::Chosen(chosen_by.clone().unwrap_or_else(|| ranked.reason())),
            None => Outcome::Passed(ranked.reason()),
        },
        (Ok(_), None) => Outcome::Declined(reason_of(&verdicts[i])),
    };
    let records = (0..emitters.len())
        .map(|i| Record { emitter: i, identity: emitters[i].identity(), outcome: outcome(i) })
        .collect();
    Ok(Selection { order, in_charge, declined, kind, records })
}

/// Returns the number of the last override that applies to a fusion.
///
/// * An override applies to the fusions of its subject.
/// * If the fusion is of no override's subject, an override applies if one of its emitters accepts
///   the fusion and is of the override's kind, in two cases. In the first case, no emitter outside
///   of the override is of the override's kind. In the second case, the emitter with the best
///   prediction has no heroes and anchors, and one of the override's emitters has. An emitter
///   without heroes and anchors is meant only for fusions that no other emitter wants.
/// * If no emitter accepts the fusion (`kind` is `None`), an override whose subject is a kind
///   applies if one of its emitters is of this kind.
fn override_for(
    fusion: &Fusion,
    kind: Option<&KernelKind>,
    order: &[Ranked],
    emitters: &[LoadedEmitter],
    overrides: &[Override],
) -> Option<usize> {
    let is_own = |number: usize, choice: &Override| choice.is_of(&emitters[number].descriptor().kind);
    let others_are_of =
        |choice: &Override| (0..emitters.len()).any(|i| is_own(i, choice) && !choice.emitters.contains(&i));
    let takes =
        |choice: &Override| order.iter().any(|it| is_own(it.emitter, choice) && choice.emitters.contains(&it.emitter));
    let asks = |number: usize| !emitters[number].heroes().is_empty() || !emitters[number].anchors().is_empty();
    let is_left_over = first_planned(order).is_some_and(|first| !asks(first.emitter));
    let is_asked_for = |choice: &Override| is_left_over && choice.emitters.iter().any(|&number| asks(number));
    let last = |fits: &dyn Fn(&Override) -> bool| overrides.iter().rposition(fits);
    match kind {
        Some(kind) => last(&|choice| choice.subject.is(fusion, Some(kind)))
            .or_else(|| last(&|choice| takes(choice) && (!others_are_of(choice) || is_asked_for(choice)))),
        None => last(&|choice| match choice.subject {
            Subject::Kind(_) => choice.emitters.iter().any(|&number| is_own(number, choice)),
            _ => choice.subject.is(fusion, None),
        }),
    }
}

/// Returns the first emitter that has not failed to plan, or the first one if all have failed.
fn first_planned(order: &[Ranked]) -> Option<&Ranked> {
    order.iter().find(|it| it.failure().is_none()).or(order.first())
}

/// Returns the reasons why all emitters of an override decline. Returns an error if the override is
/// forced, or if an emitter failed.
fn reasons_to_decline(
    emitters: &[LoadedEmitter],
    verdicts: &[Result<Verdict, Failure>],
    choice: &Override,
    fusion: &Fusion,
) -> Result<String, SelectError> {
    let reasons: Vec<String> = choice.emitters.iter().map(|&number| reason_of(&verdicts[number])).collect();
    let reason = reasons.join("; ");
    if choice.force || choice.emitters.iter().any(|&number| verdicts[number].is_err()) {
        let identities: Vec<String> = choice.emitters.iter().map(|&number| emitters[number].identity()).collect();
        return Err(SelectError::Forced {
            emitter: identities.join(", "),
            choice: choice.to_string(),
            fusion: fusion.name.clone(),
            reason,
        });
    }
    Ok(reason)
}

fn reason_of(verdict: &Result<Verdict, Failure>) -> String {
    match verdict {
        Ok(Verdict::Accept | Verdict::OnRequest) => "accepts".into(),
        Ok(Verdict::Decline(decline)) => match &decline.instruction {
            Some(instruction) => format!("{} [at {instruction}]", decline.reason),
            None => decline.reason.clone(),
        },
        Err(failure) => failure.kind.to_string(),
    }
}
