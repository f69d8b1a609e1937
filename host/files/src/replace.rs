//! Writes a file as a whole: fills a draft in the same folder, then renames the draft to the file's
//! path.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, OFlags, linkat};
use rustix::io::Errno;
use tempfile::{NamedTempFile, TempPath};

use crate::WriteError;
use crate::direct;
use crate::fill::Fill;
use crate::guard::check_output;
use crate::output_target::{self, OutputTarget, folder_of};

/// Replaces or creates a file. Readers of the path see the complete old file or the complete new
/// file, even if the process is killed or the power fails. After an error readers see the old file.
///
/// A symbolic link is kept, and the file at its end is replaced. The new file gets the permissions
/// of the old file, and the owner of the old file if the system allows this. Other hard links to
/// the old file keep the old content. A FIFO or device is not replaced: the complete content is
/// written to it.
///
/// # Errors
/// If the path is a directory, the file may not be written, this run has read the file, or `fill`
/// or the file system fails.
pub fn replace<E: Into<io::Error>>(
    path: &Path,
    fill: impl FnOnce(&mut File) -> Result<(), E>,
) -> Result<(), WriteError> {
    check_output(path)?;
    rewrite(path, fill)
}

/// Replaces a file like [`replace`], even if this run has read the file. Commands that update a
/// file call this function.
///
/// # Errors
/// The errors of [`replace`].
pub fn rewrite<E: Into<io::Error>>(
    path: &Path,
    fill: impl FnOnce(&mut File) -> Result<(), E>,
) -> Result<(), WriteError> {
    match output_target::find(path)? {
        OutputTarget::Stream(kind) => direct::write(path, kind, fill),
        OutputTarget::File { path: place, old } => {
            let draft = Draft::next_to(&place).map_err(|source| no_draft(path, &place, source))?;
            finish(path, &place, old.as_ref(), draft, fill)
        }
    }
}

/// Replaces the content of a file by these bytes, like [`replace`].
///
/// # Errors
/// The errors of [`replace`].
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    replace(path, |file| file.write_all(bytes))
}

/// Replaces the content of a file by these bytes without waiting for the disk. Readers see the
/// complete old file or the complete new file, but a power cut may damage the new file. This
/// function is only for files that can be recreated.
pub(crate) fn write_unsaved(place: &Path, parts: &[&[u8]]) -> Result<(), WriteError> {
    let mut draft = Draft::next_to(place).map_err(|source| no_draft(place, place, source))?;
    let failed = |step| move |source| WriteError::Draft { path: place.into(), step, source };
    parts.iter().try_for_each(|part| draft.file().write_all(part)).map_err(failed("writing the new file"))?;
    draft.put(place, false).map_err(failed("putting the new file in place"))
}

fn no_draft(path: &Path, place: &Path, source: io::Error) -> WriteError {
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => WriteError::Path { path: path.into(), source },
        _ => WriteError::Folder { path: path.into(), folder: folder_of(place).into(), source },
    }
}

/// Fills a draft and moves it to its path. Removes the draft on any error.
fn finish<E: Into<io::Error>>(
    path: &Path,
    place: &Path,
    old: Option<&Metadata>,
    mut draft: Draft,
    fill: impl Fill<E>,
) -> Result<(), WriteError> {
    let failed = |step| move |source| WriteError::Draft { path: path.into(), step, source };
    fill(draft.file()).map_err(|error| failed("writing the new file")(error.into()))?;
    if let Some(old) = old {
        keep_rights(draft.file(), old).map_err(failed("giving the new file the old one's permissions"))?;
    }
    draft.file().sync_all().map_err(failed("saving the new file to disk"))?;
    draft.put(place, old.is_some()).map_err(failed("putting the new file in place"))?;
    let folder = folder_of(place);
    sync_folder(folder).map_err(|source| WriteError::Unconfirmed { path: path.into(), folder: folder.into(), source })
}

/// A new file that has not been moved to its path yet.
enum Draft {
    /// An unnamed file, which the system removes when the process ends.
    Unnamed(File),
    /// A file with a name, for file systems without unnamed files.
    Named(NamedTempFile),
}

impl Draft {
    /// Creates a draft in the folder of `place`, because a file cannot move between file systems.
    fn next_to(place: &Path) -> io::Result<Draft> {
        let unnamed = Draft::unnamed(folder_of(place));
        let not_here = |error: &io::Error| {
            matches!(Errno::from_io_error(error), Some(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT))
        };
        match unnamed {
            Err(error) if not_here(&error) => Draft::named(place),
            outcome => outcome,
        }
    }

    fn unnamed(folder: &Path) -> io::Result<Draft> {
        let flags = OFlags::TMPFILE.bits() as i32;
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).mode(NEW_FILE).open(folder)?;
        // Without /proc the file cannot get a name later.
        fs::metadata(name_of_open(&file))?;
        Ok(Draft::Unnamed(file))
    }

    fn named(place: &Path) -> io::Result<Draft> {
        let (prefix, suffix) = name_parts(place);
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(suffix).permissions(Permissions::from_mode(NEW_FILE));
        builder.tempfile_in(folder_of(place)).map(Draft::Named)
    }

    fn file(&mut self) -> &mut File {
        match self {
            Draft::Unnamed(file) => file,
            Draft::Named(file) => file.as_file_mut(),
        }
    }

    /// Moves the draft to its path.
    fn put(self, place: &Path, replaces: bool) -> io::Result<()> {
        let named: TempPath = match self {
            Draft::Named(file) => file.into_temp_path(),
            Draft::Unnamed(file) => {
                if !replaces {
                    match link(&file, place) {
                        // Another process has created the file meanwhile.
                        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                        outcome => return outcome,
                    }
                }
                // Only a file with a name can replace another file, so the draft gets a temporary
                // name first.
                let (prefix, suffix) = name_parts(place);
                let mut builder = tempfile::Builder::new();
                builder.prefix(&prefix).suffix(suffix);
                builder.make_in(folder_of(place), |name| link(&file, name))?.into_temp_path()
            }
        };
        named.persist(place).map_err(|refused| refused.error)
    }
}

/// Permissions of a new file, before the user's umask is applied: all users may read and write.
const NEW_FILE: u32 = 0o666;

/// Returns prefix and suffix of a draft's name.
fn name_parts(place: &Path) -> (std::ffi::OsString, &'static str) {
    // Maximum number of bytes of the prefix. File names have at most 255 bytes.
    const MOST: usize = 200;
    let name = place.file_name().unwrap_or_default().as_bytes();
    let mut prefix = std::ffi::OsString::from(".");
    prefix.push(OsStr::from_bytes(&name[..name.len().min(MOST)]));
    prefix.push(".");
    (prefix, ".partial")
}

fn name_of_open(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

fn link(file: &File, name: &Path) -> io::Result<()> {
    Ok(linkat(CWD, name_of_open(file), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
}

/// Copies the owner and the permissions of the old file to the new file. Changes the owner first,
/// because changing the owner clears some permissions.
fn keep_rights(file: &File, old: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        match fchown(file, Some(old.uid()), Some(old.gid())) {
            // Only root can change the owner. So when this user replaces another user's file, the
            // new file belongs to this user.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            outcome => outcome?,
        }
    }
    file.set_permissions(Permissions::from_mode(old.mode() & 0o777))
}

/// Saves the entries of a folder to disk, so that a new file name survives a power cut.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    match synced {
        // This user may write but not read the directory, or the file system has nothing to save.
        Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::ACCESS | Errno::INVAL | Errno::NOTSUP)) => {
            Ok(())
        }
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests;
