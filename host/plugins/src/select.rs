//! Who is to compile a fusion: overrides of the user, then predicted time.

use std::path::Path;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Fusion, KernelKind, Verdict};
use semver::Version;

use crate::carrier::LoadedEmitter;
use crate::failure::{Failure, LoadError};
use crate::library::canonical;
use crate::rank::{Ranked, rank};
use crate::registry::{Origin, Registry};
use crate::spec::{Spec, Target};

/// A choice of the user, looked up in a registry: these emitters are in charge of what they take of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// Fusions of this kind: those which, without overrides, an emitter of this kind would take. If no other emitters are
    /// of it, all that these would take.
    pub kind: KernelKind,
    /// Numbers of the emitters in the registry; several where a file offers several of the kind.
    pub emitters: Vec<usize>,
    /// The SPEC it is from.
    pub spec: String,
    /// Whether it is an error if they decline a fusion of the kind; otherwise the others take it.
    pub force: bool,
}

/// A SPEC that fits no emitter.
#[derive(Debug, thiserror::Error)]
pub enum OverrideError {
    /// The file cannot be found.
    #[error(transparent)]
    File(#[from] LoadError),
    /// No such emitter.
    #[error("emitter spec `{spec}`: there is no such emitter; there are: {known}")]
    Unknown {
        /// As given.
        spec: String,
        /// Names and versions of all.
        known: String,
    },
}

impl Override {
    /// Looks a SPEC up. Its file, if it names one, must have been loaded.
    ///
    /// # Errors
    /// If nothing fits.
    pub fn resolve(registry: &Registry, spec: &Spec, force: bool) -> Result<Vec<Override>, OverrideError> {
        let found = match &spec.target {
            Target::File(path) => of_file(registry, &canonical(path)?, spec.kind.as_ref()),
            Target::Name { name, version } => {
                let newest = newest(registry, name, version.as_ref()).map(|number| vec![number]);
                // Kinds that had one emitter of their own name once have several.
                let all = || of_kind(registry, spec.kind.as_ref()?, name, version.as_ref());
                newest.or_else(all).zip(spec.kind.clone()).map(|(numbers, kind)| (kind, numbers)).into_iter().collect()
            }
        };
        if found.is_empty() {
            let known: Vec<String> = registry.emitters().iter().map(LoadedEmitter::identity).collect();
            return Err(OverrideError::Unknown { spec: spec.to_string(), known: known.join(", ") });
        }
        let overriding = |(kind, emitters)| Override { kind, emitters, spec: spec.to_string(), force };
        Ok(found.into_iter().map(overriding).collect())
    }
}

/// The emitters of a file by kind. For one kind: those that are of it, or if none is, all, which are to take other fusions
/// than they were written for.
fn of_file(registry: &Registry, path: &Path, kind: Option<&KernelKind>) -> Vec<(KernelKind, Vec<usize>)> {
    let mut found: Vec<(KernelKind, Vec<usize>)> = Vec::new();
    for (number, emitter) in registry.emitters().iter().enumerate() {
        let own = &emitter.descriptor().kind;
        if emitter.origin().path() != Some(path) {
            continue;
        }
        match found.iter_mut().find(|(known, _)| known == own) {
            Some((_, numbers)) => numbers.push(number),
            None => found.push((own.clone(), vec![number])),
        }
    }
    let Some(kind) = kind.filter(|_| !found.is_empty()) else { return found };
    match found.iter().position(|(known, _)| known == kind) {
        Some(place) => vec![found.swap_remove(place)],
        None => vec![(kind.clone(), found.into_iter().flat_map(|(_, numbers)| numbers).collect())],
    }
}

/// The emitters of a kind that are linked in, if the name is the kind's own.
fn of_kind(registry: &Registry, kind: &KernelKind, name: &str, version: Option<&Version>) -> Option<Vec<usize>> {
    let own = |emitter: &LoadedEmitter| emitter.descriptor().kind == *kind && *emitter.origin() == Origin::Linked;
    let all = registry.emitters().iter().enumerate().filter(|(_, emitter)| own(emitter)).map(|(number, _)| number);
    Some(all.collect()).filter(|all: &Vec<usize>| kind.0 == name && version.is_none() && !all.is_empty())
}

/// The newest emitter of a name, or that of a version; of equal ones, the first of the registry.
fn newest(registry: &Registry, name: &str, version: Option<&Version>) -> Option<usize> {
    let named = registry.emitters().iter().enumerate().filter(|(_, emitter)| emitter.descriptor().name == *name);
    let versioned = named.filter_map(|(i, emitter)| Some((Version::parse(&emitter.descriptor().version).ok()?, i)));
    let fitting = versioned.filter(|(found, _)| version.is_none_or(|wanted| wanted == found));
    fitting.max_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1))).map(|(_, number)| number)
}

/// What became of one emitter in a selection.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It comes first: why.
    Chosen(String),
    /// It would take the fusion, but another comes first; what it is predicted to take.
    Passed(String),
    /// It declined: why.
    Declined(String),
    /// It did not give a usable answer.
    Failed(Failure),
}

/// A line of the record.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Number of the emitter in the registry.
    pub emitter: usize,
    /// Name, version and origin.
    pub identity: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// Who is to compile a fusion, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// Those who take it, to be tried in this order. If the user has forced some, only these.
    pub order: Vec<Ranked>,
    /// Whether the user has named the emitter. Then its failure is an error; otherwise the next is tried, with a
    /// warning.
    pub forced: bool,
    /// The user's choice for the fusion, if those chosen decline it: the SPEC, and why.
    pub declined: Option<(String, String)>,
    /// The fusion's kind: that of the emitter that takes it where the user chooses nothing.
    pub kind: Option<KernelKind>,
    /// One line per emitter, in the registry's order.
    pub records: Vec<Record>,
}

/// No emitter for a fusion.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SelectError {
    /// Nobody takes it.
    #[error("no emitter takes fusion {fusion}: {reasons}")]
    Nobody {
        /// Name of the fusion.
        fusion: String,
        /// Each one's reason.
        reasons: String,
    },
    /// The emitter that the user named does not take it.
    #[error("emitter {emitter}, chosen by `{spec}`, does not take fusion {fusion}: {reason}")]
    Forced {
        /// Name, version and origin.
        emitter: String,
        /// The SPEC.
        spec: String,
        /// Name of the fusion.
        fusion: String,
        /// Why not.
        reason: String,
    },
}

/// Asks all emitters and orders those that accept.
///
/// # Errors
/// If nobody takes the fusion, or the one that the user named does not.
pub fn select(
    registry: &Registry,
    fusion: &Fusion,
    device: &DeviceDescription,
    overrides: &[Override],
) -> Result<Selection, SelectError> {
    let emitters = registry.emitters();
    let verdicts: Vec<_> = emitters.iter().map(|emitter| emitter.consider(fusion, device)).collect();
    let taker = |(number, verdict): (usize, &Result<Verdict, Failure>)| {
        verdict.as_ref().ok().filter(|verdict| verdict.accepts()).map(|verdict| Ranked::new(number, verdict))
    };
    let takers = verdicts.iter().enumerate().filter_map(taker).collect();
    let mut order = rank(emitters, takers, fusion, device);
    let all = order.clone();

    let kind = first_planned(&order).map(|it| emitters[it.emitter].descriptor().kind.clone());
    // The last SPEC for a kind counts. Where nobody takes the fusion, the one of the emitter's own kind does; a kind that
    // nobody else is of has the fusions that its emitters take.
    let is_of = |number: usize, choice: &Override| emitters[number].descriptor().kind == choice.kind;
    let others_are_of =
        |choice: &Override| (0..emitters.len()).any(|i| is_of(i, choice) && !choice.emitters.contains(&i));
    let takes =
        |choice: &Override| order.iter().any(|it| is_of(it.emitter, choice) && choice.emitters.contains(&it.emitter));
    let last = |fits: &dyn Fn(&Override) -> bool| overrides.iter().rev().find(|choice| fits(choice));
    let forced = match &kind {
        Some(kind) => {
            last(&|choice| choice.kind == *kind).or_else(|| last(&|choice| takes(choice) && !others_are_of(choice)))
        }
        None => last(&|choice| choice.emitters.iter().any(|&number| is_of(number, choice))),
    };
    let mut chosen_by = None;
    let (mut in_charge, mut declined) = (false, None);
    if let Some(choice) = forced {
        match order.iter().any(|it| choice.emitters.contains(&it.emitter)) {
            true => {
                order.retain(|it| choice.emitters.contains(&it.emitter));
                chosen_by = Some(format!("chosen by `{}`", choice.spec));
                in_charge = true;
            }
            false => declined = Some(not_taken(emitters, &verdicts, choice, fusion)?),
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
    Ok(Selection { order, forced: in_charge, declined, kind, records })
}

/// The first that has not failed to plan; if all have, the first.
fn first_planned(order: &[Ranked]) -> Option<&Ranked> {
    order.iter().find(|it| it.failure().is_none()).or(order.first())
}

/// The SPEC and the reasons of a choice whose emitters all decline; an error where that must not be, or one of them failed.
fn not_taken(
    emitters: &[LoadedEmitter],
    verdicts: &[Result<Verdict, Failure>],
    choice: &Override,
    fusion: &Fusion,
) -> Result<(String, String), SelectError> {
    let reasons: Vec<String> = choice.emitters.iter().map(|&number| reason_of(&verdicts[number])).collect();
    let reason = reasons.join("; ");
    if choice.force || choice.emitters.iter().any(|&number| verdicts[number].is_err()) {
        let identities: Vec<String> = choice.emitters.iter().map(|&number| emitters[number].identity()).collect();
        return Err(SelectError::Forced {
            emitter: identities.join(", "),
            spec: choice.spec.clone(),
            fusion: fusion.name.clone(),
            reason,
        });
    }
    Ok((choice.spec.clone(), reason))
}

fn reason_of(verdict: &Result<Verdict, Failure>) -> String {
    match verdict {
        Ok(Verdict::Accept | Verdict::Scored { .. }) => "accepts".into(),
        Ok(Verdict::Decline(decline)) => match &decline.instruction {
            Some(instruction) => format!("{} [at {instruction}]", decline.reason),
            None => decline.reason.clone(),
        },
        Err(failure) => failure.kind.to_string(),
    }
}
