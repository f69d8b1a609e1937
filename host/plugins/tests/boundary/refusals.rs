//! Checks that the host refuses to load some libraries, and checks the messages for the user.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::Verdict;
use fusebox_plugins::{FoundLibrary, PluginFile, ProcessLimits, Registry};

use crate::built::{hostile, procedural_macro, simple_loop, simple_reduce, with_interface};
use crate::registry_of;

/// Loads a library and returns the error. The registry must remain empty.
fn refusal(library: &Path) -> String {
    let mut registry = Registry::default();
    let message = registry.load_library(library).unwrap_err().to_string();
    assert!(registry.emitters().is_empty());
    assert!(message.lines().count() == 1 && message.len() < 1500, "{message}");
    message
}

/// Writes a file with this content, and returns its path.
fn file(folder: &tempfile::TempDir, name: &str, content: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    path
}

#[test]
fn a_missing_file_is_named() {
    assert!(refusal(Path::new("/nowhere/emitter.so")).starts_with("emitter library /nowhere/emitter.so: No such file"));
}

#[test]
fn a_bare_name_is_a_file_of_the_current_folder() {
    // The system's loader would search for this name among its own libraries.
    assert!(refusal(Path::new("libm.so.6")).contains("No such file"));
}

#[test]
fn garbage_is_no_library() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content, words) in [
        ("empty.so", &b""[..], "not a complete shared library"),
        ("text.so", b"#!/bin/sh\nexit 0\n", "it is no shared library but text; `cargo build --release` writes"),
        ("zip.so", b"PK\x03\x04\xff", "it is no shared library but other data"),
        ("magic.so", b"\x7fELF\x02\x01\x01", "not a complete shared library"),
    ] {
        let message = refusal(&file(&folder, name, content));
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn a_truncated_library_is_refused_at_every_length() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(simple_loop()).unwrap();
    let lengths = (1..16).map(|sixteenths| whole.len() * sixteenths / 16).chain([64, 1000, whole.len() - 1]);
    for length in lengths {
        let message = refusal(&file(&folder, "cut.so", &whole[..length]));
        assert!(message.contains("cut.so"), "{message}");
    }
}

#[test]
fn a_library_without_emitters_is_told_what_it_lacks() {
    assert!(refusal(&procedural_macro()).contains("export_emitters!"));
}

#[test]
fn another_interface_version_names_found_wanted_and_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let of_version = |version| {
        let content = with_interface(std::fs::read(simple_loop()).unwrap(), version);
        refusal(&file(&folder, &format!("interface-{version}.so"), &content))
    };
    let newer = of_version(1999);
    for part in ["simple-loop 0.1.0", "found interface version 1999", "wanted 1000", "update fusebox", "cargo build"] {
        assert!(newer.contains(part), "{newer}");
    }
    let older = of_version(1);
    assert!(older.contains("found interface version 1 "), "{older}");
    // Run the command on a copy of the example's manifest. The path to core in this copy does not
    // exist.
    let command = older.split('`').nth(1).unwrap().replace("FUSEBOX", "/fusebox");
    std::fs::write(
        folder.path().join("Cargo.toml"),
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/out-of-tree-emitter/Cargo.toml")),
    )
    .unwrap();
    let edit = command.split(" && ").next().unwrap();
    assert!(std::process::Command::new("sh").args(["-c", edit]).current_dir(folder.path()).status().unwrap().success());
    let manifest = std::fs::read_to_string(folder.path().join("Cargo.toml")).unwrap();
    assert!(manifest.contains("\nfusebox-core = { path = \"/fusebox/core\" }\n"), "{manifest}");
}

#[test]
fn emitters_of_one_name_and_version_are_refused() {
    let twins = refusal(&hostile("twins"));
    assert!(twins.contains("emitter hostile 0.1.0 is offered twice"), "{twins}");

    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.so");
    std::fs::copy(hostile(""), &copy).unwrap();
    let mut registry = registry_of(&hostile(""));
    let message = registry.load_library(&copy).unwrap_err().to_string();
    assert!(message.contains("is offered twice: by ") && message.contains("copy.so"), "{message}");
    assert_eq!(registry.emitters().len(), 2, "as before");
}

#[test]
fn the_same_file_by_another_path_is_the_same_plugin() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link.so");
    std::os::unix::fs::symlink(hostile(""), &link).unwrap();
    let mut registry = registry_of(&hostile(""));
    registry.load_library(&link).unwrap();
    assert_eq!(registry.emitters().len(), 2);
}

#[test]
fn what_was_read_is_what_is_loaded_whatever_becomes_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plugin.so");
    let serve = Path::new(env!("CARGO_BIN_EXE_serve-emitter"));
    let limits = ProcessLimits { time: Duration::from_secs(20), memory: None };
    for isolated in [false, true] {
        std::fs::copy(simple_loop(), &path).unwrap();
        let file = PluginFile::read(&path).unwrap();
        let sha256 = file.sha256().to_owned();
        assert_eq!(sha256, fusebox_plugins::inspect(&simple_loop()).unwrap().1);
        // Replace the file as a build does, overwrite the file, or remove it.
        std::fs::write(folder.path().join("other.so"), std::fs::read(simple_reduce()).unwrap()).unwrap();
        std::fs::rename(folder.path().join("other.so"), &path).unwrap();
        let mut registry = Registry::default();
        if isolated {
            registry.load_file_isolated(file, serve, limits).unwrap();
        } else {
            registry.load_file(file).unwrap();
        }
        std::fs::remove_file(&path).unwrap();
        let [emitter] = registry.emitters() else { panic!("one emitter is loaded") };
        assert_eq!((emitter.descriptor().name.as_str(), emitter.sha256()), ("simple-loop", Some(sha256.as_str())));
        let verdict = emitter.consider(&crate::fusion_named("f"), &DeviceDescription::cpu(1)).unwrap();
        assert!(matches!(verdict, Verdict::Accept), "{verdict:?}");
    }
}

#[test]
fn a_description_that_panics_or_is_nonsense_is_refused() {
    let panicking = refusal(&hostile("panic"));
    assert!(panicking.contains("it panicked: no description today (at src/lib.rs"), "{panicking}");
    let nameless = refusal(&hostile("nameless"));
    assert!(nameless.contains("names are letters"), "{nameless}");
}

#[test]
fn a_search_path_names_files_and_folders() {
    let folder = tempfile::tempdir().unwrap();
    let (b, a) = (file(&folder, "b.so", b""), file(&folder, "a.so", b""));
    file(&folder, "readme.txt", b"");
    let path = std::env::join_paths([folder.path().as_os_str(), hostile("").as_os_str()]).unwrap();
    let libraries = Registry::libraries_of_search_path(&path).unwrap();
    let found = |path: &Path, in_folder| FoundLibrary { path: std::fs::canonicalize(path).unwrap(), in_folder };
    assert_eq!(libraries, [found(&a, true), found(&b, true), found(&hostile(""), false)]);
    assert!(Registry::libraries_of_search_path("/nowhere".as_ref()).is_err());
}

#[test]
fn only_regular_files_are_looked_into() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo.so");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    assert!(refusal(&fifo).contains("fifo.so: it is a FIFO, and only regular files are loaded"), "{}", refusal(&fifo));
    assert!(refusal(Path::new("/dev/zero")).contains("only regular files are loaded"));
    let limits = ProcessLimits { time: std::time::Duration::from_secs(1), memory: None };
    let isolated = Registry::default().load_isolated(&fifo, Path::new("/bin/false"), limits).unwrap_err();
    assert!(isolated.is_of_another_kind(), "{isolated}");
    // This file is sparse: it has three gigabytes, but takes the disk space of one byte.
    let mut vast = std::fs::File::create(folder.path().join("vast.so")).unwrap();
    std::io::Seek::seek(&mut vast, std::io::SeekFrom::Start(3 << 30)).unwrap();
    std::io::Write::write_all(&mut vast, b"x").unwrap();
    assert!(refusal(&folder.path().join("vast.so")).contains("larger than"));
}
