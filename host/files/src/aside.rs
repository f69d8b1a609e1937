//! Puts a damaged file out of the way, where it can be looked at.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// More are not kept.
const MOST: usize = 100;

/// Gives a file another name in its folder, `NAME.damaged` or, where that is taken, `NAME.damaged-2` and so on; gives that name.
///
/// # Errors
/// If the system refuses, or a hundred such files are there.
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
