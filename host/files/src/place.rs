//! Where the name of an output leads.

use std::fs::{self, Metadata, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::{FileKind, WriteError};

/// What an output's name stands for.
#[derive(Debug)]
pub(crate) enum Place {
    /// A regular file, or none yet.
    File {
        /// Its name, no link.
        path: PathBuf,
        /// The file there is.
        old: Option<Metadata>,
    },
    /// Something that is written to as it is.
    Stream(FileKind),
}

/// Follows links, also those to files that do not exist yet. Fails if the name is a directory's or leads nowhere, or
/// the file there may not be written.
pub(crate) fn find(path: &Path) -> Result<Place, WriteError> {
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
        kind => return Ok(Place::Stream(kind)),
    }
    let Some(end) = end_of_links(path).map_err(nowhere)? else { return Ok(Place::Stream(FileKind::Regular)) };
    if old.is_some() {
        check_writable(&end).map_err(|source| WriteError::Protected { path: path.into(), source })?;
    }
    Ok(Place::File { path: end, old })
}

/// The name at the end of a chain of links; `None` if one of them is the system's name for a file some process has
/// open (`/dev/stdout`), which has no name to be replaced under.
fn end_of_links(path: &Path) -> io::Result<Option<PathBuf>> {
    // As many as the system itself follows.
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

/// The directory that holds a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Replacing a file takes no right to write it, so it is asked for. The answer is the system's own.
fn check_writable(path: &Path) -> io::Result<()> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
    OpenOptions::new().write(true).custom_flags(flags).open(path).map(drop)
}
