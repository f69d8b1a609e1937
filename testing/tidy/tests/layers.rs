//! Checks ARCHITECTURE.md's table of dependencies between crates against `cargo metadata`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Per workspace member: its folder, and the names of all its normal and build dependencies.
fn members() -> BTreeMap<String, (PathBuf, BTreeSet<String>)> {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    packages
        .iter()
        .map(|package| {
            let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_path_buf();
            let dependencies = package["dependencies"].as_array().unwrap().iter();
            let dependencies =
                dependencies.filter(|d| d["kind"] != "dev").map(|d| d["name"].as_str().unwrap().to_string()).collect();
            (package["name"].as_str().unwrap().to_string(), (folder, dependencies))
        })
        .collect()
}

/// The crates of this workspace that a crate may depend on.
fn allowed(name: &str) -> &'static [&'static str] {
    match name {
        "fusebox-core" | "fusebox-files" | "fusebox-tidy" => &[],
        "fusebox-edit" | "fusebox-emission" | "fusebox-lowering" | "fusebox-interpreter" | "fusebox-routines" => {
            &["fusebox-core"]
        }
        "fusebox-plugins" => &["fusebox-core", "fusebox-files"],
        "fusebox-configuration" => &["fusebox-files", "fusebox-plugins"],
        "fusebox-runtime" => &["fusebox-core", "fusebox-files", "fusebox-routines"],
        "fusebox-run" => &["fusebox-core", "fusebox-files", "fusebox-runtime"],
        "fusebox-compiler" => &[
            "fusebox-core",
            "fusebox-edit",
            "fusebox-files",
            "fusebox-interpreter",
            "fusebox-emission",
            "fusebox-lowering",
            "fusebox-plugins",
            "fusebox-routines",
            "fusebox-runtime",
        ],
        _ => &["fusebox-core"],
    }
}

#[test]
fn crates_depend_only_on_what_the_architecture_allows() {
    let members = members();
    for (name, (_, dependencies)) in &members {
        let know_all = ["fusebox", "fusebox-benches", "fusebox-bundle", "fusebox-conformance", "fusebox-fuzz"];
        if know_all.contains(&name.as_str()) || name == "fusebox-workshop" {
            continue;
        }
        for dependency in dependencies.iter().filter(|d| members.contains_key(*d)) {
            assert!(
                allowed(name).contains(&dependency.as_str()),
                "{name} must not depend on {dependency}: see the table of crates in ARCHITECTURE.md"
            );
        }
    }
}

#[test]
fn only_lowering_links_mlir_and_llvm_and_only_plugins_opens_libraries() {
    for (name, (_, dependencies)) in &members() {
        for (dependency, owner) in
            [("melior", "fusebox-lowering"), ("llvm-sys", "fusebox-lowering"), ("libloading", "fusebox-plugins")]
        {
            assert!(
                !dependencies.contains(dependency) || name == owner,
                "{dependency} belongs to {owner}, not to {name}"
            );
        }
    }
}

/// Tests compare programs with the interpreter, so the crates that run programs must not use it,
/// even indirectly.
#[test]
fn what_runs_programs_does_not_reach_the_interpreter() {
    let members = members();
    for start in ["fusebox-runtime", "fusebox-run"] {
        let (mut reached, mut open) = (BTreeSet::new(), vec![start.to_string()]);
        while let Some(name) = open.pop() {
            let known = members.get(&name).map(|(_, dependencies)| dependencies.iter().cloned());
            open.extend(
                known.into_iter().flatten().filter(|it| members.contains_key(it) && reached.insert(it.clone())),
            );
        }
        assert!(!reached.contains("fusebox-interpreter"), "{start} reaches the interpreter");
        assert!(reached.contains("fusebox-routines"), "{start} executes host operations without routines");
    }
}

#[test]
fn architecture_names_every_crate() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for name in members().keys() {
        let named = text.contains(&format!("`{name}`")) || name.starts_with("fusebox-emitter-");
        assert!(named, "ARCHITECTURE.md does not mention {name}");
    }
}

/// Crates without cyclic dependencies between files: a reader can understand a file without its
/// users.
const WITHOUT_CIRCLES: &[&str] = &["host/compiler", "host/emission", "host/cli", "emitters/reduce"];

#[test]
fn files_use_each_other_in_one_direction() {
    for folder in WITHOUT_CIRCLES {
        let mut uses = file_uses(&root().join(folder).join("src"));
        // A file without remaining dependencies is in no cycle.
        while let Some(file) = uses.iter().find(|(_, used)| used.is_empty()).map(|(file, _)| file.clone()) {
            uses.remove(&file);
            for used in uses.values_mut() {
                used.remove(&file);
            }
        }
        assert!(uses.is_empty(), "{folder}: these files need each other: {uses:#?}");
    }
}

/// Per file of a crate, by module path, the files that it names in `use`.
fn file_uses(sources: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let files: BTreeMap<String, String> = sources_below(sources)
        .into_iter()
        .map(|file| {
            let path = file.strip_prefix(sources).unwrap().with_extension("");
            let parts: Vec<&str> = path.iter().map(|part| part.to_str().unwrap()).collect();
            let named = parts.iter().copied().filter(|part| !["mod", "lib", "main"].contains(part));
            (named.collect::<Vec<_>>().join("::"), std::fs::read_to_string(&file).unwrap())
        })
        .collect();
    let known =
        |path: &[&str]| (0..=path.len()).rev().map(|end| path[..end].join("::")).find(|it| files.contains_key(it));
    let mut uses = BTreeMap::new();
    for (file, text) in &files {
        let own: Vec<&str> = file.split("::").filter(|part| !part.is_empty()).collect();
        let code = text.split("#[cfg(test)]").next().unwrap_or("");
        let statements =
            code.split(';').filter_map(|statement| statement.trim().rsplit_once("use ")).map(|(_, path)| path);
        let used = statements.flat_map(|statement| {
            let (stem, leaves) = statement.split_once('{').unwrap_or((statement, ""));
            let leaves = leaves.split([',', '}']).map(str::trim);
            let leaves: Vec<&str> = leaves.filter(|leaf| !leaf.is_empty()).collect();
            let leaves = if leaves.is_empty() { vec![""] } else { leaves };
            leaves.into_iter().filter_map(|leaf| known(&absolute(&own, stem, leaf)?)).collect::<Vec<_>>()
        });
        let used: BTreeSet<String> = used.filter(|used| used != file && !used.is_empty()).collect();
        uses.insert(file.clone(), used);
    }
    uses
}

/// The path from the crate's root that a `use` names; `None` if it names another crate.
fn absolute<'p>(own: &[&'p str], stem: &'p str, leaf: &'p str) -> Option<Vec<&'p str>> {
    let mut path = own.to_vec();
    let mut parts = stem.split("::").chain(leaf.split("::")).map(str::trim).filter(|part| !part.is_empty()).peekable();
    match parts.next()? {
        "crate" => path.clear(),
        "super" => drop(path.pop()),
        _ => return None,
    }
    while parts.next_if_eq(&"super").is_some() {
        path.pop();
    }
    path.extend(parts);
    Some(path)
}

fn sources_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| if path.is_dir() { sources_below(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|it| it == "rs") && !path.ends_with("tests.rs")).collect()
}
