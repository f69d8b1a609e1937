//! Collects the emitters of a run: the bundled emitters, and the emitters of libraries. The
//! libraries come from the search path, `fusebox.toml` and the command line. Also collects the
//! user's choices of emitters.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fusebox_compiler::Emitters;
use fusebox_configuration::{FilePosition, Isolation, LocatedSpec, Lock, PinState, Plugin, Settings};
use fusebox_files::SizeLimit;
use fusebox_plugins::{
    FoundLibrary, LoadError, Override, OverrideError, PluginFile, ProcessLimits, Registry, SEARCH_PATH, Spec, Subject,
    Target, knob,
};

use crate::ChoiceError;
use crate::bundled::bundled;

/// Default time limit for one answer of an isolated emitter.
const ISOLATED_TIME: Duration = Duration::from_secs(20);
/// Default memory limit of an isolated emitter.
const ISOLATED_MEMORY: SizeLimit = SizeLimit::bytes(4 << 30);

/// The user's choice of emitters, as options of the command line state it.
#[derive(Clone, Debug, Default)]
pub struct EmitterChoice {
    /// Choices of emitters in order (`kind=name`, `./file.so`, …).
    pub emitters: Vec<String>,
    /// Libraries to load.
    pub load: Vec<PathBuf>,
    /// Whether a chosen emitter must accept all fusions of its kind.
    pub force: bool,
    /// Knobs of the chosen emitters (`name=value`).
    pub knobs: Vec<String>,
    /// Whether every library runs in a separate process.
    pub isolate: bool,
    /// Memory limit of a separate process.
    pub isolate_memory: Option<SizeLimit>,
    /// Time limit for an answer of a separate process, in seconds.
    pub isolate_time: Option<NonZeroU32>,
    /// The program `fusebox`, which serves a library in a separate process.
    pub server: Option<PathBuf>,
    /// Configuration file to read instead of the `fusebox.toml` for the module's folder.
    pub config: Option<PathBuf>,
    /// Whether all plugins must be pinned.
    pub locked: bool,
    /// Whether to ignore `fusebox.toml`.
    pub no_config: bool,
}

/// A library to load.
#[derive(Default)]
struct LibraryToLoad {
    path: PathBuf,
    /// Whether the search path names the folder of the library instead of the library.
    in_folder: bool,
    isolation: Isolation,
    /// Name and position of the library's entry in `fusebox.toml`, if it has one.
    plugin: Option<(String, FilePosition)>,
    /// Content of the file, if it has been read.
    file: Option<PluginFile>,
}

/// Returns all emitters for a module in `folder`, and the user's choices of emitters in order. The
/// last choice that matches a fusion wins. Choices in `fusebox.toml` come first, followed by
/// choices on the command line. Both in `fusebox.toml` and on the command line, choices that name
/// kinds precede choices that name fusions.
///
/// # Errors
/// If a configuration file, a library or a choice is at fault.
pub fn choose(choice: &EmitterChoice, folder: &Path, warn: &mut dyn FnMut(&str)) -> Result<Emitters, ChoiceError> {
    let settings = settings_of(choice, folder)?;
    let plugins = settings.as_ref().map(|settings| pinned(settings, choice.locked)).transpose()?.unwrap_or_default();
    let written = settings.as_ref().map_or(&[][..], |settings| &settings.choices);
    let specs = specs(choice)?;
    let mut registry = bundled()?;
    for mut library in libraries(choice, plugins, &specs)? {
        match load(&mut registry, &mut library, choice) {
            // A folder of plugins may also contain files that are not plugins.
            Err(error) if library.in_folder && error.is_of_another_kind() => {
                warn(&format!("warning: skipped: {error}"));
            }
            Err(error) => {
                return Err(match &library.plugin {
                    Some((name, place)) => ChoiceError::at(place, format!("plugin `{name}`: {error}")),
                    None => ChoiceError::input(error),
                });
            }
            Ok(()) => {}
        }
    }
    let mut overrides = Vec::new();
    for LocatedSpec { spec, place } in written {
        let found = match Override::resolve(&registry, spec, false) {
            // The choice may be intended for other runs, which load a library with emitters of this
            // kind.
            Err(error @ OverrideError::Kind { .. }) => {
                warn(&format!("{place}: warning: {error}"));
                continue;
            }
            found => found.map_err(|error| ChoiceError::at(place, error))?,
        };
        overrides.extend(found.into_iter().map(|found| Override { place: Some(place.line()), ..found }));
    }
    for spec in &specs {
        overrides.extend(Override::resolve(&registry, spec, choice.force).map_err(ChoiceError::input)?);
    }
    Ok(Emitters { registry, overrides, ..Emitters::default() })
}

/// Reads the `fusebox.toml` for this folder. Returns `None` if there is no file, or if the choice
/// ignores the file.
///
/// # Errors
/// If the file cannot be read or is wrong.
pub fn settings_of(choice: &EmitterChoice, folder: &Path) -> Result<Option<Settings>, ChoiceError> {
    if choice.no_config { Ok(None) } else { settings(choice.config.as_deref(), folder) }
}

/// Reads the `fusebox.toml` for this folder, or the file `config` instead. Returns `None` if there
/// is no file.
///
/// # Errors
/// If the file cannot be read or is wrong.
pub fn settings(config: Option<&Path>, folder: &Path) -> Result<Option<Settings>, ChoiceError> {
    let path = match config {
        Some(path) => Some(path.into()),
        None => fusebox_configuration::above(folder).map_err(ChoiceError::input)?,
    };
    path.map(|path| Settings::read(&path)).transpose().map_err(ChoiceError::input)
}

/// Reads each plugin of a configuration file once, and compares the plugin with its pin. If
/// `locked` is false, a plugin without a pin is accepted, because a plugin in development is
/// rebuilt often.
fn pinned(settings: &Settings, locked: bool) -> Result<Vec<LibraryToLoad>, ChoiceError> {
    let lock = Lock::of_settings(&settings.path).map_err(ChoiceError::input)?;
    let read = |Plugin { name, library, place, isolation }: &Plugin| {
        let refused = |reason: String| ChoiceError::at(place, format!("plugin `{name}`: {reason}"));
        let file = PluginFile::read(library).map_err(|error| refused(error.to_string()))?;
        match lock.state(name, file.sha256()) {
            PinState::Pinned => {}
            PinState::Unpinned if !locked => {}
            state => return Err(refused(how_to_pin(&lock, library, file.sha256(), &state))),
        }
        Ok(LibraryToLoad {
            path: library.clone(),
            in_folder: false,
            isolation: *isolation,
            plugin: Some((name.clone(), place.clone())),
            file: Some(file),
        })
    };
    settings.plugins.iter().map(read).collect()
}

/// Describes how a plugin differs from its pin, and names the command that pins it.
pub fn how_to_pin(lock: &Lock, library: &Path, sha256: &str, state: &PinState) -> String {
    let (lock, library) = (lock.path().display(), library.display());
    let wanted = match state {
        PinState::Changed { wanted } => format!("{lock} wants {wanted}"),
        PinState::Pinned | PinState::Unpinned => format!("{lock} does not have it"),
    };
    format!("found {library} with SHA-256 {sha256}, {wanted}; if this file is meant, `fusebox emitters lock` pins it")
}

/// Returns the SPECs of the command line. Adds the knobs of `--knob` to each SPEC. SPECs that name
/// fusions come last.
fn specs(choice: &EmitterChoice) -> Result<Vec<Spec>, ChoiceError> {
    let knobs = choice.knobs.iter().map(|text| knob(text).map_err(|error| ChoiceError::usage(format!("--{error}"))));
    let knobs = knobs.collect::<Result<Vec<_>, _>>()?;
    if let (Some(first), true) = (choice.knobs.first(), choice.emitters.is_empty()) {
        return Err(ChoiceError::usage(format!(
            "--knob {first} applies to no emitter: it sets knobs only of emitters that --emitter names; write \
             --emitter 'NAME{{{first}}}'. Other emitters choose their knobs themselves, or use those that `fusebox \
             tune` has found"
        )));
    }
    let mut specs = Vec::new();
    for text in &choice.emitters {
        let mut spec: Spec = text.parse().map_err(ChoiceError::usage)?;
        spec.knobs.0.extend(knobs.clone());
        specs.push(spec);
    }
    specs.sort_by_key(|spec| !matches!(spec.subject, None | Some(Subject::Kind(_))));
    Ok(specs)
}

/// Returns the libraries to load, in this order: plugins of `fusebox.toml`, libraries of the search
/// path, libraries of `--load`, and libraries that SPECs name. Returns each file only once.
fn libraries(
    choice: &EmitterChoice,
    plugins: Vec<LibraryToLoad>,
    specs: &[Spec],
) -> Result<Vec<LibraryToLoad>, ChoiceError> {
    let mut libraries = plugins;
    if let Some(path) = std::env::var_os(SEARCH_PATH) {
        let found = Registry::libraries_of_search_path(&path).map_err(ChoiceError::input)?;
        let library = |FoundLibrary { path, in_folder }| LibraryToLoad { path, in_folder, ..LibraryToLoad::default() };
        libraries.extend(found.into_iter().map(library));
    }
    let named = specs.iter().filter_map(|spec| match &spec.target {
        Target::File(path) => Some(path),
        Target::Name { .. } => None,
    });
    let named = choice.load.iter().chain(named);
    libraries.extend(named.map(|path| LibraryToLoad { path: path.clone(), ..LibraryToLoad::default() }));
    let mut known = Vec::new();
    libraries.retain(|library| {
        // If the file is missing, the error is reported when the file is opened.
        let path = library.path.canonicalize().unwrap_or_else(|_| library.path.clone());
        let is_new = !known.contains(&path);
        known.push(path);
        is_new
    });
    Ok(libraries)
}

fn load(registry: &mut Registry, library: &mut LibraryToLoad, choice: &EmitterChoice) -> Result<(), LoadError> {
    let LibraryToLoad { path, isolation, file, .. } = library;
    let file = file.take().map_or_else(|| PluginFile::read(path), Ok)?;
    if !choice.isolate && !isolation.isolate {
        return registry.load_file(file);
    }
    let program = choice.server.as_ref().ok_or_else(|| LoadError::Unreadable {
        path: path.clone(),
        reason: "cannot find the program fusebox, which is to serve it".into(),
    })?;
    let time = choice.isolate_time.map(|seconds| Duration::from_secs(seconds.get().into()));
    let limits = ProcessLimits {
        time: time.or(isolation.time).unwrap_or(ISOLATED_TIME),
        memory: choice.isolate_memory.or(isolation.memory).unwrap_or(ISOLATED_MEMORY).most(),
    };
    registry.load_file_isolated(file, program, limits)
}
