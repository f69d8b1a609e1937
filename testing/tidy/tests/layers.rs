//! Who may depend on whom: ARCHITECTURE.md's table of crates, checked against `cargo metadata`.

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

/// Per workspace member: folder, and the names of all its normal and build dependencies.
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
        "fusebox-emission" | "fusebox-lowering" | "fusebox-interpreter" => &["fusebox-core"],
        "fusebox-plugins" => &["fusebox-core", "fusebox-files"],
        "fusebox-runtime" => &["fusebox-core", "fusebox-files", "fusebox-interpreter"],
        "fusebox-run" => &["fusebox-core", "fusebox-files", "fusebox-runtime"],
        "fusebox-compiler" => &[
            "fusebox-core",
            "fusebox-files",
            "fusebox-interpreter",
            "fusebox-emission",
            "fusebox-lowering",
            "fusebox-plugins",
            "fusebox-runtime",
        ],
        _ => &["fusebox-core"],
    }
}

#[test]
fn crates_depend_only_on_what_the_architecture_allows() {
    let members = members();
    for (name, (_, dependencies)) in &members {
        if ["fusebox", "fusebox-benches", "fusebox-bundle", "fusebox-conformance", "fusebox-fuzz"]
            .contains(&name.as_str())
        {
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

#[test]
fn architecture_names_every_crate() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for name in members().keys() {
        let named = text.contains(&format!("`{name}`")) || name.starts_with("fusebox-emitter-");
        assert!(named, "ARCHITECTURE.md does not mention {name}");
    }
}
