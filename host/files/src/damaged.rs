//! Renames a damaged file, so that users can inspect it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// Maximum number of damaged files that are kept for one path.
const MOST: usize = 100;

/// Renames a file in its folder to `NAME.damaged` or, if that exists, to `NAME.damaged-2` and so
/// on. Returns the new path.
///
/// # Errors
/// If the system refuses, or if a hundred damaged files with this name exist.
pub fn set_aside(path: &Path) -> io::Result<PathBuf> {
    for number in 1..=MOST {
        let mut name = OsString::from(path);
        name.push(if number == 1 { ".damaged".into() } else { format!(".damaged-{number}") });
        match renameat_with(CWD, path, CWD, &name, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            outcome => return outcome.map(|()| name.into()).map_err(Into::into),
        }
    }
    Err(Errno::EXIST.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        for content in ["one", "two", "three"] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(std::fs::read_to_string(set_aside(&path).unwrap()).unwrap(), content);
            assert!(!path.exists());
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
        assert_eq!(set_aside(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
