//! Rules on source files.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Tracked and untracked, not ignored, Rust files, relative to the root.
fn rust_files() -> Vec<String> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "*.rs"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    let files = String::from_utf8(output.stdout).unwrap();
    files.lines().map(String::from).filter(|f| root().join(f).exists()).collect()
}

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap()
}

#[test]
fn every_file_says_what_it_is_about() {
    let silent: Vec<_> = rust_files().into_iter().filter(|f| !read(f).contains("//!")).collect();
    assert!(silent.is_empty(), "these files lack a `//!` line: {silent:?}");
}

#[test]
fn names_say_something() {
    const EMPTY: [&str; 8] = ["utils", "util", "helpers", "common", "misc", "manager", "base", "tools"];
    for file in rust_files() {
        let path = Path::new(&file);
        let stem = path.file_stem().unwrap().to_str().unwrap();
        assert!(!EMPTY.contains(&stem), "{file}: name the file after its subject");
        let unnamed = path.components().any(|c| EMPTY.contains(&c.as_os_str().to_str().unwrap()));
        assert!(!unnamed, "{file}: name the folder after its subject");
    }
}

/// The bundle is the one place in `host/` that knows emitters by name.
#[test]
fn host_names_no_emitter() {
    for file in rust_files()
        .into_iter()
        .filter(|f| f.starts_with("host/") && !f.starts_with("host/bundle/") && !f.contains("/tests/"))
    {
        assert!(!read(&file).contains("fusebox_emitter_"), "{file} names an emitter crate; only host/bundle may");
    }
}

/// Long files have more than one subject more often than not. Tests count less than code.
#[test]
fn files_stay_readable() {
    let long: Vec<_> = rust_files()
        .into_iter()
        .map(|f| (read(&f).split("#[cfg(test)]\nmod tests").next().unwrap_or("").lines().count(), f))
        .filter(|(lines, _)| *lines > 800)
        .collect();
    assert!(long.is_empty(), "over 800 lines without their tests; does each have one subject? {long:?}");
}

/// Nothing in the project may depend on where it was written.
#[test]
fn no_absolute_paths_of_a_developers_machine() {
    for file in rust_files().into_iter().filter(|f| !f.starts_with("testing/tidy/")) {
        for prefix in ["\"/home/", "\"/root/", "\"/Users/"] {
            assert!(!read(&file).contains(prefix), "{file} holds the path {prefix}…");
        }
    }
}
