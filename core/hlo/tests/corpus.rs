//! Checks all programs of the corpus, if `FUSEBOX_CORPUS` names its folder. Every program must
//! parse and verify. If the program is printed as text or serialised as protobuf and read again,
//! the result must be the same module.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::path::PathBuf;

use fusebox_hlo::{Module, PrintOptions, parse_module, print_module_with, read_proto, verify, write_proto};

/// Returns the names and texts of all programs.
fn programs() -> Vec<(String, String)> {
    let Some(folder) = std::env::var_os("FUSEBOX_CORPUS") else {
        eprintln!("FUSEBOX_CORPUS is not set: nothing to read");
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(PathBuf::from(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "hlo" || extension == "txt"));
    paths.sort();
    assert!(!paths.is_empty(), "FUSEBOX_CORPUS holds no .hlo files");
    paths.iter().map(|path| (path.display().to_string(), std::fs::read_to_string(path).unwrap())).collect()
}

fn parsed(text: &str, name: &str) -> Module {
    match parse_module(text, name) {
        Ok(module) => module,
        Err(faults) => panic!("{}\n--- in\n{text}", faults.iter().map(|f| format!("{f}\n")).collect::<String>()),
    }
}

#[test]
fn printed_programs_read_back() {
    for (name, text) in programs() {
        let mut module = parsed(&text, &name);
        module.clear_source();
        for percent in [false, true] {
            let printed = print_module_with(&module, &PrintOptions { percent, ..PrintOptions::default() });
            let mut again = parsed(&printed, &name);
            again.clear_source();
            assert!(module == again, "{name} does not survive printing");
        }
    }
}

#[test]
fn programs_are_valid() {
    for (name, text) in programs() {
        if let Err(faults) = verify(&parsed(&text, &name)) {
            panic!("{}", faults.iter().map(|f| format!("{f}\n")).collect::<String>());
        }
    }
}

#[test]
fn serialised_programs_read_back() {
    for (name, text) in programs() {
        let mut module = parsed(&text, &name);
        module.clear_source();
        let again = read_proto(&write_proto(&module)).unwrap_or_else(|faults| panic!("{name}: {}", faults[0]));
        if module != again {
            let folder = std::env::temp_dir();
            std::fs::write(folder.join("written.hlo"), module.to_string()).unwrap();
            std::fs::write(folder.join("read.hlo"), again.to_string()).unwrap();
            panic!("{name} does not survive serialisation: compare written.hlo and read.hlo in {}", folder.display());
        }
    }
}
