//! Ensures that no output of a run replaces a file that the run reads, because a mistyped command
//! could destroy the user's data.
//!
//! A program enables the protection of its inputs at its start with [`keep_inputs`]. After
//! [`keep_inputs`], this crate records every file that it opens for reading, and every file that
//! the program passes to [`will_read`]. [`replace`](crate::replace) refuses to replace a recorded
//! file. Commands call [`check_output`] before they begin, so that they do no useless work.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::WriteError;
use crate::key::is_name_of_entry;
use crate::output_target::folder_of;

/// The inputs of this process. `None` until [`keep_inputs`] starts the recording.
static KEPT: Mutex<Option<Inputs>> = Mutex::new(None);

/// Enables the protection of files that this process reads from now on.
pub fn keep_inputs() {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
}

/// Records a file that this process will read, even if another crate opens the file. `-` means
/// standard input.
pub fn will_read(path: &Path) {
    let stdin = Path::new("/dev/stdin");
    let found = std::fs::metadata(if path == Path::new("-") { stdin } else { path });
    with_inputs(|inputs| inputs.add(path, found));
}

/// Records a file that this process has opened for reading.
pub(crate) fn is_read(path: &Path, found: &Metadata) {
    with_inputs(|inputs| inputs.add(path, Ok(found.clone())));
}

/// Records the folder of a store, whose entries this process reads and writes.
pub(crate) fn is_store(folder: &Metadata) {
    with_inputs(|inputs| {
        inputs.stores.insert(identity(folder));
    });
}

/// Checks that an output is not a recorded file. Recognises a recorded file also under another
/// name.
///
/// # Errors
/// [`WriteError::IsInput`], or [`WriteError::InStore`] if the output would be an entry of a store
/// in use.
pub fn check_output(output: &Path) -> Result<(), WriteError> {
    let mut outcome = Ok(());
    with_inputs(|inputs| outcome = inputs.check(output));
    outcome
}

fn with_inputs(action: impl FnOnce(&mut Inputs)) {
    if let Some(inputs) = KEPT.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        action(inputs);
    }
}

/// Recorded files. A file is recognised by its identity (device and inode number) or by its path.
/// The identity also matches the file under a second name. The path also matches a file with which
/// another program has replaced the recorded file.
#[derive(Default)]
struct Inputs {
    files: HashMap<(u64, u64), PathBuf>,
    names: HashMap<PathBuf, PathBuf>,
    stores: HashSet<(u64, u64)>,
}

impl Inputs {
    fn add(&mut self, path: &Path, found: io::Result<Metadata>) {
        match found {
            // FIFOs and devices contain no data to protect.
            Ok(found) if !found.is_file() => return,
            Ok(found) => drop(self.files.entry(identity(&found)).or_insert_with(|| path.into())),
            Err(_) => {}
        }
        if let Some(name) = full_name(path) {
            self.names.entry(name).or_insert_with(|| path.into());
        }
    }

    fn check(&self, output: &Path) -> Result<(), WriteError> {
        let found = std::fs::metadata(output).ok();
        if found.as_ref().is_some_and(|found| !found.is_file()) {
            return Ok(());
        }
        let same = found.and_then(|found| self.files.get(&identity(&found)));
        let input = same.or_else(|| self.names.get(&full_name(output)?));
        let is_entry = || output.file_name().and_then(OsStr::to_str).is_some_and(is_name_of_entry);
        let folder = || std::fs::metadata(folder_of(output)).is_ok_and(|it| self.stores.contains(&identity(&it)));
        match input {
            Some(input) => Err(WriteError::IsInput { path: output.into(), input: input.clone() }),
            None if is_entry() && folder() => Err(WriteError::InStore { path: output.into() }),
            None => Ok(()),
        }
    }
}

/// Returns the device and inode number of a file.
fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

/// Returns the canonical path of a file. The file need not exist. Returns `None` if the file's
/// folder does not exist.
fn full_name(path: &Path) -> Option<PathBuf> {
    let of_new = || Some(folder_of(path).canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(of_new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(paths: &[&Path]) -> Inputs {
        let mut inputs = Inputs::default();
        paths.iter().for_each(|path| inputs.add(path, std::fs::metadata(path)));
        inputs
    }

    #[test]
    fn an_input_is_recognised_under_all_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("d")).unwrap();
        std::fs::write(at("in"), b"1").unwrap();
        std::fs::write(at("other"), b"1").unwrap();
        std::os::unix::fs::symlink("in", at("link")).unwrap();
        std::os::unix::fs::symlink("in", at("dangling")).unwrap();
        std::os::unix::fs::symlink(".", at("d/up")).unwrap();
        std::fs::hard_link(at("in"), at("hard")).unwrap();
        let inputs = reading(&[&at("other"), &at("in"), &at("later")]);
        for name in ["in", "link", "hard", "./in", "d/../in", "later", "d/up/../later"] {
            let error = inputs.check(&at(name)).unwrap_err();
            assert!(error.is_usage() && error.to_string().contains("same file as the input"), "{error}");
        }
        // If another program has replaced the file, its path identifies it.
        std::fs::remove_file(at("in")).unwrap();
        std::fs::write(at("in"), b"2").unwrap();
        inputs.check(&at("in")).unwrap_err();
        for name in ["new", "d", "d/in", "none/in"] {
            inputs.check(&at(name)).unwrap();
        }
        reading(&[Path::new("/dev/null")]).check(Path::new("/dev/null")).unwrap();
    }

    #[test]
    fn entries_of_a_store_in_use_are_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let entry = folder.path().join(format!("{}.kept", "0".repeat(64)));
        let mut inputs = Inputs::default();
        inputs.check(&entry).unwrap();
        inputs.stores.insert(identity(&std::fs::metadata(folder.path()).unwrap()));
        assert!(inputs.check(&entry).unwrap_err().is_usage());
        inputs.check(&folder.path().join("m.fusebox")).unwrap();
    }
}
