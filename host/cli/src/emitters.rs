//! Choices of emitters on the command line.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fusebox_compiler::Emitters;
use fusebox_configuration::Settings;
use fusebox_plugins::Registry;
use fusebox_run::terminal;

use crate::arguments::EmitterChoice;
use crate::exit::Failure;

/// Returns all emitters for a module in `folder`, and the user's choices of emitters in order.
/// Prints warnings to standard error.
pub fn choose(choice: &EmitterChoice, folder: &Path) -> Result<Emitters, Failure> {
    Ok(fusebox_choices::choose(&plain(choice), folder, &mut terminal::complain)?)
}

/// Converts the parsed arguments to the type that `fusebox_choices` reads.
pub fn plain(choice: &EmitterChoice) -> fusebox_choices::EmitterChoice {
    fusebox_choices::EmitterChoice {
        emitters: choice.emitters.clone(),
        load: choice.load.clone(),
        force: choice.force,
        knobs: choice.knobs.clone(),
        isolate: choice.isolate,
        isolate_memory: choice.isolate_memory,
        isolate_time: choice.isolate_time,
        server: std::env::current_exe().ok(),
        config: choice.config.clone(),
        locked: choice.locked,
        no_config: choice.no_config,
    }
}

/// Reads the `fusebox.toml` for this folder, or the file `config` instead. Returns `None` if there
/// is no file.
pub fn settings(config: Option<&Path>, folder: &Path) -> Result<Option<Settings>, Failure> {
    Ok(fusebox_choices::settings(config, folder)?)
}

/// Prints a remark on each library that was built without optimisation. Commands that report the
/// compile time call this function.
pub fn remark_on_builds<'r>(registries: impl IntoIterator<Item = &'r Registry>) {
    let libraries: BTreeSet<&PathBuf> = registries.into_iter().flat_map(Registry::unoptimised).collect();
    for library in libraries {
        terminal::complain(&format!(
            "remark: {} was built without optimisation: its emitters answer slowly, so that compiling takes longer; its kernels \
             are not affected; `cargo build --release` builds it with optimisation",
            library.display()
        ));
    }
}
