//! A library of an older interface: built from the sources of that time, loaded by today's host.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, INTERFACE_VERSION};
use fusebox_plugins::{Produced, produce};

use crate::built::simple_loop;
use crate::misbehaviour::complaint;
use crate::{fusion_named, isolated_registry_of, registry_of};

/// The last commit of interface 1.0.
const INTERFACE_1000: &str = "801073d9fc066a2eebadf64824c09d6d343776c6";

/// Whoever raises the interface's version has a library of the one before built here too.
#[test]
fn every_older_interface_has_its_library() {
    const OLDER: [&str; 1] = [INTERFACE_1000];
    assert_eq!(OLDER.len() as u32, INTERFACE_VERSION % 1000);
}

/// A crate's library, built with the core of that commit; `None` where the history does not reach back to it.
fn library_of_interface_1000(crate_folder: &str, library: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("interface-1000-{library}"));
    std::fs::create_dir_all(&folder).unwrap();
    let archive = folder.join("sources.tar");
    let taken = Command::new("git")
        .current_dir(&root)
        .args(["archive", "--format=tar", "-o"])
        .arg(&archive)
        .args([INTERFACE_1000, "Cargo.toml", "core", crate_folder])
        .output()
        .unwrap();
    if !taken.status.success() {
        eprintln!("skipped: this checkout's history does not reach back to commit {INTERFACE_1000}");
        return None;
    }
    let unpacked = Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&folder).status().unwrap();
    assert!(unpacked.success());
    // Of the workspace of that time only core is there.
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let (before, members) = manifest.split_once("members = [").unwrap();
    let (_, after) = members.split_once(']').unwrap();
    std::fs::write(folder.join("Cargo.toml"), format!("{before}members = [\"core\"]{after}")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["build", "--locked", "--lib", "--manifest-path"])
        .arg(folder.join(crate_folder).join("Cargo.toml"))
        .arg("--target-dir")
        .arg(folder.join("target"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(folder.join(format!("target/debug/lib{library}.so")))
}

#[test]
fn an_emitter_of_interface_1_0_is_asked_what_it_knows_and_answers_as_ever() {
    let Some(library) = library_of_interface_1000("examples/out-of-tree-emitter", "simple_loop") else { return };
    let (fusion, device) = (fusion_named("f"), DeviceDescription::simt());
    let made = |registry: &fusebox_plugins::Registry| {
        let emitter = &registry.emitters()[0];
        assert!(emitter.anchors().is_empty() && emitter.heroes().is_empty(), "nobody offers it candidates");
        let Produced { mut plan, kernel } = produce(emitter, &fusion, &device, &Configuration::default()).unwrap();
        // An older interface does not tell which line of Rust planned an output or asked for an
        // access.
        plan.outputs.iter_mut().for_each(|output| output.place = None);
        let functions = fusebox_core::ir::parse("f", &kernel.code.to_string()).unwrap();
        (plan, kernel.calls, functions[0].to_string())
    };
    let older = made(&registry_of(&library));
    assert_eq!(older, made(&registry_of(&simple_loop())));
    assert_eq!(older, made(&isolated_registry_of(&library, Duration::from_secs(60))));
}

/// What the hostile emitter of that time can do, and what is said of it.
const DEEDS: [(&str, &str); 9] = [
    ("panic_in_consider", "while considering fusion panic_in_consider: it panicked: considered and found wanting"),
    ("panic_in_plan", "while planning fusion panic_in_plan: it panicked: index out of bounds"),
    ("panic_in_emit", "while emitting fusion panic_in_emit: it panicked: a value that is no text"),
    ("refuse", "not today [at root]"),
    ("out_of_bounds", "of shape [64]: element [64] is outside of [64]"),
    ("overlap", "is reached twice"),
    ("too_many_threads", "the number of threads in a block is 1048576, the device allows 1 to 1024"),
    ("empty", "its kernel is wrong: it has no text"),
    ("foreign_symbol", "function `someone_else.f`: the name must be `foreign_symbol.`"),
];

#[test]
fn a_hostile_emitter_of_interface_1_0_costs_a_message() {
    let Some(library) = library_of_interface_1000("testing/hostile-emitter", "hostile_emitter") else { return };
    let isolated = isolated_registry_of(&library, Duration::from_secs(10));
    for registry in [&registry_of(&library), &isolated] {
        for (name, expected) in DEEDS {
            let message = complaint(registry, name);
            assert!(message.contains(expected), "{name}: {message}");
        }
    }
    for (name, expected) in
        [("abort", "its process died (signal 6)"), ("hang", "did not answer within 10 s and was ended")]
    {
        let message = complaint(&isolated, name);
        assert!(message.contains(expected), "{name}: {message}");
    }
}
