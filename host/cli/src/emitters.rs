//! The emitters of a run: bundled, from the search path, and those the user named.

use std::path::Path;
use std::time::Duration;

use fusebox_compiler::Emitters;
use fusebox_core::emitter::Configuration;
use fusebox_plugins::{FoundLibrary, LoadError, Override, ProcessLimits, Registry, SEARCH_PATH, Spec, Target};
use fusebox_run::terminal;

use crate::arguments::EmitterChoice;
use crate::exit::Failure;

/// Time an isolated emitter has for one answer.
const ISOLATED_TIME: Duration = Duration::from_secs(20);

/// All emitters, and which the user chose.
pub fn choose(choice: &EmitterChoice) -> Result<Emitters, Failure> {
    let specs = choice.emitters.iter().map(|text| text.parse::<Spec>().map_err(Failure::usage));
    let specs = specs.collect::<Result<Vec<Spec>, Failure>>()?;
    let mut registry = Registry::new(fusebox_bundle::emitters()).map_err(|e| Failure::Bug(e.to_string()))?;
    for FoundLibrary { path, in_folder } in libraries(choice, &specs)? {
        match load(&mut registry, &path, choice) {
            // Whatever else lies in a folder of plugins is no reason to do nothing.
            Err(error) if in_folder && error.is_of_another_kind() => {
                terminal::complain(&format!("warning: skipped: {error}"));
            }
            done => done.map_err(Failure::input)?,
        }
    }
    let mut overrides = Vec::new();
    for spec in &specs {
        overrides.extend(Override::resolve(&registry, spec, choice.force).map_err(Failure::input)?);
    }
    let knobs = choice.knobs.iter().map(|text| knob(text)).collect::<Result<_, _>>()?;
    Ok(Emitters { registry, overrides, knobs: Configuration(knobs), ..Emitters::default() })
}

/// `name=value`
fn knob(text: &str) -> Result<(String, i64), Failure> {
    let parsed = text.split_once('=').and_then(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
    parsed.ok_or_else(|| Failure::usage(format!("--knob `{text}`: write NAME=VALUE, VALUE a whole number")))
}

/// Libraries of the search path, then those to be loaded, then those that specs name.
fn libraries(choice: &EmitterChoice, specs: &[Spec]) -> Result<Vec<FoundLibrary>, Failure> {
    let mut libraries = match std::env::var_os(SEARCH_PATH) {
        Some(path) => Registry::libraries_of_search_path(&path).map_err(Failure::input)?,
        None => Vec::new(),
    };
    libraries.extend(choice.load.iter().map(|path| FoundLibrary { path: path.clone(), in_folder: false }));
    libraries.extend(specs.iter().filter_map(|spec| match &spec.target {
        Target::File(path) => Some(FoundLibrary { path: path.clone(), in_folder: false }),
        Target::Name { .. } => None,
    }));
    Ok(libraries)
}

fn load(registry: &mut Registry, library: &Path, choice: &EmitterChoice) -> Result<(), LoadError> {
    if !choice.isolate {
        return registry.load_library(library);
    }
    let cannot = |error: std::io::Error| LoadError::Unreadable {
        path: library.into(),
        reason: format!("cannot find this program, which is to serve it: {error}"),
    };
    let program = std::env::current_exe().map_err(cannot)?;
    let limits = ProcessLimits { time: ISOLATED_TIME, memory: choice.isolate_memory.most() };
    registry.load_isolated(library, &program, limits)
}
