//! Builds the crate of a library under development, and watches its files for changes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use serde_json::Value;
use thiserror::Error;

/// Time after which an editor has surely finished saving a file, if no further change was reported.
const SETTLED: Duration = Duration::from_millis(50);

/// The folder of a crate.
#[derive(Clone, Debug)]
pub struct Sources {
    folder: PathBuf,
}

/// The reason why the library cannot be built or watched.
#[derive(Debug, Error)]
pub enum SourcesError {
    /// Cargo cannot be started.
    #[error("cannot run cargo: {0}")]
    Cargo(std::io::Error),
    /// The build fails; Cargo has printed the reason.
    #[error("cargo cannot build {}", .0.display())]
    Build(PathBuf),
    /// The crate is not a library of emitters.
    #[error("{}: its crate makes no library of emitters; Cargo.toml needs `crate-type = [\"cdylib\"]`", .0.display())]
    NoLibrary(PathBuf),
    /// The system cannot report changes.
    #[error("cannot watch {}: {}", .0.display(), .1)]
    Watch(PathBuf, notify::Error),
}

impl Sources {
    /// Refers to the crate in this folder.
    pub fn new(folder: &Path) -> Sources {
        Sources { folder: folder.into() }
    }

    /// Builds the library and returns its file. Cargo prints its own errors.
    ///
    /// # Errors
    /// If the build fails.
    pub fn build(&self) -> Result<PathBuf, SourcesError> {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--release", "--quiet", "--lib", "--message-format=json-render-diagnostics"]);
        let output = cargo.current_dir(&self.folder).stderr(Stdio::inherit()).output().map_err(SourcesError::Cargo)?;
        if !output.status.success() {
            return Err(SourcesError::Build(self.folder.clone()));
        }
        let messages = String::from_utf8_lossy(&output.stdout);
        // Cargo prints the messages about the crate itself after the messages about its
        // dependencies.
        let built = messages.lines().rev().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut artifacts = built.filter(|message| message["reason"] == "compiler-artifact");
        let files = artifacts.next().and_then(|artifact| artifact["filenames"].as_array().cloned()).unwrap_or_default();
        let library = files.iter().filter_map(Value::as_str).find(|file| file.ends_with(".so"));
        library.map(PathBuf::from).ok_or_else(|| SourcesError::NoLibrary(self.folder.clone()))
    }

    /// Starts watching the source files of the library.
    ///
    /// # Errors
    /// If the system cannot report changes.
    pub fn watch(&self) -> Result<Changes, SourcesError> {
        let failed = |error| SourcesError::Watch(self.folder.clone(), error);
        let (sender, changed) = mpsc::channel();
        let tell = move |event: notify::Result<Event>| {
            if event.is_ok_and(|event| matters(&event)) {
                // Sending fails only if the receiver has been dropped. Then no code waits for
                // changes.
                _ = sender.send(());
            }
        };
        let mut watcher = notify::recommended_watcher(tell).map_err(failed)?;
        // Editors replace the old file by a new one, so this watches folders instead of single
        // files.
        watcher.watch(&self.folder, RecursiveMode::NonRecursive).map_err(failed)?;
        watcher.watch(&self.folder.join("src"), RecursiveMode::Recursive).map_err(failed)?;
        Ok(Changes { _watcher: watcher, changed })
    }
}

/// Changes of a crate's files.
pub struct Changes {
    _watcher: RecommendedWatcher,
    changed: Receiver<()>,
}

impl Changes {
    /// Waits until files are saved. Returns `false` if the watcher has ended.
    pub fn wait(&self) -> bool {
        let changed = self.changed.recv().is_ok();
        while self.changed.recv_timeout(SETTLED).is_ok() {}
        changed
    }
}

/// Whether an event on a file may change the library that is built from the crate.
fn matters(event: &Event) -> bool {
    let is_source = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "rs")
            || path.file_name().is_some_and(|it| it == "Cargo.toml")
    };
    !matches!(event.kind, EventKind::Access(_)) && event.paths.iter().any(is_source)
}
