//! Declares which files a command will read, before the command begins. So no output of the command
//! can overwrite a file that the command reads.

use std::path::{Path, PathBuf};

use fusebox_choices::database_path;
use fusebox_configuration::LOCK_NAME;
use fusebox_files::{check_output, will_read};

use crate::arguments::{CommonArguments, EmitterChoice};
use crate::exit::Failure;
use crate::module;

/// Declares the files that a command reads: its module, the files that choose emitters, and
/// `others`. Fails if one of the outputs is a declared file.
pub fn check<'a>(
    common: &'a CommonArguments,
    others: impl IntoIterator<Item = &'a PathBuf>,
    outputs: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<(), Failure> {
    will_read(&common.module);
    will_read_choices(&common.compiling.emitters, module::folder_of(&common.module));
    if !common.tuned.no_tuned {
        database_path(common.tuned.tuned.as_deref()).iter().for_each(|path| will_read(path));
    }
    check_among(others, outputs)
}

/// Declares the files `read`, for a command that reads only these files. Fails if one of the
/// outputs is a declared file.
pub fn check_among<'a>(
    read: impl IntoIterator<Item = &'a PathBuf>,
    outputs: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<(), Failure> {
    read.into_iter().for_each(|path| will_read(path));
    Ok(outputs.into_iter().try_for_each(|output| check_output(output))?)
}

/// Declares the files that choose or contain emitters for modules in a folder.
pub fn will_read_choices(choice: &EmitterChoice, folder: &Path) {
    choice.load.iter().for_each(|path| will_read(path));
    let config = match &choice.config {
        _ if choice.no_config => None,
        Some(config) => Some(config.clone()),
        // If this fails, the error is reported later, when the file is read.
        None => fusebox_configuration::above(folder).ok().flatten(),
    };
    if let Some(config) = config {
        will_read(&config);
        will_read(&config.with_file_name(LOCK_NAME));
    }
}
