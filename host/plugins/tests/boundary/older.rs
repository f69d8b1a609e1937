//! A library of an older interface: built from the sources of that time, loaded by today's host.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, INTERFACE_VERSION};
use fusebox_plugins::{Produced, produce};

use crate::built::simple_loop;
use crate::{fusion_named, isolated_registry_of, registry_of};

/// The last commit of interface 1.0.
const INTERFACE_1000: &str = "801073d9fc066a2eebadf64824c09d6d343776c6";

/// Whoever raises the interface's version has a library of the one before built here too.
#[test]
fn every_older_interface_has_its_library() {
    const OLDER: [&str; 1] = [INTERFACE_1000];
    assert_eq!(OLDER.len() as u32, INTERFACE_VERSION % 1000);
}

/// The example emitter and the core of that commit, built; `None` where the history does not reach back to it.
fn library_of_interface_1000() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("interface-1000");
    std::fs::create_dir_all(&folder).unwrap();
    let archive = folder.join("sources.tar");
    let taken = Command::new("git")
        .current_dir(&root)
        .args(["archive", "--format=tar", "-o"])
        .arg(&archive)
        .args([INTERFACE_1000, "Cargo.toml", "core", "examples/out-of-tree-emitter"])
        .output()
        .unwrap();
    if !taken.status.success() {
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
        .arg(folder.join("examples/out-of-tree-emitter/Cargo.toml"))
        .arg("--target-dir")
        .arg(folder.join("target"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(folder.join("target/debug/libsimple_loop.so"))
}

#[test]
fn an_emitter_of_interface_1_0_is_asked_what_it_knows_and_answers_as_ever() {
    let Some(library) = library_of_interface_1000() else {
        eprintln!("skipped: this checkout's history does not reach back to commit {INTERFACE_1000}");
        return;
    };
    let (fusion, device) = (fusion_named("f"), DeviceDescription::simt());
    let made = |registry: &fusebox_plugins::Registry| {
        let emitter = &registry.emitters()[0];
        assert!(emitter.anchors().is_empty() && emitter.heroes().is_empty(), "nobody offers it candidates");
        let Produced { plan, kernel } = produce(emitter, &fusion, &device, &Configuration::default()).unwrap();
        // An older builder does not write down which line of Rust asked for an access.
        let functions = fusebox_core::ir::parse("f", &kernel.code.to_string()).unwrap();
        (plan, kernel.calls, functions[0].to_string())
    };
    let older = made(&registry_of(&library));
    assert_eq!(older, made(&registry_of(&simple_loop())));
    assert_eq!(older, made(&isolated_registry_of(&library, Duration::from_secs(60))));
}
