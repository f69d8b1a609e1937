//! Who is to compile a fusion: overrides of the user, then score, then the registry's order.

use std::path::Path;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Fusion, KernelKind, Verdict};
use semver::Version;

use crate::carrier::LoadedEmitter;
use crate::failure::{Failure, LoadError};
use crate::library::canonical;
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
    /// It would take the fusion, but another comes first; its score.
    Passed(u32),
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
    /// Numbers of emitters in the registry, to be tried in this order. One if the user has forced it.
    pub order: Vec<usize>,
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
    let score = |i: usize| match verdicts[i] {
        Ok(Verdict::Accept { score }) => Some(score),
        _ => None,
    };
    let mut order: Vec<usize> = (0..emitters.len()).filter(|&i| score(i).is_some()).collect();
    // Stable: of equal scores, the registry's order remains.
    order.sort_by_key(|&i| std::cmp::Reverse(score(i)));

    let kind = order.first().map(|&i| emitters[i].descriptor().kind.clone());
    // The last SPEC for a kind counts. Where nobody takes the fusion, the one of the emitter's own kind does; a kind that
    // nobody else is of has the fusions that its emitters take.
    let is_of = |number: usize, choice: &Override| emitters[number].descriptor().kind == choice.kind;
    let others_are_of =
        |choice: &Override| (0..emitters.len()).any(|i| is_of(i, choice) && !choice.emitters.contains(&i));
    let takes = |choice: &Override| order.iter().any(|&i| is_of(i, choice) && choice.emitters.contains(&i));
    let last = |fits: &dyn Fn(&Override) -> bool| overrides.iter().rev().find(|choice| fits(choice));
    let forced = match &kind {
        Some(kind) => {
            last(&|choice| choice.kind == *kind).or_else(|| last(&|choice| takes(choice) && !others_are_of(choice)))
        }
        None => last(&|choice| choice.emitters.iter().any(|&number| is_of(number, choice))),
    };
    let mut reason = "highest score".to_owned();
    let (mut in_charge, mut declined) = (false, None);
    if let Some(choice) = forced {
        let taking: Vec<usize> = order.iter().copied().filter(|number| choice.emitters.contains(number)).collect();
        match taking.first() {
            Some(_) => {
                order = taking;
                reason = format!("chosen by `{}`", choice.spec);
                in_charge = true;
            }
            None => declined = Some(not_taken(emitters, &verdicts, choice, fusion)?),
        }
    }
    let Some(&first) = order.first() else {
        let reasons: Vec<String> =
            emitters.iter().zip(&verdicts).map(|(e, v)| format!("{}: {}", e.identity(), reason_of(v))).collect();
        return Err(SelectError::Nobody { fusion: fusion.name.clone(), reasons: reasons.join("; ") });
    };
    let outcome = |i: usize| match &verdicts[i] {
        Ok(Verdict::Accept { .. }) if i == first => Outcome::Chosen(reason.clone()),
        Ok(Verdict::Accept { score }) => Outcome::Passed(*score),
        Ok(Verdict::Decline(_)) => Outcome::Declined(reason_of(&verdicts[i])),
        Err(failure) => Outcome::Failed(failure.clone()),
    };
    let records = (0..emitters.len())
        .map(|i| Record { emitter: i, identity: emitters[i].identity(), outcome: outcome(i) })
        .collect();
    Ok(Selection { order, forced: in_charge, declined, kind, records })
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
        Ok(Verdict::Accept { score }) => format!("accepts with score {score}"),
        Ok(Verdict::Decline(decline)) => match &decline.instruction {
            Some(instruction) => format!("{} [at {instruction}]", decline.reason),
            None => decline.reason.clone(),
        },
        Err(failure) => failure.kind.to_string(),
    }
}
