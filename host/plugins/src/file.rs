//! Reads the bytes of a library once. The hash, the comparison with the pin, and the loader all use
//! the bytes that were read, even if the file changes meanwhile.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;

use crate::failure::LoadError;
use crate::note::{self, PluginNote};

/// A library with a sealed copy of its bytes.
#[derive(Debug)]
pub struct PluginFile {
    path: PathBuf,
    note: PluginNote,
    sha256: String,
    copy: File,
    /// A path by which this process and its children can open the copy while the copy exists.
    name_of_copy: PathBuf,
}

impl PluginFile {
    /// Reads a library and checks its note. Runs none of the library's code.
    ///
    /// # Errors
    /// If the file is not a complete library, has no note, or has another interface version.
    pub fn read(path: &Path) -> Result<PluginFile, LoadError> {
        let path = canonical(path)?;
        PluginFile::read_from(path.clone(), &path)
    }

    /// Reads the bytes of the library `path` from the file `content`.
    pub(crate) fn read_from(path: PathBuf, content: &Path) -> Result<PluginFile, LoadError> {
        let data = note::bytes(content)?;
        let note = note::find(&path, &data)?;
        note.check(&path)?;
        let sha256 = note::digest(&data);
        let copy = sealed_copy(&data).and_then(|copy| Ok((name_of(&copy)?, copy)));
        let (name_of_copy, copy) = copy.map_err(|error| LoadError::Unreadable {
            path: path.clone(),
            reason: format!("it cannot be copied to memory: {error}"),
        })?;
        Ok(PluginFile { path, note, sha256, copy, name_of_copy })
    }

    /// Returns the canonical path of the library.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the SHA-256 of the library's bytes, as hexadecimal digits.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Returns the library's note, which names the library's emitters.
    pub fn note(&self) -> &PluginNote {
        &self.note
    }

    /// Returns the path and the file of the copy. The path is valid while the file is open.
    pub(crate) fn into_copy(self) -> (PathBuf, File) {
        (self.name_of_copy, self.copy)
    }

    pub(crate) fn name_of_copy(&self) -> &Path {
        &self.name_of_copy
    }
}

/// Returns the canonical path of a file. The canonical path is necessary for two reasons: the
/// loader would search for a bare file name in other folders, and two paths of one file would count
/// as two plugins.
///
/// # Errors
/// If the file does not exist.
pub(crate) fn canonical(path: &Path) -> Result<PathBuf, LoadError> {
    std::fs::canonicalize(path).map_err(|error| LoadError::Unreadable { path: path.into(), reason: error.to_string() })
}

/// Returns a path in `/proc` of an open file. Reads the process id from `/proc`, because the id of
/// this process there may differ from the id that the process itself knows.
fn name_of(file: &File) -> io::Result<PathBuf> {
    let process = std::fs::read_link("/proc/self")?;
    Ok(Path::new("/proc").join(process).join("fd").join(file.as_raw_fd().to_string()))
}

/// Writes bytes to a file in memory, and seals the file against changes.
fn sealed_copy(data: &[u8]) -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Some systems map a memory file as code only if it has the `EXEC` flag. Older systems do not
    // know this flag.
    let made = match memfd_create("plugin", flags | MemfdFlags::EXEC) {
        Err(Errno::INVAL) => memfd_create("plugin", flags),
        made => made,
    };
    let mut copy = File::from(made?);
    copy.write_all(data)?;
    fcntl_add_seals(&copy, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn a_copy_can_be_read_and_not_changed() {
        let copy = sealed_copy(b"bytes").unwrap();
        let name = format!("/proc/self/fd/{}", copy.as_raw_fd());
        assert_eq!(std::fs::read(&name).unwrap(), b"bytes");
        assert!(copy.write_at(b"other", 0).is_err() && copy.set_len(0).is_err());
        // The seals hold for every descriptor, also for a new one that is opened for writing.
        let again = std::fs::OpenOptions::new().write(true).open(&name);
        assert!(again.map_or(true, |file| file.write_at(b"other", 0).is_err()));
        assert_eq!(std::fs::read(&name).unwrap(), b"bytes");
    }
}
