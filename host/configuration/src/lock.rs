//! Reads and writes `fusebox.lock`. For each plugin in `fusebox.toml`, `fusebox.lock` states the
//! SHA-256 that the plugin's file had when the plugin was pinned.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fusebox_files::{ReadError, WriteError};
use serde::{Deserialize, Serialize};

use crate::{FileError, FilePosition, text};

/// Name of the lock file. The lock file is in the folder of `fusebox.toml`.
pub const LOCK_NAME: &str = "fusebox.lock";
/// Version of the file format.
const VERSION: u32 = 1;
const HEADING: &str =
    "# The plugins of fusebox.toml as they were pinned. `fusebox emitters lock` writes this file anew.\n";

/// The content of a `fusebox.lock`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    path: PathBuf,
    plugins: BTreeMap<String, Pin>,
}

/// Result of the comparison of a plugin's file with the plugin's pin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PinState {
    /// The plugin's file has the pinned bytes.
    Pinned,
    /// The plugin has no pin.
    Unpinned,
    /// The bytes of the plugin's file differ from the pinned bytes.
    Changed {
        /// SHA-256 of the pinned bytes.
        wanted: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PluginLockFile {
    version: u32,
    #[serde(default)]
    plugins: BTreeMap<String, Pin>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pin {
    sha256: String,
}

impl Lock {
    /// Reads the `fusebox.lock` that belongs to a `fusebox.toml`. If there is no `fusebox.lock`, no
    /// plugin is pinned.
    ///
    /// # Errors
    /// If the file cannot be read or parsed.
    pub fn of_settings(settings: &Path) -> Result<Lock, FileError> {
        let path = settings.with_file_name(LOCK_NAME);
        let written = match text::read(&path) {
            Err(FileError::Read(ReadError::NotFound { .. })) => return Ok(Lock { path, plugins: BTreeMap::new() }),
            written => written?,
        };
        let PluginLockFile { version, plugins } = text::parse(&path, &written)?;
        if version == VERSION {
            return Ok(Lock { path, plugins });
        }
        let place = FilePosition::at(&path, &written, written.find("version").unwrap_or(0));
        let message =
            format!("it has version {version}, wanted {VERSION}; use the fusebox that wrote it, or write it anew");
        Err(FileError::Invalid { place, message })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Compares the SHA-256 of a plugin's file with the pin.
    pub fn state(&self, plugin: &str, sha256: &str) -> PinState {
        match self.plugins.get(plugin) {
            None => PinState::Unpinned,
            Some(pin) if pin.sha256 == sha256 => PinState::Pinned,
            Some(pin) => PinState::Changed { wanted: pin.sha256.clone() },
        }
    }

    /// Pins a plugin.
    pub fn pin(&mut self, plugin: &str, sha256: &str) {
        self.plugins.insert(plugin.into(), Pin { sha256: sha256.into() });
    }

    /// Removes the pins of all plugins except `plugins`.
    pub fn keep<'n>(&mut self, plugins: impl Iterator<Item = &'n str> + Clone) {
        self.plugins.retain(|name, _| plugins.clone().any(|kept| kept == name));
    }

    /// Writes the file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self) -> Result<(), WriteError> {
        let written = PluginLockFile { version: VERSION, plugins: self.plugins.clone() };
        let text = toml::to_string(&written).map_err(std::io::Error::other);
        fusebox_files::rewrite(&self.path, |file| {
            let text = text?;
            std::io::Write::write_all(file, format!("{HEADING}{text}").as_bytes())
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn what_is_pinned_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let settings = folder.path().join("fusebox.toml");
        let mut lock = Lock::of_settings(&settings).unwrap();
        assert_eq!(lock.state("a", "00"), PinState::Unpinned);
        lock.pin("a", "00");
        lock.pin("b c", "11");
        lock.write().unwrap();
        let mut lock = Lock::of_settings(&settings).unwrap();
        assert_eq!(lock.state("a", "00"), PinState::Pinned);
        assert_eq!(lock.state("b c", "12"), PinState::Changed { wanted: "11".into() });
        lock.keep(["b c"].into_iter());
        assert_eq!(lock.state("a", "00"), PinState::Unpinned);
        for (text, wanted) in [
            ("version = 2\n", "fusebox.lock:1:1: error: it has version 2, wanted 1"),
            (
                "version = 1\n[plugins.a]\nsha = \"0\"\n",
                "fusebox.lock:3:1: error: unknown key `sha`; did you mean `sha256`?",
            ),
            ("version = 1\n<<<<<<<\n", "fusebox.lock:2:8: error: "),
        ] {
            std::fs::write(lock.path(), text).unwrap();
            let error = Lock::of_settings(&settings).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}\nlacks\n{wanted}");
        }
    }
}
