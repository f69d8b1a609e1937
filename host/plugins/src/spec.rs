//! A SPEC is the user's choice of an emitter and of the emitter's knobs for some fusions.
//!
//! ```text
//! [SUBJECT=]EMITTER[{knob=value,…}]
//!
//! SUBJECT    kind | fusion:GLOB | fingerprint:GLOB      default: all fusions of the emitter's kind
//! EMITTER    name | name@version | ./file.so
//! ```

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use fusebox_core::emitter::{Configuration, Fusion, KernelKind};
use glob::Pattern;
use semver::Version;

use crate::fingerprint::Fingerprint;

/// A choice of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The fusions to which the choice applies. `None` means all fusions of the emitter's own kind.
    pub subject: Option<Subject>,
    /// The emitter that gets these fusions.
    pub target: Target,
    /// The emitter's knobs.
    pub knobs: Configuration,
}

/// A set of fusions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// All fusions of a kind.
    Kind(KernelKind),
    /// Fusions whose name matches the pattern.
    Name(Pattern),
    /// Fusions whose [`Fingerprint`] matches the pattern.
    Fingerprint(Pattern),
}

/// The emitter that the user chooses, by its name or by the path of its library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Name of the emitter. Without a version, this is the newest emitter with this name.
    Name { name: String, version: Option<Version> },
    /// Path of the emitter's library.
    File(PathBuf),
}

/// The error that a SPEC cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "emitter spec `{spec}`: {reason}; write kind=name, kind=name@version, kind=./file.so or ./file.so; fusion:GLOB or \
     fingerprint:GLOB may replace the kind, and {{knob=value}} may follow"
)]
pub struct SpecError {
    pub spec: String,
    pub reason: String,
}

impl Spec {
    /// Parses the part of a SPEC after `SUBJECT=`.
    ///
    /// # Errors
    /// If the text names no emitter, or its knobs are invalid.
    pub fn about(subject: Option<Subject>, text: &str) -> Result<Spec, SpecError> {
        let shown = subject.as_ref().map_or_else(String::new, |subject| format!("{subject}="));
        emitter(text)
            .map(|(target, knobs)| Spec { subject, target, knobs })
            .map_err(|reason| SpecError { spec: format!("{shown}{text}"), reason })
    }
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let end = text.find('{').unwrap_or(text.len());
        // A path may contain `=`. A subject contains no `/`.
        match text[..end].find('=').filter(|&place| !text[..place].contains('/')) {
            None => Spec::about(None, text),
            Some(place) => {
                let subject = text[..place].parse().map_err(|reason| SpecError { spec: text.into(), reason })?;
                Spec::about(Some(subject), &text[place + 1..])
            }
        }
    }
}

impl Subject {
    /// Creates the subject of all fusions of a kind.
    ///
    /// # Errors
    /// If the kind is not a valid name.
    pub fn kind(name: &str) -> Result<Subject, String> {
        if is_name(name) {
            Ok(Subject::Kind(KernelKind(name.into())))
        } else {
            Err(format!("the kind `{name}` is not a name"))
        }
    }

    /// Creates the subject of all fusions whose name matches a pattern.
    ///
    /// # Errors
    /// If the pattern is invalid.
    pub fn named(pattern: &str) -> Result<Subject, String> {
        glob(pattern).map(Subject::Name)
    }

    /// Creates the subject of all fusions whose fingerprint matches a pattern.
    ///
    /// # Errors
    /// If the pattern is invalid.
    pub fn fingerprinted(pattern: &str) -> Result<Subject, String> {
        glob(pattern).map(Subject::Fingerprint)
    }

    /// Whether the subject includes a fusion. `kind` is the kind of the fusion.
    pub fn is(&self, fusion: &Fusion, kind: Option<&KernelKind>) -> bool {
        match self {
            Subject::Kind(own) => kind == Some(own),
            Subject::Name(pattern) => pattern.matches(&fusion.name),
            Subject::Fingerprint(pattern) => pattern.matches(&Fingerprint::of(fusion).to_string()),
        }
    }
}

impl FromStr for Subject {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("fusion", pattern)) => Subject::named(pattern),
            Some(("fingerprint", pattern)) => Subject::fingerprinted(pattern),
            _ => Subject::kind(text),
        }
    }
}

fn glob(pattern: &str) -> Result<Pattern, String> {
    Pattern::new(pattern).map_err(|error| format!("`{pattern}` is no pattern: {}", error.msg))
}

/// Parses `EMITTER{knob=value,…}`.
fn emitter(text: &str) -> Result<(Target, Configuration), String> {
    if text.contains('{') && !text.ends_with('}') && !text.ends_with(".so") {
        return Err("its knobs lack the `}` at their end".into());
    }
    let (target, knobs) = match text.strip_suffix('}').and_then(|text| text.rsplit_once('{')) {
        Some((target, knobs)) => (target, knobs_of(knobs)?),
        None => (text, Configuration::default()),
    };
    let target = match target {
        "" => return Err("names no emitter".into()),
        path if path.contains('/') || path.ends_with(".so") => Target::File(path.into()),
        name => named(name)?,
    };
    Ok((target, knobs))
}

fn knobs_of(text: &str) -> Result<Configuration, String> {
    text.split(',').map(knob).collect::<Result<_, _>>().map(Configuration)
}

/// Parses `name=value`.
///
/// # Errors
/// A message, if the text has another form.
pub fn knob(text: &str) -> Result<(String, i64), String> {
    let parsed = text.split_once('=').map(|(name, value)| (name.trim(), value.trim().parse()));
    match parsed {
        Some((name, Ok(value))) if is_name(name) => Ok((name.to_owned(), value)),
        _ => Err(format!("knob `{text}`: write NAME=VALUE, VALUE a whole number")),
    }
}

fn named(target: &str) -> Result<Target, String> {
    let (name, version) = match target.split_once('@') {
        None => (target, None),
        Some((name, version)) => {
            let version = version.parse().map_err(|error| format!("version `{version}`: {error}"))?;
            (name, Some(version))
        }
    };
    if is_name(name) { Ok(Target::Name { name: name.into(), version }) } else { Err(format!("`{name}` is not a name")) }
}

/// Whether a text is a valid name of a kind or an emitter.
pub fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Kind(kind) => write!(f, "{kind}"),
            Subject::Name(pattern) => write!(f, "fusion:{pattern}"),
            Subject::Fingerprint(pattern) => write!(f, "fingerprint:{pattern}"),
        }
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(subject) = &self.subject {
            write!(f, "{subject}=")?;
        }
        match &self.target {
            Target::File(path) => write!(f, "{}", path.display())?,
            Target::Name { name, version: None } => f.write_str(name)?,
            Target::Name { name, version: Some(version) } => write!(f, "{name}@{version}")?,
        }
        self.knobs.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        for text in [
            "loop=fast-loop",
            "fast-loop",
            "reduce=warp@1.2.0",
            "loop=./a.so",
            "./a=b.so",
            "a.so",
            "tiles{tile=64}",
            "transpose=tiles@1.0.0{edge=-4,tile=64}",
            "./a.so{tile=64}",
            "fusion:fused_*=tiles{tile=64}",
            "fingerprint:0a1*=./a.so",
        ] {
            assert_eq!(text.parse::<Spec>().unwrap().to_string(), text);
        }
        let spec: Spec = "./a=b.so{x=1}".parse().unwrap();
        let file = Target::File("./a=b.so".into());
        assert_eq!(spec, Spec { subject: None, target: file, knobs: [("x", 1)].into() });
    }

    #[test]
    fn faults() {
        for (text, reason) in [
            ("", "names no emitter"),
            ("loop=", "names no emitter"),
            ("{tile=64}", "names no emitter"),
            ("=loop", "the kind `` is not a name"),
            ("loop=a b", "`a b` is not a name"),
            ("loop=x@1", "version `1`"),
            ("x{tile}", "knob `tile`"),
            ("x{tile=wide}", "knob `tile=wide`"),
            ("x{}", "knob ``"),
            ("x{tile=zoo", "its knobs lack the `}` at their end"),
            ("./x.so{tile=64", "its knobs lack the `}` at their end"),
            ("fusion:a[=x", "is no pattern"),
            ("fushion:a=x", "the kind `fushion:a` is not a name"),
        ] {
            let error = text.parse::<Spec>().unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains(text), "{error}");
        }
    }
}
