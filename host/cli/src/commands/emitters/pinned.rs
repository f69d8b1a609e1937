//! `fusebox emitters verify` compares the plugins of `fusebox.toml` with `fusebox.lock`. `fusebox
//! emitters lock` pins these plugins in `fusebox.lock`.

use std::path::Path;

use fusebox_choices::how_to_pin;
use fusebox_configuration::{FILE_NAME, Lock, PinState, Plugin, Settings};
use fusebox_core::emitter::Descriptor;
use fusebox_plugins::{LoadError, inspect};
use fusebox_run::terminal;
use serde_json::{Value, json};

use crate::arguments::PinnedArguments;
use crate::emitters;
use crate::exit::Failure;

/// A plugin and the present state of its file.
struct PinnedPlugin<'s> {
    plugin: &'s Plugin,
    /// SHA-256 of the file, and the emitters that the file describes; or the reason why fusebox
    /// would refuse to load the file.
    file: Result<(String, Vec<Descriptor>), LoadError>,
}

/// Prints for each plugin whether its file can be loaded and equals the pinned file. Fails if one
/// of the plugins has a fault.
pub fn verify(arguments: &PinnedArguments) -> Result<(), Failure> {
    let settings = settings(arguments)?;
    let lock = Lock::of_settings(&settings.path).map_err(Failure::input)?;
    let found = find(&settings);
    let faults: Vec<Option<String>> = (0..found.len()).map(|number| fault(&lock, &found, number)).collect();
    terminal::print(|out| {
        if arguments.json {
            let all = found.iter().zip(&faults).map(|(found, fault)| describe(found, fault.as_deref()));
            writeln!(out, "{}", Value::Array(all.collect()))
        } else {
            found.iter().zip(&faults).try_for_each(|(found, fault)| {
                let Plugin { name, library, .. } = found.plugin;
                match fault {
                    None => writeln!(out, "{name}: as pinned: {}", library.display()),
                    Some(fault) => writeln!(out, "{name}: {fault}"),
                }
            })
        }
    })?;
    match faults.iter().flatten().count() {
        0 => Ok(()),
        count => {
            let (all, file) = (found.len(), settings.path.display());
            Err(Failure::input(format!("{count} of {all} plugins of {file} cannot be used as they are")))
        }
    }
}

/// Pins the present files of all plugins.
pub fn lock(arguments: &PinnedArguments) -> Result<(), Failure> {
    let settings = settings(arguments)?;
    let mut lock = Lock::of_settings(&settings.path).map_err(Failure::input)?;
    let found = find(&settings);
    for (number, PinnedPlugin { plugin, file }) in found.iter().enumerate() {
        let refused = |reason: &dyn ToString| {
            Failure::at(&plugin.place, format!("plugin `{}`: {}", plugin.name, reason.to_string()))
        };
        let (sha256, _) = file.as_ref().map_err(|error| refused(error))?;
        if let Some(twin) = twin(&found, number) {
            return Err(refused(&twin));
        }
        lock.pin(&plugin.name, sha256);
    }
    lock.keep(settings.plugins.iter().map(|plugin| plugin.name.as_str()));
    lock.write()?;
    Ok(terminal::print(|out| {
        if arguments.json {
            writeln!(out, "{}", Value::Array(found.iter().map(|found| describe(found, None)).collect()))
        } else {
            writeln!(out, "{} plugins are pinned in {}", found.len(), lock.path().display())
        }
    })?)
}

fn settings(arguments: &PinnedArguments) -> Result<Settings, Failure> {
    let settings = emitters::settings(arguments.config.as_deref(), Path::new("."))?;
    settings.ok_or_else(|| {
        Failure::input(format!(
            "there is no {FILE_NAME} here or above; docs/configuration.md says what to write in one"
        ))
    })
}

fn find(settings: &Settings) -> Vec<PinnedPlugin<'_>> {
    let read = |plugin: &Plugin| {
        let (note, sha256) = inspect(&plugin.library)?;
        note.check(&plugin.library)?;
        Ok((sha256, note.emitters.unwrap_or_default()))
    };
    settings.plugins.iter().map(|plugin| PinnedPlugin { plugin, file: read(plugin) }).collect()
}

/// Returns the reason why a plugin cannot be used, if there is one.
fn fault(lock: &Lock, found: &[PinnedPlugin], number: usize) -> Option<String> {
    let PinnedPlugin { plugin, file } = &found[number];
    let sha256 = match file {
        Ok((sha256, _)) => sha256,
        Err(error) => return Some(format!("refused: {error}")),
    };
    match lock.state(&plugin.name, sha256) {
        PinState::Pinned => twin(found, number),
        state @ PinState::Unpinned => {
            Some(format!("not pinned: {}", how_to_pin(lock, &plugin.library, sha256, &state)))
        }
        state => Some(format!("changed: {}", how_to_pin(lock, &plugin.library, sha256, &state))),
    }
}

/// Returns an error text if an earlier plugin contains an emitter with the name and version of one
/// of this plugin's emitters.
fn twin(found: &[PinnedPlugin], number: usize) -> Option<String> {
    let emitters =
        |found: &PinnedPlugin| found.file.as_ref().map_or_else(|_| Vec::new(), |(_, emitters)| emitters.clone());
    let own = emitters(&found[number]);
    found[..number].iter().find_map(|other| {
        let is_same = |a: &Descriptor, b: &Descriptor| (&a.name, &a.version) == (&b.name, &b.version);
        let twin = own.iter().find(|own| emitters(other).iter().any(|other| is_same(own, other)))?;
        let error = LoadError::Duplicate {
            name: twin.name.clone(),
            version: twin.version.clone(),
            first: format!("plugin `{}`", other.plugin.name),
            second: format!("plugin `{}`", found[number].plugin.name),
        };
        Some(error.to_string())
    })
}

fn describe(found: &PinnedPlugin, fault: Option<&str>) -> Value {
    let PinnedPlugin { plugin, file } = found;
    json!({
        "plugin": plugin.name,
        "file": plugin.library,
        "place": plugin.place.to_string(),
        "sha256": file.as_ref().ok().map(|(sha256, _)| sha256),
        "state": fault.unwrap_or("as pinned"),
    })
}
