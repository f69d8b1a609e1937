//! Choices of the user, looked up in a registry.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use fusebox_core::emitter::{Configuration, KernelKind};
use semver::Version;

use crate::carrier::LoadedEmitter;
use crate::failure::LoadError;
use crate::library::canonical;
use crate::registry::{Origin, Registry};
use crate::spec::{Spec, Subject, Target};

/// A choice of the user: these emitters are in charge of what they take of some fusions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The fusions. Those of a kind are those which, without overrides, an emitter of this kind would take. If no other emitters are
    /// of it, or only one would take a fusion that asks for none, all that these would take.
    pub subject: Subject,
    /// Numbers of the emitters in the registry; several where a file offers several of the kind.
    pub emitters: Vec<usize>,
    /// The knobs that they plan with.
    pub knobs: Configuration,
    /// The SPEC it is from.
    pub spec: String,
    /// File and line where the SPEC stands; `None` if the user has said it for this one run.
    pub place: Option<String>,
    /// Whether it is an error if they decline one of the fusions; otherwise the others take it.
    pub force: bool,
}

/// A SPEC that fits no emitter.
#[derive(Debug, thiserror::Error)]
pub enum OverrideError {
    /// The file cannot be found.
    #[error(transparent)]
    File(#[from] LoadError),
    /// No such emitter.
    #[error("emitter spec `{spec}`: there is no such emitter; {hint}")]
    Unknown {
        /// As given.
        spec: String,
        /// The emitter or kind that was probably meant, in words.
        hint: String,
    },
    /// No emitter is of the kind that it is about.
    #[error("emitter spec `{spec}`: no emitter is of kind `{kind}`; {hint}")]
    Kind {
        /// As given.
        spec: String,
        kind: String,
        /// The emitter or kind that was probably meant, in words.
        hint: String,
    },
}

impl Override {
    /// Puts emitters in charge of a kind.
    pub fn of_kind(kind: KernelKind, emitters: Vec<usize>, spec: &str) -> Override {
        let (knobs, spec) = (Configuration::default(), spec.to_owned());
        Override { subject: Subject::Kind(kind), emitters, knobs, spec, place: None, force: false }
    }

    /// Looks a SPEC up. Its file, if it names one, must have been loaded.
    ///
    /// # Errors
    /// If nothing fits.
    pub fn resolve(registry: &Registry, spec: &Spec, force: bool) -> Result<Vec<Override>, OverrideError> {
        let found = match &spec.target {
            Target::File(path) => of_file(registry, &canonical(path)?, spec.subject.as_ref()),
            Target::Name { name, version } => of_name(registry, spec.subject.as_ref(), name, version.as_ref()),
        };
        if found.is_empty() {
            return Err(OverrideError::Unknown { spec: spec.to_string(), hint: hint(registry, &spec.target) });
        }
        if let Some(Subject::Kind(kind)) = &spec.subject {
            let kinds: BTreeSet<&str> =
                registry.emitters().iter().map(|emitter| emitter.descriptor().kind.0.as_str()).collect();
            if !kinds.contains(kind.0.as_str()) {
                let near = meant(&kind.0, kinds.iter().copied());
                let all = || format!("the kinds are {}", kinds.iter().copied().collect::<Vec<_>>().join(", "));
                let (spec, kind, hint) = (spec.to_string(), kind.0.clone(), near.unwrap_or_else(all));
                return Err(OverrideError::Kind { spec, kind, hint });
            }
        }
        let overriding = |(subject, emitters)| Override {
            subject,
            emitters,
            knobs: spec.knobs.clone(),
            spec: spec.to_string(),
            place: None,
            force,
        };
        Ok(found.into_iter().map(overriding).collect())
    }

    /// Whether it is about the fusions of this kind.
    pub fn is_of(&self, kind: &KernelKind) -> bool {
        matches!(&self.subject, Subject::Kind(own) if own == kind)
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.spec)?;
        self.place.as_ref().map_or(Ok(()), |place| write!(f, " ({place})"))
    }
}

/// The emitter that was probably meant by a target that fits none, in words.
fn hint(registry: &Registry, target: &Target) -> String {
    let Target::Name { name: wanted, .. } = target else { return "the file offers none".into() };
    let descriptors = || registry.emitters().iter().map(LoadedEmitter::descriptor);
    let named = descriptors().filter(|known| known.name == *wanted);
    let versions: Vec<String> = named.map(|known| format!("`{}@{}`", known.name, known.version)).collect();
    if !versions.is_empty() {
        return format!("there is {}", versions.join(" and "));
    }
    let names = descriptors().flat_map(|known| [known.name.as_str(), known.kind.0.as_str()]);
    meant(wanted, names).unwrap_or_else(|| "`fusebox emitters` lists all".into())
}

/// The question for the name that is near another.
fn meant<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    let distance = |name: &&str| strsim::damerau_levenshtein(wanted, name);
    let nearest = names.min_by_key(distance).filter(|name| 3 * distance(name) <= wanted.len())?;
    Some(format!("did you mean `{nearest}`?"))
}

/// The emitters of a file by kind. For one kind: those that are of it, or if none is, all, which are to take other fusions
/// than they were written for. For fusions that are named: all.
fn of_file(registry: &Registry, path: &Path, subject: Option<&Subject>) -> Vec<(Subject, Vec<usize>)> {
    let mut found: Vec<(Subject, Vec<usize>)> = Vec::new();
    for (number, emitter) in registry.emitters().iter().enumerate() {
        let own = Subject::Kind(emitter.descriptor().kind.clone());
        if emitter.origin().path() != Some(path) {
            continue;
        }
        match found.iter_mut().find(|(known, _)| *known == own) {
            Some((_, numbers)) => numbers.push(number),
            None => found.push((own, vec![number])),
        }
    }
    let Some(subject) = subject.filter(|_| !found.is_empty()) else { return found };
    match found.iter().position(|(known, _)| known == subject) {
        Some(place) => vec![found.swap_remove(place)],
        None => vec![(subject.clone(), found.into_iter().flat_map(|(_, numbers)| numbers).collect())],
    }
}

/// The emitter of a name. Kinds that had one emitter of their own name once have several: such a name means them all.
fn of_name(
    registry: &Registry,
    subject: Option<&Subject>,
    name: &str,
    version: Option<&Version>,
) -> Vec<(Subject, Vec<usize>)> {
    if let Some(number) = newest(registry, name, version) {
        let own = || Subject::Kind(registry.emitters()[number].descriptor().kind.clone());
        return vec![(subject.cloned().unwrap_or_else(own), vec![number])];
    }
    let kind = KernelKind(name.into());
    let is_other = matches!(subject, Some(Subject::Kind(other)) if *other != kind);
    let is_meant = |emitter: &LoadedEmitter| emitter.descriptor().kind == kind && *emitter.origin() == Origin::Linked;
    let linked = registry.emitters().iter().enumerate().filter(|(_, emitter)| is_meant(emitter));
    let linked: Vec<usize> = linked.map(|(number, _)| number).collect();
    match version.is_some() || is_other || linked.is_empty() {
        true => Vec::new(),
        false => vec![(subject.cloned().unwrap_or(Subject::Kind(kind)), linked)],
    }
}

/// The newest emitter of a name, or that of a version; of equal ones, the first of the registry.
fn newest(registry: &Registry, name: &str, version: Option<&Version>) -> Option<usize> {
    let named = registry.emitters().iter().enumerate().filter(|(_, emitter)| emitter.descriptor().name == *name);
    let versioned = named.filter_map(|(i, emitter)| Some((Version::parse(&emitter.descriptor().version).ok()?, i)));
    let fitting = versioned.filter(|(found, _)| version.is_none_or(|wanted| wanted == found));
    fitting.max_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1))).map(|(_, number)| number)
}
