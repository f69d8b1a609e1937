//! Resolves the path of an output.

use std::fs::{self, Metadata, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::{FileKind, WriteError};

/// The file that an output's path leads to.
#[derive(Debug)]
pub(crate) enum OutputTarget {
    /// A regular file, which need not exist yet.
    File {
        /// Path of the file, which is not a link.
        path: PathBuf,
        /// Metadata of the existing file.
        old: Option<Metadata>,
    },
    /// A file that cannot be replaced, so the content is written into the existing file.
    Stream(FileKind),
}

/// Follows links, also to files that do not exist yet. Fails if the path is a directory or invalid,
/// or if the file may not be written.
pub(crate) fn find(path: &Path) -> Result<OutputTarget, WriteError> {
    if path.as_os_str().as_bytes().ends_with(b"/") {
        return Err(WriteError::Directory { path: path.into() });
    }
    let nowhere = |source| WriteError::Path { path: path.into(), source };
    let old = match fs::metadata(path) {
        Ok(found) => Some(found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(nowhere(error)),
    };
    match old.as_ref().map_or(FileKind::Regular, |old| FileKind::of(old.file_type())) {
        FileKind::Directory => return Err(WriteError::Directory { path: path.into() }),
        FileKind::Regular => {}
        kind => return Ok(OutputTarget::Stream(kind)),
    }
    let Some(end) = end_of_links(path).map_err(nowhere)? else { return Ok(OutputTarget::Stream(FileKind::Regular)) };
    if old.is_some() {
        check_writable(&end).map_err(|source| WriteError::Protected { path: path.into(), source })?;
    }
    Ok(OutputTarget::File { path: end, old })
}

/// Returns the path at the end of a chain of links. Returns `None` if one of the links is the
/// system's name for an open file of a process, for example `/dev/stdout`. A file cannot be
/// replaced under a name such as `/dev/stdout`.
fn end_of_links(path: &Path) -> io::Result<Option<PathBuf>> {
    // The number of links that the system itself follows.
    const MOST_LINKS: usize = 40;
    let processes = fs::metadata("/proc").ok().map(|proc| proc.dev());
    let mut at = path.to_path_buf();
    for _ in 0..=MOST_LINKS {
        match fs::symlink_metadata(&at) {
            Ok(found) if found.is_symlink() && Some(found.dev()) == processes => return Ok(None),
            Ok(found) if found.is_symlink() => at = folder_of(&at).join(fs::read_link(&at)?),
            _ => return Ok(Some(at)),
        }
    }
    Err(rustix::io::Errno::LOOP.into())
}

/// Returns the directory of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Opens a file in order to check for permission to write the file. Replacing a file would not
/// require permission to write the file.
fn check_writable(path: &Path) -> io::Result<()> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
    OpenOptions::new().write(true).custom_flags(flags).open(path).map(drop)
}
