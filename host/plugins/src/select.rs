//! Who is to compile a fusion: overrides of the user, then score, then the registry's order.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Fusion, KernelKind, Verdict};
use semver::Version;

use crate::carrier::LoadedEmitter;
use crate::failure::{Failure, LoadError};
use crate::library::canonical;
use crate::registry::Registry;
use crate::spec::{Spec, Target};

/// A choice of the user, looked up in a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// Fusions of this kind: those which, without overrides, an emitter of this kind would take.
    pub kind: KernelKind,
    /// Number of the emitter in the registry.
    pub emitter: usize,
    /// The SPEC it is from.
    pub spec: String,
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
    pub fn resolve(registry: &Registry, spec: &Spec) -> Result<Vec<Override>, OverrideError> {
        let numbered = || registry.emitters().iter().enumerate();
        let overriding = |kind: &KernelKind, emitter| Override { kind: kind.clone(), emitter, spec: spec.to_string() };
        let found: Vec<Override> = match &spec.target {
            Target::File(path) => {
                let path = canonical(path)?;
                let of_file = numbered().filter(|(_, emitter)| emitter.origin().path() == Some(&path));
                match &spec.kind {
                    None => of_file.map(|(i, emitter)| overriding(&emitter.descriptor().kind, i)).collect(),
                    Some(kind) => {
                        let fits = |(_, emitter): &(usize, &LoadedEmitter)| emitter.descriptor().kind == *kind;
                        of_file.filter(fits).map(|(i, _)| overriding(kind, i)).take(1).collect()
                    }
                }
            }
            Target::Name { name, version } => {
                let versioned = numbered()
                    .filter(|(_, emitter)| emitter.descriptor().name == *name)
                    .filter_map(|(i, emitter)| Some((Version::parse(&emitter.descriptor().version).ok()?, i)));
                // The newest; of equal ones, the first of the registry.
                let newest = versioned
                    .filter(|(found, _)| version.as_ref().is_none_or(|wanted| wanted == found))
                    .max_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
                newest.zip(spec.kind.as_ref()).map(|((_, i), kind)| overriding(kind, i)).into_iter().collect()
            }
        };
        if found.is_empty() {
            let known: Vec<String> = registry.emitters().iter().map(LoadedEmitter::identity).collect();
            return Err(OverrideError::Unknown { spec: spec.to_string(), known: known.join(", ") });
        }
        Ok(found)
    }
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

    let kind = order.first().map(|&i| &emitters[i].descriptor().kind);
    // The last SPEC for a kind counts. Where nobody takes the fusion, the one of the emitter's own kind does.
    let forced = overrides.iter().rev().find(|choice| match kind {
        Some(kind) => choice.kind == *kind,
        None => emitters.get(choice.emitter).is_some_and(|e| e.descriptor().kind == choice.kind),
    });
    let mut reason = "highest score".to_owned();
    if let Some(choice) = forced {
        if score(choice.emitter).is_none() {
            return Err(SelectError::Forced {
                emitter: emitters[choice.emitter].identity(),
                spec: choice.spec.clone(),
                fusion: fusion.name.clone(),
                reason: reason_of(&verdicts[choice.emitter]),
            });
        }
        order = vec![choice.emitter];
        reason = format!("forced by `{}`", choice.spec);
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
    Ok(Selection { order, forced: forced.is_some(), records })
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
