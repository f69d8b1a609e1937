//! Finds and opens the file in which `fusebox tune` stores its choices, and loads these choices for
//! a compilation.

use std::path::{Path, PathBuf};

use fusebox_compiler::Options;
use fusebox_run::terminal;
use fusebox_workshop::tune::{self, Database, DatabaseError};

use crate::arguments::TunedChoice;
use crate::environment;
use crate::exit::Failure;

/// Loads the stored choices for the device of a compilation into the options of the compilation. If
/// the file is damaged, renames it, unless `locked`.
pub fn load(choice: &TunedChoice, locked: bool, options: &mut Options) -> Result<(), Failure> {
    let Some(path) = place(choice.tuned.as_deref()).filter(|_| !choice.no_tuned) else { return Ok(()) };
    match tune::load(&path, options) {
        Err(error) => set_aside(error, locked),
        Ok(()) => Ok(()),
    }
}

/// Opens the file for tuning. If `locked`, opens a copy in memory, so that the file does not
/// change.
pub fn open(path: &Path, locked: bool) -> Result<Database, Failure> {
    if locked {
        return Ok(Database::copy(path)?);
    }
    match Database::open(path) {
        Err(error) => {
            set_aside(error, locked)?;
            Ok(Database::open(path)?)
        }
        Ok(database) => Ok(database),
    }
}

/// If the error is that the file is damaged, renames the file and prints a warning. If `locked`, or
/// for any other error, returns the error.
fn set_aside(error: DatabaseError, locked: bool) -> Result<(), Failure> {
    match &error {
        DatabaseError::Damaged { path, reason } if !locked => {
            let aside = fusebox_files::set_aside(path)
                .map_err(|refused| Failure::input(format!("{error}; it cannot be set aside: {refused}")))?;
            let (path, aside) = (path.display(), aside.display());
            terminal::complain(&format!(
                "warning: {path} is damaged: {reason}; it is renamed to {aside}, and tuning starts anew"
            ));
            Ok(())
        }
        _ => Err(error.into()),
    }
}

/// Returns the path of the file that contains the choices. The path is `given`, or the default file
/// in the user's cache folder. Returns `None` if there is neither a given path nor a cache folder.
pub fn place(given: Option<&Path>) -> Option<PathBuf> {
    let caches = || environment::path("XDG_CACHE_HOME").or_else(|| Some(environment::path("HOME")?.join(".cache")));
    given.map(Path::to_path_buf).or_else(|| Some(caches()?.join("fusebox").join("tuned.redb")))
}
