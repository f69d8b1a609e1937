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

/// Returns, for each member of the workspace, its folder and the names of its normal and build
/// dependencies.
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

/// Returns the crates of this workspace on which a crate may depend.
fn allowed(name: &str) -> &'static [&'static str] {
    match name {
        "fusebox-hlo" | "fusebox-files" | "fusebox-ptx" | "fusebox-thunks" | "fusebox-tidy" => &[],
        "fusebox-indexing" => &["fusebox-hlo"],
        "software-cuda" => &["fusebox-ptx"],
        "fusebox-kernel-ir" => &["fusebox-hlo", "fusebox-indexing"],
        "fusebox-core" => &["fusebox-hlo", "fusebox-indexing", "fusebox-kernel-ir"],
        "fusebox-lowering" => &["fusebox-core", "fusebox-kernel-text", "fusebox-thunks"],
        "fusebox-plugins" => &["fusebox-core", "fusebox-files", "fusebox-prediction"],
        "fusebox-stablehlo" => &["fusebox-core", "fusebox-edit"],
        "fusebox-configuration" => &["fusebox-files", "fusebox-plugins"],
        "fusebox-runtime" => &["fusebox-core", "fusebox-files", "fusebox-routines", "fusebox-thunks"],
        "fusebox-run" => &["fusebox-core", "fusebox-features", "fusebox-files", "fusebox-runtime"],
        "fusebox-features" => &["fusebox-compiler", "fusebox-core"],
        "fusebox-compiler" => &[
            "fusebox-core",
            "fusebox-edit",
            "fusebox-files",
            "fusebox-emission",
            "fusebox-lowering",
            "fusebox-plugins",
            "fusebox-prediction",
            "fusebox-routines",
            "fusebox-runtime",
            "fusebox-stablehlo",
            "fusebox-thunks",
        ],
        _ => &["fusebox-core"],
    }
}

#[test]
fn crates_depend_only_on_what_the_architecture_allows() {
    let members = members();
    for (name, (_, dependencies)) in &members {
        let know_all = [
            "fusebox",
            "fusebox-benches",
            "fusebox-bundle",
            "fusebox-choices",
            "fusebox-conformance",
            "fusebox-fuzz",
            "fusebox-pjrt",
        ];
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

/// Checks that the crates that compile and run programs do not use the interpreter, even
/// indirectly. Tests compare the results of programs with those of the interpreter, so the two must
/// be independent.
#[test]
fn what_compiles_and_runs_programs_does_not_reach_the_interpreter() {
    let members = members();
    for start in ["fusebox-compiler", "fusebox-runtime", "fusebox-run"] {
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

/// No files use each other, directly or through other files, so a reader can understand a file
/// without the files that use it.
#[test]
fn files_use_each_other_in_one_direction() {
    let mut faults = Vec::new();
    for (name, (folder, _)) in members() {
        let sources = folder.join("src");
        if !sources.is_dir() {
            continue;
        }
        let uses = file_uses(&sources);
        let in_circles: Vec<&String> = uses.keys().filter(|file| reachable(&uses, file).contains(*file)).collect();
        if !in_circles.is_empty() {
            faults.push(format!("{name}: these files need each other: {in_circles:?}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Manifests say `test = false` for libraries and programs without tests of their own, because
/// cargo would compile them a second time, as test programs. A test in such a library would not
/// run.
#[test]
fn every_test_is_in_a_target_that_cargo_tests() {
    for package in metadata()["packages"].as_array().unwrap() {
        let targets = package["targets"].as_array().unwrap();
        let is_kind = |target: &Value, kind: &str| target["kind"].as_array().unwrap().iter().any(|it| it == kind);
        let library = targets.iter().find(|it| is_kind(it, "lib") || is_kind(it, "rlib"));
        let tested = library.is_some_and(|it| it["test"] == true);
        for target in targets.iter().filter(|it| it["test"] == false && !is_kind(it, "custom-build")) {
            let file = Path::new(target["src_path"].as_str().unwrap());
            let files = if tested { vec![file.to_path_buf()] } else { rust_files_below(file.parent().unwrap()) };
            let has_test = |file: &&PathBuf| std::fs::read_to_string(file).unwrap().contains("#[test]");
            let found: Vec<_> = files.iter().filter(has_test).collect();
            assert!(found.is_empty(), "{}: remove `test = false`, {found:?} have tests", package["name"]);
        }
    }
}

/// Crates whose folders have an order: each folder uses only the folders before it.
const FOLDERS_IN_ORDER: &[(&str, &[&str])] = &[(
    "fusebox-runtime",
    &["executable", "processor", "values", "code", "machine", "device", "buffer", "loaded", "measurement"],
)];

#[test]
fn folders_use_only_the_folders_before_them() {
    let members = members();
    for (name, folders) in FOLDERS_IN_ORDER {
        let sources = members[*name].0.join("src");
        let place = |file: &str| folders.iter().position(|folder| file.split("::").next() == Some(folder));
        let uses = file_uses(&sources);
        assert!(folders.iter().all(|folder| uses.contains_key(*folder)), "{name} has no such folders");
        for (file, used) in uses.iter().flat_map(|(file, used)| used.iter().map(move |used| (file, used))) {
            let (Some(own), Some(other)) = (place(file), place(used)) else { continue };
            assert!(other <= own, "{name}: {file} uses {used}, whose folder comes later");
        }
    }
}

/// Returns the files that a file uses, directly or through other files.
fn reachable(uses: &BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<String> {
    let (mut found, mut open) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(file) = open.pop() {
        let new = uses.get(&file).into_iter().flatten().filter(|used| found.insert((*used).clone()));
        open.extend(new.cloned().collect::<Vec<_>>());
    }
    found
}

/// Returns, for each file of a crate, the files that it names. Files are identified by module
/// paths. Files that only the tests of a file name are left out. If a module re-exports a name, the
/// name counts for the file that defines it.
fn file_uses(sources: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let files: BTreeMap<String, String> = sources_below(sources)
        .into_iter()
        .map(|file| {
            let path = file.strip_prefix(sources).unwrap().with_extension("");
            let parts: Vec<&str> = path.iter().map(|part| part.to_str().unwrap()).collect();
            let named = parts.iter().copied().filter(|part| !["mod", "lib", "main"].contains(part));
            (named.collect::<Vec<_>>().join("::"), without_tests(&std::fs::read_to_string(&file).unwrap()))
        })
        .collect();
    let known =
        |path: &[String]| (0..=path.len()).rev().map(|end| path[..end].join("::")).find(|it| files.contains_key(it));
    // Maps each pair of a file and a name that it re-exports to the file from which the name comes.
    let mut exports: BTreeMap<(String, String), String> = BTreeMap::new();
    for (file, text) in &files {
        for path in text.split(';').filter_map(|it| exported(it)).flat_map(|it| paths(file, it, true)) {
            if let (Some(from), Some(name)) = (known(&path), path.last()) {
                exports.insert((file.clone(), name.clone()), from);
            }
        }
    }
    let resolved = |path: &[String]| {
        let mut file = known(path)?;
        // Follow at most this many re-exports.
        for _ in 0..8 {
            let depth = file.split("::").filter(|part| !part.is_empty()).count();
            let Some(from) = path
                .get(depth..)
                .and_then(|rest| rest.first())
                .and_then(|name| exports.get(&(file.clone(), name.clone())))
            else {
                break;
            };
            file.clone_from(from);
        }
        Some(file)
    };
    let mut uses = BTreeMap::new();
    for (file, text) in &files {
        let statements = text.split(';').filter(|it| exported(it).is_none());
        let statements = statements.filter_map(|it| it.trim().rsplit_once("use ")).map(|(_, path)| path);
        let in_statements = statements.flat_map(|statement| paths(file, statement, false));
        let in_code = text.split("crate::").skip(1).filter_map(|rest| {
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(rest.len());
            let path: Vec<String> =
                rest[..end].split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
            (!path.is_empty()).then_some(path)
        });
        let used = in_statements.chain(in_code).filter_map(|path| resolved(&path));
        let used: BTreeSet<String> = used.filter(|used| used != file && !used.is_empty()).collect();
        uses.insert(file.clone(), used);
    }
    uses
}

/// Returns the path of a statement that re-exports names.
fn exported(statement: &str) -> Option<&str> {
    let statement = statement.rsplit_once("\n\n").map_or(statement, |(_, last)| last).trim();
    let line = statement.rfind("pub").map(|at| &statement[at..])?;
    let (head, path) = line.split_once("use ")?;
    ["pub ", "pub(crate) ", "pub(super) "].contains(&head).then_some(path)
}

/// Returns the paths that a `use` of a file names, from the root of the crate. A path may begin
/// with neither `crate` nor `super`. If `is_relative`, such a path begins in the module of the
/// file, else it begins with the name of another crate.
fn paths(file: &str, statement: &str, is_relative: bool) -> Vec<Vec<String>> {
    let own: Vec<&str> = file.split("::").filter(|part| !part.is_empty()).collect();
    let (stem, leaves) = statement.split_once('{').unwrap_or((statement, ""));
    let leaves = leaves.split([',', '}']).map(str::trim);
    let leaves: Vec<&str> = leaves.filter(|leaf| !leaf.is_empty()).collect();
    let leaves = if leaves.is_empty() { vec![""] } else { leaves };
    let path = |leaf: &str| {
        let inside = is_relative.then(|| [&own[..], &[stem, leaf]].concat());
        let path =
            absolute(&own, stem, leaf).or_else(|| Some(inside?.iter().flat_map(|part| part.split("::")).collect()));
        Some(path?.into_iter().filter(|part| !part.is_empty()).map(str::to_owned).collect())
    };
    leaves.into_iter().filter_map(path).collect()
}

/// Returns the code of a file without comments, and without the items below `#[cfg(test)]`.
fn without_tests(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    while let Some(line) = lines.next() {
        if line.trim() != "#[cfg(test)]" {
            code += line;
            code.push('\n');
            continue;
        }
        // The item ends at the end of its first line, or at a closing brace in the column where the
        // item begins.
        let indent = line.len() - line.trim_start().len();
        let first = lines.next().unwrap_or_default();
        if !first.trim_end().ends_with(';') {
            lines.by_ref().find(|line| line.trim() == "}" && line.len() - 1 == indent);
        }
    }
    code
}

/// Returns the path that a `use` names, from the root of the crate. Returns `None` if the `use`
/// names another crate.
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

/// Returns the Rust files below a folder, without files that contain only unit tests.
fn sources_below(folder: &Path) -> Vec<PathBuf> {
    rust_files_below(folder).into_iter().filter(|path| !path.ends_with("tests.rs")).collect()
}

fn rust_files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| if path.is_dir() { rust_files_below(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|it| it == "rs")).collect()
}
