//! Finds the file in which `fusebox tune` stores its choices, and loads these choices for a
//! compilation.

use std::path::{Path, PathBuf};

use fusebox_compiler::Options;
use fusebox_workshop::tune::{self, Database, DatabaseError};

use crate::ChoiceError;
use crate::environment::path_in_variable;

/// Loads the stored choices for the device of a compilation into the options of the compilation. If
/// the file is damaged and `locked` is false, renames the file.
///
/// # Errors
/// If the file cannot be used.
pub fn load_tuned(
    path: &Path,
    locked: bool,
    options: &mut Options,
    warn: &mut dyn FnMut(&str),
) -> Result<(), ChoiceError> {
    match tune::load(path, options) {
        Err(error) => set_aside(&error, locked, warn),
        Ok(()) => Ok(()),
    }
}

/// Opens the file for tuning. If `locked`, opens a copy in memory, so that the file does not
/// change. If the file is damaged and `locked` is false, renames the file.
///
/// # Errors
/// If the file cannot be used.
pub fn open_database(path: &Path, locked: bool, warn: &mut dyn FnMut(&str)) -> Result<Database, ChoiceError> {
    if locked {
        return Database::copy(path).map_err(ChoiceError::input);
    }
    match Database::open(path) {
        Err(error) => {
            set_aside(&error, locked, warn)?;
            Database::open(path).map_err(ChoiceError::input)
        }
        Ok(database) => Ok(database),
    }
}

/// If the error is that the file is damaged, and `locked` is false, renames the file and warns the
/// user. For any other error, or if `locked`, returns the error.
fn set_aside(error: &DatabaseError, locked: bool, warn: &mut dyn FnMut(&str)) -> Result<(), ChoiceError> {
    match error {
        DatabaseError::Damaged { path, reason } if !locked => {
            let aside = fusebox_files::set_aside(path)
                .map_err(|refused| ChoiceError::input(format!("{error}; it cannot be set aside: {refused}")))?;
            let (path, aside) = (path.display(), aside.display());
            warn(&format!("warning: {path} is damaged: {reason}; it is renamed to {aside}, and tuning starts anew"));
            Ok(())
        }
        _ => Err(ChoiceError::input(error)),
    }
}

/// Returns the path of the file that contains the choices. The path is `given`, or the default file
/// in the user's cache folder. Returns `None` if there is neither a given path nor a cache folder.
pub fn database_path(given: Option<&Path>) -> Option<PathBuf> {
    let caches = || path_in_variable("XDG_CACHE_HOME").or_else(|| Some(path_in_variable("HOME")?.join(".cache")));
    given.map(Path::to_path_buf).or_else(|| Some(caches()?.join("fusebox").join("tuned.redb")))
}
