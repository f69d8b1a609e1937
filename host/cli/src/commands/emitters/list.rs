//! `fusebox emitters`: lists all available emitters.

use std::io::{self, Write};
use std::path::Path;

use fusebox_core::emitter::INTERFACE_VERSION;
use fusebox_lowering::Target;
use fusebox_plugins::LoadedEmitter;
use fusebox_run::terminal;
use serde_json::{Value, json};

use crate::arguments::EmittersList;
use crate::emitters;
use crate::exit::Failure;

pub fn run(arguments: &EmittersList) -> Result<(), Failure> {
    let emitters = emitters::choose(&arguments.emitters, Path::new("."))?;
    let found = emitters.registry.emitters();
    Ok(terminal::print(|out| {
        if arguments.json {
            writeln!(out, "{}", Value::Array(found.iter().map(describe).collect()))
        } else {
            found.iter().try_for_each(|emitter| print(out, emitter))
        }
    })?)
}

fn print(out: &mut dyn Write, emitter: &LoadedEmitter) -> io::Result<()> {
    let descriptor = emitter.descriptor();
    let (major, minor) = (INTERFACE_VERSION / 1000, INTERFACE_VERSION % 1000);
    let (kind, name, version) = (&descriptor.kind, &descriptor.name, &descriptor.version);
    write!(out, "{kind:<12} {name:<16} {version:<10} interface {major}.{minor}  {}", emitter.origin())?;
    match emitter.sha256() {
        Some(sha256) => writeln!(out, "  sha256 {sha256}"),
        None => writeln!(out),
    }
}

fn describe(emitter: &LoadedEmitter) -> Value {
    let descriptor = emitter.descriptor();
    json!({
        "kind": descriptor.kind.0,
        "name": descriptor.name,
        "version": descriptor.version,
        "origin": emitter.origin().to_string(),
        "sha256": emitter.sha256(),
        "interface": INTERFACE_VERSION,
        "targets": Target::names(),
    })
}
