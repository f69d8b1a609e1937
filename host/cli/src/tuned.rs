//! What `fusebox tune` has measured: where it is kept, and what of it a compilation goes by.

use std::path::{Path, PathBuf};

use fusebox_compiler::Options;
use fusebox_workshop::tune;

use crate::arguments::TunedChoice;
use crate::environment;
use crate::exit::Failure;

/// Lets a compilation go by what was chosen for its device.
pub fn load(choice: &TunedChoice, options: &mut Options) -> Result<(), Failure> {
    match place(choice.tuned.as_deref()).filter(|_| !choice.no_tuned) {
        Some(path) => Ok(tune::load(&path, options)?),
        None => Ok(()),
    }
}

/// The file that is meant; `None` if none is and the user has no folder for such.
pub fn place(given: Option<&Path>) -> Option<PathBuf> {
    let caches = || environment::path("XDG_CACHE_HOME").or_else(|| Some(environment::path("HOME")?.join(".cache")));
    given.map(Path::to_path_buf).or_else(|| Some(caches()?.join("fusebox").join("tuned.redb")))
}
