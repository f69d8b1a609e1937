//! Checks rules for source files.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Returns all Rust files except those that git ignores, relative to the root.
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

/// Checks that only the bundle names emitters in `host/`.
#[test]
fn host_names_no_emitter() {
    for file in rust_files()
        .into_iter()
        .filter(|f| f.starts_with("host/") && !f.starts_with("host/bundle/") && !f.contains("/tests/"))
    {
        assert!(!read(&file).contains("fusebox_emitter_"), "{file} names an emitter crate; only host/bundle may");
    }
}

/// Checks that fusion names no operations that emitters can claim. Fusion may name some other
/// operations: instructions that compute nothing, control flow, and instructions that can be
/// duplicated without cost.
#[test]
fn fusion_names_no_operation_that_emitters_ask_for() {
    const FACTS: [&str; 11] = [
        "AfterAll",
        "Broadcast",
        "Conditional",
        "Constant",
        "Fusion",
        "GetTupleElement",
        "Iota",
        "Parameter",
        "Reshape",
        "Tuple",
        "While",
    ];
    let lines = code_lines(&["host/compiler/src/fuse/"]);
    assert!(lines.len() > 1000, "fusion has moved elsewhere: {} lines left", lines.len());
    for (file, number, line) in lines.iter().filter(|(file, ..)| !file.ends_with("tests.rs")) {
        for place in ["Op::", "Opcode::"].iter().flat_map(|prefix| line.split(prefix).skip(1)) {
            let name: String = place.chars().take_while(char::is_ascii_alphanumeric).collect();
            let is_variant = name.starts_with(|c: char| c.is_ascii_uppercase());
            assert!(
                !is_variant || FACTS.contains(&name.as_str()),
                "{file}:{number} decides by {name}; ask emitters (`claims.rs`)"
            );
        }
    }
}

/// Checks that a crate without unsafe code forbids unsafe code in its root file.
#[test]
fn crates_without_unsafe_code_forbid_it() {
    let is_root = |file: &&String| file.ends_with("src/lib.rs") || file.ends_with("src/main.rs");
    let files = rust_files();
    let needs_it = |folder: &str| {
        let code = |file: &&String| file.starts_with(folder) && !file.contains("/tests/");
        let words = ["unsafe {", "unsafe impl", "unsafe fn", "unsafe extern", "#[unsafe("];
        files.iter().filter(code).any(|file| words.iter().any(|word| read(file).contains(word)))
    };
    let open: Vec<&String> = files
        .iter()
        .filter(is_root)
        .filter(|file| !read(file).contains("#![forbid(unsafe_code)]"))
        .filter(|file| !needs_it(file.rsplit_once('/').map_or("", |(folder, _)| folder)))
        .collect();
    assert!(open.is_empty(), "these need no unsafe code and do not forbid it: {open:?}");
}

/// Limits the length of files, because long files usually have more than one subject. Lines of
/// inline tests do not count.
#[test]
fn files_stay_readable() {
    let long: Vec<_> = rust_files()
        .into_iter()
        .map(|f| (read(&f).split("#[cfg(test)]\nmod tests").next().unwrap_or("").lines().count(), f))
        .filter(|(lines, _)| *lines > 800)
        .collect();
    assert!(long.is_empty(), "over 800 lines without their tests; does each have one subject? {long:?}");
}

/// Checks that no file contains the path of the project's folder.
#[test]
fn no_absolute_paths_of_a_developers_machine() {
    for file in rust_files().into_iter().filter(|f| !f.starts_with("testing/tidy/")) {
        for prefix in ["\"/home/", "\"/root/", "\"/Users/"] {
            assert!(!read(&file).contains(prefix), "{file} holds the path {prefix}…");
        }
    }
}

/// Returns the lines of code in the crates' sources, without tests. Each line has its file, its
/// number and its text.
fn code_lines(folders: &[&str]) -> Vec<(String, usize, String)> {
    let is_own = |file: &String| {
        folders.iter().any(|folder| file.starts_with(folder)) && file.contains("/src/") && !file.ends_with("tests.rs")
    };
    let lines = |file: String| {
        let text = read(&file);
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("").lines().enumerate();
        let code: Vec<_> = code.map(|(at, line)| (file.clone(), at + 1, line.trim().to_string())).collect();
        code
    };
    let lines = rust_files().into_iter().filter(is_own).flat_map(lines);
    lines.filter(|(_, _, line)| !line.starts_with("//")).collect()
}

fn assert_only_in(owners: &[&str], folders: &[&str], calls: &[&str], instead: &str) {
    let stray: Vec<_> = code_lines(folders)
        .into_iter()
        .filter(|(file, _, line)| {
            !owners.iter().any(|owner| file.starts_with(owner)) && calls.iter().any(|call| line.contains(call))
        })
        .map(|(file, number, line)| format!("{file}:{number}: {line}"))
        .collect();
    assert!(stray.is_empty(), "{instead}:\n{}", stray.join("\n"));
}

/// Checks that only one crate writes files. This crate writes a file completely or not at all.
#[test]
fn only_host_files_writes_files() {
    let calls = ["fs::write(", "File::create", "OpenOptions", "File::options", "fs::rename(", "fs::copy("];
    assert_only_in(
        &["host/files/", "host/conformance/src/assembler.rs"],
        &["host/", "core/"],
        &calls,
        "write through fusebox_files::replace",
    );
}

/// Checks that only one crate opens the user's files. This crate reads only regular files of
/// limited size.
#[test]
fn only_host_files_opens_the_users_files() {
    let calls = ["fs::read(", "fs::read_to_string(", "File::open("];
    // Files of the system are no files of the user.
    let owners = ["host/files/", "host/workshop/src/measure/disturbance.rs", "host/workshop/src/tune/stored.rs"];
    assert_only_in(&owners, &["host/", "core/"], &calls, "read through fusebox_files");
}

/// Checks that only the terminal prints. `println!` panics if standard output is full or closed,
/// and `eprintln!` in a panic ends the process.
#[test]
fn only_the_terminal_prints() {
    let calls = ["println!(", "print!(", "io::stderr().write", "writeln!(io::std", "dbg!("];
    let instead = "print through fusebox_run::terminal";
    assert_only_in(
        &["host/run/src/terminal.rs", "host/conformance/src/assembler.rs"],
        &["host/", "core/"],
        &calls,
        instead,
    );
}

/// Checks that only one crate creates instructions. This crate infers shapes, makes names unique,
/// applies one rule to attributes, and keeps the ids of computations stable.
#[test]
fn only_host_edit_makes_instructions() {
    let calls =
        ["Instruction::new(", "Shape::array(", "ArrayShape::new(", "ArrayShape {", "called_mut(", "parse_module"];
    let folders = ["host/compiler/src/passes/", "host/compiler/src/fuse/", "host/compiler/src/schedule/"];
    assert_only_in(&[], &folders, &calls, "change HLO through fusebox_edit");
}
