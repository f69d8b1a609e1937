//! The file in which `fusebox tune` stores its choices, as options of the command line name it.

use fusebox_choices::{database_path, load_tuned};
use fusebox_compiler::Options;
use fusebox_run::terminal;

use crate::arguments::TunedChoice;
use crate::exit::Failure;

/// Loads the stored choices for the device of a compilation into the options of the compilation. If
/// the file is damaged, renames it, unless `locked`.
pub fn load(choice: &TunedChoice, locked: bool, options: &mut Options) -> Result<(), Failure> {
    let Some(path) = database_path(choice.tuned.as_deref()).filter(|_| !choice.no_tuned) else { return Ok(()) };
    Ok(load_tuned(&path, locked, options, &mut terminal::complain)?)
}
