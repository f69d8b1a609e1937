//! Finds the `fusebox.toml` of a run.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Name of the configuration file.
pub const FILE_NAME: &str = "fusebox.toml";

/// Reason why a run does not use the `fusebox.toml` that was found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// Another user owns the file. The owner of the file would decide which code runs.
    #[error(
        "{}: error: it belongs to another user, who would decide which plugins run; `--config {}` uses it all the same, \
         `--no-config` does without",
        path.display(), path.display()
    )]
    Foreign {
        /// Path of the file.
        path: PathBuf,
    },
    /// The system refuses access to the path.
    #[error("{}: error: {source}", path.display())]
    Io {
        /// The path that fusebox tried to access.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Returns the path of the nearest `fusebox.toml`: the one in `folder` or, if `folder` contains
/// none, the one in the nearest enclosing folder that has a `fusebox.toml`. The path is relative if
/// the file is below the working directory.
///
/// # Errors
/// If the file belongs neither to this user nor to root.
pub fn above(folder: &Path) -> Result<Option<PathBuf>, FindError> {
    // If the folder does not exist, reading the module in it reports the error.
    let Ok(folder) = folder.canonicalize() else { return Ok(None) };
    for folder in folder.ancestors() {
        let path = folder.join(FILE_NAME);
        match std::fs::metadata(&path) {
            Ok(found) if [0, rustix::process::geteuid().as_raw()].contains(&found.uid()) => {
                return Ok(Some(short(path)));
            }
            Ok(_) => return Err(FindError::Foreign { path }),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {}
            Err(source) => return Err(FindError::Io { path, source }),
        }
    }
    Ok(None)
}

fn short(path: PathBuf) -> PathBuf {
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    match here.ok().and_then(|here| path.strip_prefix(here).ok().map(Path::to_path_buf)) {
        Some(below) => below,
        None => path,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn the_nearest_counts() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let inner = root.join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        assert_eq!(above(&root.join("nowhere")).unwrap(), None);
        std::fs::write(root.join(FILE_NAME), "").unwrap();
        assert_eq!(above(&inner).unwrap(), Some(root.join(FILE_NAME)));
        std::fs::write(root.join("a").join(FILE_NAME), "").unwrap();
        assert_eq!(above(&inner).unwrap(), Some(root.join("a").join(FILE_NAME)));
        assert_eq!(above(&root).unwrap(), Some(root.join(FILE_NAME)));
    }
}
