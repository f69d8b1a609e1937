//! `--emitter SPEC`: `kind=name`, `kind=name@version`, `kind=./file.so`, `./file.so`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use fusebox_core::emitter::KernelKind;
use semver::Version;

/// A choice of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The kind of fusions it is for; `None`: all kinds that the file offers.
    pub kind: Option<KernelKind>,
    /// Who is to take them.
    pub target: Target,
}

/// An emitter as the user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// By name; without a version, the newest.
    Name { name: String, version: Option<Version> },
    /// By the library it is in.
    File(PathBuf),
}

/// A SPEC that says nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("emitter spec `{spec}`: {reason}; write kind=name, kind=name@version, kind=./file.so or ./file.so")]
pub struct SpecError {
    pub spec: String,
    pub reason: String,
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let error = |reason: String| SpecError { spec: text.into(), reason };
        // A path may hold `=`; a kind holds no `/`.
        let (kind, target) = match text.split_once('=') {
            Some((kind, target)) if !kind.contains('/') => (Some(kind), target),
            _ => (None, text),
        };
        if kind.is_some_and(|kind| !is_name(kind)) {
            return Err(error("the kind is not a name".into()));
        }
        let target = match kind {
            _ if target.is_empty() => return Err(error("names no emitter".into())),
            _ if is_path(target) => Target::File(target.into()),
            None => return Err(error("the kind of fusion is missing".into())),
            Some(_) => named(target).map_err(error)?,
        };
        Ok(Spec { kind: kind.map(|kind| KernelKind(kind.into())), target })
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
    match is_name(name) {
        true => Ok(Target::Name { name: name.into(), version }),
        false => Err(format!("`{name}` is not a name")),
    }
}

fn is_path(text: &str) -> bool {
    text.contains('/') || text.ends_with(".so")
}

/// Whether a kind or an emitter may be called so.
pub fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(kind) = &self.kind {
            write!(f, "{kind}=")?;
        }
        match &self.target {
            Target::File(path) => write!(f, "{}", path.display()),
            Target::Name { name, version: None } => f.write_str(name),
            Target::Name { name, version: Some(version) } => write!(f, "{name}@{version}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        for text in ["loop=fast-loop", "reduce=warp@1.2.0", "loop=./a.so", "./a=b.so", "a.so"] {
            assert_eq!(text.parse::<Spec>().unwrap().to_string(), text);
        }
        let spec: Spec = "./a=b.so".parse().unwrap();
        assert_eq!(spec, Spec { kind: None, target: Target::File("./a=b.so".into()) });
    }

    #[test]
    fn faults() {
        for (text, reason) in [
            ("", "names no emitter"),
            ("loop=", "names no emitter"),
            ("loop", "the kind of fusion is missing"),
            ("=loop", "the kind is not a name"),
            ("loop=a b", "`a b` is not a name"),
            ("loop=x@1", "version `1`"),
        ] {
            let error = text.parse::<Spec>().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
