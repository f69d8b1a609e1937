//! Checks libraries of older interfaces. They are built from the sources of the old version, and
//! the present host loads them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, INTERFACE_VERSION};
use fusebox_plugins::{Produced, produce};

use crate::built::simple_loop;
use crate::misbehaviour::complaint;
use crate::{fusion_named, isolated_registry_of, registry_of};

/// The last commit of each older interface, beginning with interface 1.0. If the interface version
/// is raised, a commit must be added.
const OLDER: [&str; (INTERFACE_VERSION % 1000) as usize] = [];

/// Builds the library of a crate with the core of this commit. Returns `None` if the local history
/// does not contain the commit.
fn library_of(commit: &str, crate_folder: &str, library: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{commit}-{library}"));
    std::fs::create_dir_all(&folder).unwrap();
    let archive = folder.join("sources.tar");
    let taken = Command::new("git")
        .current_dir(&root)
        .args(["archive", "--format=tar", "-o"])
        .arg(&archive)
        .args([commit, "Cargo.toml", "core", crate_folder])
        .output()
        .unwrap();
    if !taken.status.success() {
        eprintln!("skipped: this checkout's history does not reach back to commit {commit}");
        return None;
    }
    let unpacked = Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&folder).status().unwrap();
    assert!(unpacked.success());
    // The archive contains only `core` of the old workspace.
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
fn an_emitter_of_an_older_interface_answers_as_ever() {
    let (fusion, device) = (fusion_named("f"), DeviceDescription::simt());
    let made = |registry: &fusebox_plugins::Registry| {
        let Produced { plan, kernel } =
            produce(&registry.emitters()[0], &fusion, &device, &Configuration::default()).unwrap();
        let functions = fusebox_kernel_text::parse("f", &kernel.code.to_string()).unwrap();
        (plan, kernel.calls, functions[0].to_string())
    };
    for commit in OLDER {
        let Some(library) = library_of(commit, "examples/out-of-tree-emitter", "simple_loop") else { continue };
        let older = made(&registry_of(&library));
        assert_eq!(older, made(&registry_of(&simple_loop())), "{commit}");
        assert_eq!(older, made(&isolated_registry_of(&library, Duration::from_secs(60))), "{commit}");
    }
}

/// Misdeeds of the hostile emitters of all interfaces, and the messages for these misdeeds.
const DEEDS: [(&str, &str); 9] = [
    ("panic_in_consider", "while considering fusion panic_in_consider: it panicked: considered and found wanting"),
    ("panic_in_plan", "while planning fusion panic_in_plan: it panicked: index out of bounds"),
    ("panic_in_emit", "while emitting fusion panic_in_emit: it panicked: a value that is no text"),
    ("refuse", "not today [at root]"),
    ("out_of_bounds", "of shape [64]: element [64] is outside of [64]"),
    ("overlap", "is reached twice"),
    ("too_many_threads", "the number of threads in a block is 1048576, but the device allows 1 to 1024"),
    ("empty", "the kernel is wrong: it has no text"),
    ("foreign_symbol", "function `someone_else.f`: the name must be `foreign_symbol.`"),
];

#[test]
fn a_hostile_emitter_of_an_older_interface_costs_a_message() {
    for commit in OLDER {
        let Some(library) = library_of(commit, "testing/hostile-emitter", "hostile_emitter") else { continue };
        let isolated = isolated_registry_of(&library, Duration::from_secs(10));
        for registry in [&registry_of(&library), &isolated] {
            for (name, expected) in DEEDS {
                let message = complaint(registry, name);
                assert!(message.contains(expected), "{commit}, {name}: {message}");
            }
        }
        for (name, expected) in
            [("abort", "its process died (signal 6)"), ("hang", "did not answer within 10 s and was ended")]
        {
            let message = complaint(&isolated, name);
            assert!(message.contains(expected), "{commit}, {name}: {message}");
        }
    }
}
