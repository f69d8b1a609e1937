//! Errors of plugins, with messages for the user.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use fusebox_core::emitter::{EmitError, INTERFACE_VERSION, PlanFault};
use fusebox_files::FileKind;

/// Reason why a plugin library was not loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("emitter library {}: {reason}", path.display())]
    Unreadable {
        path: PathBuf,
        /// The system's message.
        reason: String,
    },
    /// The file is not a regular file. fusebox loads only regular files, because a read from a FIFO
    /// may block for ever and a device may supply bytes without end.
    #[error("emitter library {}: it is {kind}, and only regular files are loaded", path.display())]
    NotRegular { path: PathBuf, kind: FileKind },
    /// The file is not an ELF file, but text or other data.
    #[error(
        "emitter library {}: it is no shared library but {content}; `cargo build --release` writes libraries, as \
         target/release/lib*.so",
        path.display()
    )]
    NotElf {
        path: PathBuf,
        /// Kind of the content: text, or other data.
        content: &'static str,
    },
    /// The file is not a shared library for this machine, or a part of the file is missing.
    #[error(
        "emitter library {}: not a complete shared library for this machine ({reason}); build it again with \
         `cargo build --release`",
        path.display()
    )]
    NotALibrary { path: PathBuf, reason: String },
    /// The file is a shared library without emitters.
    #[error(
        "emitter library {}: exports no emitters; its crate needs `crate-type = [\"cdylib\"]` and \
         `fusebox_core::export_emitters!(…)`",
        path.display()
    )]
    NoEmitters { path: PathBuf },
    /// The library was built for another version of the interface.
    #[error(
        "emitter library {} ({package}): found interface version {found} of fusebox-core {core}, wanted {}; {}",
        path.display(), SupportedVersions, rebuild_advice(*found)
    )]
    Interface {
        path: PathBuf,
        /// Package and version of the library.
        package: String,
        /// The release of fusebox-core that the library was built with.
        core: String,
        /// Interface version of the library.
        found: u32,
    },
    /// The system's loader or the layout check refused the library.
    #[error("emitter library {}: {reason}", path.display())]
    Refused {
        path: PathBuf,
        /// The shortened reason.
        reason: String,
    },
    /// The emitters' descriptions are missing or make no sense.
    #[error("emitter library {}: {reason}", path.display())]
    Description { path: PathBuf, reason: String },
    /// Two emitters have the same name and version.
    #[error(
        "emitter {name} {version} is offered twice: by {first} and by {second}; give one of them another name or \
         version, or load only one"
    )]
    Duplicate { name: String, version: String, first: String, second: String },
}

impl LoadError {
    /// Whether the file is not a library of emitters, so that a search of a folder may ignore it.
    pub fn is_of_another_kind(&self) -> bool {
        matches!(
            self,
            LoadError::NotRegular { .. }
                | LoadError::NotElf { .. }
                | LoadError::NotALibrary { .. }
                | LoadError::NoEmitters { .. }
        )
    }
}

struct SupportedVersions;

impl fmt::Display for SupportedVersions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let major = INTERFACE_VERSION / 1000 * 1000;
        if INTERFACE_VERSION == major { write!(f, "{major}") } else { write!(f, "{major} to {INTERFACE_VERSION}") }
    }
}

/// Commands that rebuild a plugin. The commands work if the plugin depends on a release of
/// fusebox-core, and also if it depends on fusebox-core at another path. (For a dependency on a
/// path, `cargo update` would change nothing.)
macro_rules! rebuild {
    () => {
        "`sed -i 's|^fusebox-core = .*|fusebox-core = { path = \"FUSEBOX/core\" }|' Cargo.toml && cargo build --release`, \
         FUSEBOX being the folder of this release's sources"
    };
}

fn rebuild_advice(found: u32) -> &'static str {
    if found > INTERFACE_VERSION {
        concat!("update fusebox, or build the emitter against this release: ", rebuild!())
    } else {
        concat!("build it against this release: ", rebuild!())
    }
}

/// The request at which an emitter failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Describe,
    Claim,
    Bid,
    Consider,
    Plan,
    Emit,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stage::Describe => "describing itself",
            Stage::Claim => "claiming",
            Stage::Bid => "bidding on",
            Stage::Consider => "considering",
            Stage::Plan => "planning",
            Stage::Emit => "emitting",
        })
    }
}

/// A request to which an emitter gave no usable answer, and the reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Name, version and origin of the emitter.
    pub emitter: String,
    pub stage: Stage,
    /// Name of the fusion. The name is empty if the request has no fusion.
    pub fusion: String,
    pub kind: FailureKind,
}

/// Kind of a failure.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FailureKind {
    /// The emitter refused with a reason.
    #[error("{0}")]
    Refused(EmitError),
    #[error("it panicked: {0}")]
    Panicked(String),
    #[error("its answer cannot be read: {0}")]
    Malformed(String),
    #[error("the emitter could not read the request: {0}")]
    NotUnderstood(String),
    #[error("its process died ({how}){}", memory_hint(*.memory))]
    Died {
        /// The signal or exit code.
        how: String,
        /// Memory limit in bytes, if the process may have died because of this limit.
        memory: Option<u64>,
    },
    #[error("its process did not answer within {} s and was ended", .0.as_secs_f32())]
    TimedOut(Duration),
    /// The answer exceeds a limit.
    #[error("{what}: {found}; {most} is the limit")]
    Limit { what: &'static str, found: u64, most: u64 },
    /// The claim is invalid.
    #[error("the claim is wrong: {0}")]
    Claim(String),
    #[error("the plan is wrong: {0}")]
    Plan(Box<PlanFault>),
    #[error("the kernel is wrong: {0}")]
    Kernel(String),
}

impl FailureKind {
    /// Returns advice for the user, if the message itself contains none.
    fn remedy(&self) -> Option<&'static str> {
        match self {
            FailureKind::Refused(_) | FailureKind::Died { memory: Some(_), .. } => None,
            FailureKind::TimedOut(_) => Some("`--isolate-time` raises the limit"),
            FailureKind::NotUnderstood(_) => Some("build it against this release of fusebox-core"),
            _ => Some("this is a fault of the emitter; until it is fixed, choose another emitter with `--emitter`"),
        }
    }
}

fn memory_hint(memory: Option<u64>) -> String {
    match memory {
        None => String::new(),
        Some(bytes) => format!(
            "; it had {:.1} GiB of memory, which it may have used up: `--isolate-memory` sets another limit",
            bytes as f64 / f64::from(1 << 30)
        ),
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "emitter {} failed while {}", self.emitter, self.stage)?;
        if !self.fusion.is_empty() {
            write!(f, " fusion {}", self.fusion)?;
        }
        write!(f, ": {}", self.kind)?;
        match self.kind.remedy() {
            Some(remedy) => write!(f, "; {remedy}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Failure {}
