//! Writes a folder as a whole: callers write the files to a draft, which is then moved to the
//! target.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::guard::check_output;
use crate::output_target::folder_of;
use crate::replace::sync_folder;
use crate::{FileKind, WriteError};

/// Permissions of a new folder, before the user's umask is applied.
const RIGHTS: u32 = 0o777;

/// Checks that a new folder can be written at a path. If `may_be_occupied` is false, refuses a
/// folder that is not empty.
///
/// # Errors
/// [`WriteError::Occupied`] if the folder is not empty. [`WriteError::NoFolder`] if the path is not
/// a folder. [`WriteError::Path`] if the system refuses access.
pub fn check_folder(place: &Path, may_be_occupied: bool) -> Result<(), WriteError> {
    let nowhere = |source| WriteError::Path { path: place.into(), source };
    match fs::metadata(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(nowhere(error)),
        Ok(found) if !found.is_dir() => {
            Err(WriteError::NoFolder { path: place.into(), kind: FileKind::of(found.file_type()) })
        }
        Ok(_) if may_be_occupied => Ok(()),
        Ok(_) => match fs::read_dir(place).map_err(nowhere)?.next() {
            None => Ok(()),
            Some(_) => Err(WriteError::Occupied { path: place.into() }),
        },
    }
}

/// The draft of a folder. The files appear at the target only when [`put`](NewFolder::put) moves
/// them. Dropping a `NewFolder` removes its draft.
#[derive(Debug)]
pub struct NewFolder {
    place: PathBuf,
    draft: TempDir,
}

impl NewFolder {
    /// Creates a draft for a path that [`check_folder`] accepts.
    ///
    /// # Errors
    /// The errors of [`check_folder`], and [`WriteError::Folder`] if the draft cannot be created.
    pub fn draft(place: &Path, may_be_occupied: bool) -> Result<NewFolder, WriteError> {
        check_folder(place, may_be_occupied)?;
        // The draft must be on the file system of the target. So it is created in the target
        // itself, or in the nearest existing folder above the target.
        let beside = |folder: &Path| folder.is_dir();
        let above = place.ancestors().find(|folder| beside(folder)).unwrap_or(Path::new("."));
        let made =
            tempfile::Builder::new().prefix(".fusebox-").permissions(Permissions::from_mode(RIGHTS)).tempdir_in(above);
        let draft = made.map_err(|source| WriteError::Folder { path: place.into(), folder: above.into(), source })?;
        Ok(NewFolder { place: place.into(), draft })
    }

    /// Returns the path of the draft. Callers write the files into this folder.
    pub fn path(&self) -> &Path {
        self.draft.path()
    }

    /// Moves the draft to the target. Keeps existing files that the draft does not replace.
    ///
    /// # Errors
    /// If a file would replace a file that the run has read, or if the system refuses. If a file
    /// would replace a file that the run has read, no file is moved.
    pub fn put(self) -> Result<(), WriteError> {
        let NewFolder { place, draft } = self;
        let failed =
            |source| WriteError::Draft { path: place.clone(), step: "putting the new folder in place", source };
        if !place.exists() {
            fs::create_dir_all(folder_of(&place)).map_err(failed)?;
            fs::rename(draft.path(), &place).map_err(failed)?;
            // The draft has been moved, so it must not be removed.
            let _ = draft.keep();
            return sync_folder(folder_of(&place)).map_err(failed);
        }
        let (folders, files) = contents(draft.path()).map_err(failed)?;
        for file in &files {
            let target = place.join(file);
            check_output(&target)?;
            if target.is_dir() {
                return Err(WriteError::Directory { path: target });
            }
        }
        folders.iter().try_for_each(|folder| fs::create_dir_all(place.join(folder))).map_err(failed)?;
        files.iter().try_for_each(|file| fs::rename(draft.path().join(file), place.join(file))).map_err(failed)?;
        sync_folder(&place).map_err(failed)
    }
}

/// Returns all folders and all files below `root`, as paths relative to `root`. Outer folders come
/// first.
fn contents(root: &Path) -> io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let (mut folders, mut files) = (Vec::new(), Vec::new());
    let mut open = vec![PathBuf::new()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let name = folder.join(entry.file_name());
            if entry.file_type()?.is_dir() { open.push(name) } else { files.push(name) }
        }
        folders.push(folder);
    }
    Ok((folders, files))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn fill(new: &NewFolder) {
        fs::create_dir(new.path().join("in")).unwrap();
        crate::write(&new.path().join("in/a"), b"new").unwrap();
        crate::write(&new.path().join("b"), b"new").unwrap();
    }

    #[test]
    fn a_folder_appears_whole_or_not_at_all() {
        let root = tempfile::tempdir().unwrap();
        let place = root.path().join("x/y");
        let new = NewFolder::draft(&place, false).unwrap();
        fill(&new);
        assert!(!place.exists());
        drop(new);
        assert!(names(root.path()).is_empty());
        let new = NewFolder::draft(&place, false).unwrap();
        fill(&new);
        new.put().unwrap();
        assert_eq!((names(root.path()), names(&place)), (vec!["x".to_owned()], vec!["b".to_owned(), "in".to_owned()]));
        let rights = fs::metadata(&place).unwrap().permissions().mode() & 0o700;
        assert_eq!(rights, 0o700);
    }

    #[test]
    fn what_is_there_is_replaced_only_on_demand() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("b"), b"old").unwrap();
        fs::write(root.path().join("c"), b"old").unwrap();
        let error = NewFolder::draft(root.path(), false).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains("--force"), "{error}");
        let new = NewFolder::draft(root.path(), true).unwrap();
        fill(&new);
        new.put().unwrap();
        assert_eq!(names(root.path()), ["b", "c", "in"]);
        assert_eq!(fs::read(root.path().join("b")).unwrap(), b"new");
        assert_eq!(fs::read(root.path().join("c")).unwrap(), b"old");
        assert!(matches!(NewFolder::draft(&root.path().join("c"), true), Err(WriteError::NoFolder { .. })));
        // An empty folder is treated like a missing one.
        fs::create_dir(root.path().join("d")).unwrap();
        NewFolder::draft(&root.path().join("d"), false).unwrap().put().unwrap();
    }
}
