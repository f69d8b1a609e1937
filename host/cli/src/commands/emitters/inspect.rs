//! `fusebox emitters inspect`: shows what a library states about itself.

use std::io::{self, Write};

use fusebox_core::emitter::Descriptor;
use fusebox_lowering::Target;
use fusebox_plugins::{LoadError, PluginNote};
use fusebox_run::terminal;
use serde_json::{Value, json};

use crate::arguments::Inspect;
use crate::exit::Failure;

pub fn run(arguments: &Inspect) -> Result<(), Failure> {
    let file = &arguments.file;
    let (note, sha256) = fusebox_plugins::inspect(file).map_err(Failure::input)?;
    let facts = LibraryFacts { file: file.display().to_string(), refusal: note.check(file).err(), note, sha256 };
    terminal::print(|out| if arguments.json { writeln!(out, "{}", facts.as_json()) } else { facts.print(out) })?;
    facts.refusal.map_or(Ok(()), |error| Err(Failure::input(error)))
}

struct LibraryFacts {
    file: String,
    note: PluginNote,
    sha256: String,
    /// The reason why fusebox refuses to load the library, if it does.
    refusal: Option<LoadError>,
}

impl LibraryFacts {
    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let LibraryFacts { file, note, sha256, refusal } = self;
        writeln!(out, "file       {file}")?;
        let build = if note.is_optimised { "" } else { ", without optimisation" };
        writeln!(out, "package    {}, with fusebox-core {}{build}", note.package, note.core)?;
        writeln!(out, "interface  {}.{}", note.interface / 1000, note.interface % 1000)?;
        writeln!(out, "sha256     {sha256}")?;
        match refusal {
            None => writeln!(out, "state      can be loaded")?,
            Some(error) => writeln!(out, "state      refused: {error}")?,
        }
        writeln!(out, "targets    those of fusebox ({}); it declines fusion by fusion", Target::names().join(", "))?;
        let Some(emitters) = &note.emitters else {
            return writeln!(
                out,
                "emitters   the file does not say: it is of an older fusebox-core, or `export_emitters!` has no descriptors; \
                 `fusebox emitters --load {file}` asks it, which runs its code"
            );
        };
        emitters.iter().try_for_each(|Descriptor { kind, name, version }| {
            writeln!(out, "emitter    {name} {version}, for fusions of kind {kind}")
        })
    }

    fn as_json(&self) -> Value {
        let LibraryFacts { file, note, sha256, refusal } = self;
        let emitter = |Descriptor { kind, name, version }: &Descriptor| json!({ "kind": kind.0, "name": name, "version": version });
        json!({
            "file": file,
            "package": note.package,
            "core": note.core,
            "optimised": note.is_optimised,
            "interface": note.interface,
            "sha256": sha256,
            "state": if refusal.is_none() { "can be loaded" } else { "refused" },
            "refusal": refusal.as_ref().map(ToString::to_string),
            "targets": Target::names(),
            "emitters": note.emitters.as_ref().map(|emitters| emitters.iter().map(emitter).collect::<Vec<_>>()),
        })
    }
}
