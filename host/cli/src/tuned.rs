//! Loads the choices that `fusebox tune` has stored, from the file that options of the command line
//! name.

use fusebox_choices::{database_path, load_tuned};
use fusebox_compiler::Options;
use fusebox_run::terminal;

use crate::arguments::TunedChoice;
use crate::exit::Failure;

/// Loads the stored choices for the device of a compilation into the options of the compilation. If
/// the file is damaged and `locked` is false, renames the file.
pub fn load(choice: &TunedChoice, locked: bool, options: &mut Options) -> Result<(), Failure> {
    let Some(path) = database_path(choice.tuned.as_deref()).filter(|_| !choice.no_tuned) else { return Ok(()) };
    Ok(load_tuned(&path, locked, options, &mut terminal::complain)?)
}
