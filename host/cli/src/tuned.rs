//! The file in which `fusebox tune` stores its choices, as options of the command line name it.

use std::path::Path;

use fusebox_choices::{database_path, load_tuned, set_aside};
use fusebox_compiler::Options;
use fusebox_run::terminal;
use fusebox_workshop::tune::Database;

use crate::arguments::TunedChoice;
use crate::exit::Failure;

/// Loads the stored choices for the device of a compilation into the options of the compilation. If
/// the file is damaged, renames it, unless `locked`.
pub fn load(choice: &TunedChoice, locked: bool, options: &mut Options) -> Result<(), Failure> {
    let Some(path) = database_path(choice.tuned.as_deref()).filter(|_| !choice.no_tuned) else { return Ok(()) };
    Ok(load_tuned(&path, locked, options, &mut terminal::complain)?)
}

/// Opens the file for tuning. If `locked`, opens a copy in memory, so that the file does not
/// change. If the file is damaged, renames it, unless `locked`.
pub fn open(path: &Path, locked: bool) -> Result<Database, Failure> {
    if locked {
        return Ok(Database::copy(path)?);
    }
    match Database::open(path) {
        Err(error) => {
            set_aside(&error, locked, &mut terminal::complain)?;
            Ok(Database::open(path)?)
        }
        Ok(database) => Ok(database),
    }
}
