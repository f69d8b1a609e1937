//! What `fusebox tune` has measured: where it is kept, and what of it a compilation goes by.

use std::path::{Path, PathBuf};

use fusebox_compiler::Options;
use fusebox_run::terminal;
use fusebox_workshop::tune::{self, Database, DatabaseError};

use crate::arguments::TunedChoice;
use crate::environment;
use crate::exit::Failure;

/// Lets a compilation go by the choices for its device. A damaged file is begun anew, unless
/// `locked`.
pub fn load(choice: &TunedChoice, locked: bool, options: &mut Options) -> Result<(), Failure> {
    let Some(path) = place(choice.tuned.as_deref()).filter(|_| !choice.no_tuned) else { return Ok(()) };
    match tune::load(&path, options) {
        Err(error) => set_aside(error, locked),
        Ok(()) => Ok(()),
    }
}

/// The file to tune by, open. One that may not change is copied.
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

/// Puts a damaged file out of the way, and says so.
fn set_aside(error: DatabaseError, locked: bool) -> Result<(), Failure> {
    match &error {
        DatabaseError::Damaged { path, reason } if !locked => {
            let aside = fusebox_files::set_aside(path)
                .map_err(|refused| Failure::input(format!("{error}; it cannot be set aside: {refused}")))?;
            let (path, aside) = (path.display(), aside.display());
            terminal::complain(&format!(
                "warning: {path} is damaged: {reason}; it is called {aside} from now on, and tuning begins anew"
            ));
            Ok(())
        }
        _ => Err(error.into()),
    }
}

/// The file that is meant; `None` if none is and the user has no folder for such.
pub fn place(given: Option<&Path>) -> Option<PathBuf> {
    let caches = || environment::path("XDG_CACHE_HOME").or_else(|| Some(environment::path("HOME")?.join(".cache")));
    given.map(Path::to_path_buf).or_else(|| Some(caches()?.join("fusebox").join("tuned.redb")))
}
