//! Checks that all commands build the dependencies with the same features. Otherwise a command
//! builds crates again that another command has built.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// The crate that enables features.
const ENABLES: &str = "fusebox-features ";

/// Maps each package to the sets of features with which a command builds it. Programs and macros
/// that run during the build can have another set than libraries.
type Features = BTreeMap<String, BTreeSet<String>>;

fn features(arguments: &[&str]) -> Features {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "--prefix=none", "--format={p}|{f}"])
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .unwrap();
    assert!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    let mut features = Features::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let Some((package, of_package)) = line.split_once('|') else { continue };
        let package = package.replace(" (proc-macro)", "");
        features.entry(package).or_default().insert(of_package.replace(" (*)", ""));
    }
    features
}

/// Asserts that a command builds no package with features that `all` lacks. The crate that enables
/// the features may differ: it contains no code.
fn assert_contained(command: &str, some: &Features, all: &Features) {
    for (package, sets) in some.iter().filter(|(package, _)| !package.starts_with(ENABLES)) {
        let known = all.get(package);
        assert!(
            known.is_some_and(|known| sets.is_subset(known)),
            "{command} builds {package} with the features {sets:?} instead of {known:?}: enable the missing ones in \
             host/features/Cargo.toml"
        );
    }
}

#[test]
fn programs_have_the_same_features() {
    let of = |packages: &str| {
        let selected = packages.split_whitespace().flat_map(|package| ["-p", package]);
        features(&selected.chain(["-e", "normal,build"]).collect::<Vec<_>>())
    };
    let fusebox = of("fusebox");
    // `demo.sh` builds the last pair before all others.
    for packages in ["fusebox-run", "fusebox-pjrt", "fusebox-core fusebox-features"] {
        let shared = of(packages).into_iter().filter(|(name, _)| fusebox.contains_key(name)).collect();
        assert_contained(&format!("cargo build of {packages}"), &shared, &fusebox);
    }
}

#[test]
fn tests_of_a_crate_have_the_features_of_all_tests() {
    let all = features(&["--workspace"]);
    let members: Vec<&str> = all.keys().filter(|package| package.contains(" (/")).map(String::as_str).collect();
    assert!(members.len() > 30, "there are few members: {members:?}");
    for member in members {
        let (name, _) = member.split_once(' ').unwrap();
        // No crate depends on `fusebox-tidy`, and it depends on no other.
        if name != "fusebox-tidy" && !member.starts_with(ENABLES) {
            assert_contained(&format!("cargo test -p {name}"), &features(&["-p", name]), &all);
        }
    }
}
