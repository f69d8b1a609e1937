//! Resolves the user's choices to emitters of a registry.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use fusebox_core::emitter::{Configuration, KernelKind};
use semver::Version;

use crate::failure::LoadError;
use crate::file::canonical;
use crate::loaded_emitter::LoadedEmitter;
use crate::origin::Origin;
use crate::registry::Registry;
use crate::spec::{Spec, Subject, Target};

/// A choice of the user. If a fusion belongs to the subject and one of the chosen emitters accepts
/// the fusion, this emitter gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The fusions to which the choice applies. If the subject is a kind, the choice applies to the
    /// fusions that an emitter of this kind would get without overrides. In two cases, the choice
    /// also applies to all other fusions that a chosen emitter of this kind accepts: if no other
    /// emitter is of this kind; and if a chosen emitter has heroes or anchors, but the emitter that
    /// would get the fusion without overrides has none.
    pub subject: Subject,
    /// Indices of the chosen emitters in the registry. The list has several indices if a library
    /// offers several emitters of the kind.
    pub emitters: Vec<usize>,
    /// The knobs for the emitters' plans.
    pub knobs: Configuration,
    /// The SPEC that states the choice.
    pub spec: String,
    /// File and line of the SPEC. `None` if the SPEC is on the command line.
    pub place: Option<String>,
    /// Whether it is an error if the chosen emitters decline a fusion to which the choice applies.
    /// If it is no error, another emitter gets the declined fusion.
    pub force: bool,
}

/// The error that a SPEC matches no emitter.
#[derive(Debug, thiserror::Error)]
pub enum OverrideError {
    /// The file cannot be found.
    #[error(transparent)]
    File(#[from] LoadError),
    /// No emitter has this name.
    #[error("emitter spec `{spec}`: there is no such emitter; {hint}")]
    Unknown {
        /// The SPEC.
        spec: String,
        /// Text about the emitter or kind that was probably meant.
        hint: String,
    },
    /// No emitter has the SPEC's kind.
    #[error("emitter spec `{spec}`: no emitter is of kind `{kind}`; {hint}")]
    Kind {
        /// The SPEC.
        spec: String,
        kind: String,
        /// Text about the emitter or kind that was probably meant.
        hint: String,
    },
}

impl Override {
    /// Creates a choice of emitters for a kind.
    pub fn of_kind(kind: KernelKind, emitters: Vec<usize>, spec: &str) -> Override {
        let (knobs, spec) = (Configuration::default(), spec.to_owned());
        Override { subject: Subject::Kind(kind), emitters, knobs, spec, place: None, force: false }
    }

    /// Resolves a SPEC. If the SPEC names a file, the file must be loaded already.
    ///
    /// # Errors
    /// If no emitter matches.
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
                let near = nearest_name_hint(&kind.0, kinds.iter().copied());
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

    /// Whether the choice has this kind as its subject.
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

/// Returns a hint for the user about a target that matches no emitter: which emitter was probably
/// meant.
fn hint(registry: &Registry, target: &Target) -> String {
    let Target::Name { name: wanted, .. } = target else { return "the file offers none".into() };
    let descriptors = || registry.emitters().iter().map(LoadedEmitter::descriptor);
    let named = descriptors().filter(|known| known.name == *wanted);
    let versions: Vec<String> = named.map(|known| format!("`{}@{}`", known.name, known.version)).collect();
    if !versions.is_empty() {
        return format!("there is {}", versions.join(" and "));
    }
    let names = descriptors().flat_map(|known| [known.name.as_str(), known.kind.0.as_str()]);
    nearest_name_hint(wanted, names).unwrap_or_else(|| "`fusebox emitters` lists all".into())
}

/// Returns a text that asks whether the name most similar to `wanted` was meant, if a name is
/// similar enough.
fn nearest_name_hint<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    let distance = |name: &&str| strsim::damerau_levenshtein(wanted, name);
    let nearest = names.min_by_key(distance).filter(|name| 3 * distance(name) <= wanted.len())?;
    Some(format!("did you mean `{nearest}`?"))
}

/// Returns the emitters of a library, and the subject for which these emitters are chosen. Without
/// a subject, returns one entry for each kind. If the subject is a kind, returns the library's
/// emitters of this kind. If the subject is a kind of which the library has no emitter, returns all
/// emitters of the library. In this case, the emitters get fusions of a kind for which they were
/// not registered. If the subject is a pattern, returns all emitters of the library.
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

/// Returns the emitter with this name. Some kinds formerly had only one emitter, which had the name
/// of the kind, and now have several emitters. If `name` is the name of a kind but of no emitter,
/// returns all linked emitters of the kind.
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
    if version.is_some() || is_other || linked.is_empty() {
        Vec::new()
    } else {
        vec![(subject.cloned().unwrap_or(Subject::Kind(kind)), linked)]
    }
}

/// Returns the newest emitter with this name or, if the text states a version, the emitter with
/// this version. If several emitters have the same version, returns the first of them in the
/// registry's order.
fn newest(registry: &Registry, name: &str, version: Option<&Version>) -> Option<usize> {
    let named = registry.emitters().iter().enumerate().filter(|(_, emitter)| emitter.descriptor().name == *name);
    let versioned = named.filter_map(|(i, emitter)| Some((Version::parse(&emitter.descriptor().version).ok()?, i)));
    let fitting = versioned.filter(|(found, _)| version.is_none_or(|wanted| wanted == found));
    fitting.max_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1))).map(|(_, number)| number)
}
