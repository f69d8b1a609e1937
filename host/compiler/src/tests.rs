//! Applies a pass or fusion to HLO modules, and compares the result with the expected HLO.
//!
//! `tests/filetests/{passes,fuse}/NAME.hlo` begins with comments: the purpose of the test, the
//! target (`// target: cpu`) and the pass (`// pass: movements`). After the comments, the file
//! contains the module and, below `// -----`, the result or the error. If `FUSEBOX_BLESS=1` is set,
//! the tests write the actual results into the files.

use std::fmt::Write;
use std::path::Path;

use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{Module, parse_module, print_module, verify};

use crate::passes::PASSES;
use crate::{Emitters, fuse};

const SEPARATOR: &str = "\n// -----\n";

#[test]
fn passes() {
    let emitters = Emitters::bundled();
    check("passes", |module, device, text| {
        let pass = said(text, "pass");
        let found = PASSES.iter().find(|it| it.name == pass).unwrap_or_else(|| panic!("no pass {pass}"));
        found
            .apply(module, &mut fuse::Claims::new(device, &emitters, &fusebox_plugins::KnownPlans::default()), true)
            .map_err(|error| error.to_string())
    });
}

#[test]
fn fused() {
    let emitters = Emitters::bundled();
    check("fuse", |module, device, _| {
        fuse::run(module, device, &emitters, &fusebox_plugins::KnownPlans::default())
            .map(|_| ())
            .map_err(|fault| fault.to_string())
    });
}

fn check(folder: &str, change: impl Fn(&mut Module, &DeviceDescription, &str) -> Result<(), String>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests").join(folder);
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 8, "only {} files", files.len());
    let mut differences = String::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let (before, expected) = text.split_once(SEPARATOR).unwrap_or((&text, ""));
        let name = file.file_name().unwrap().to_str().unwrap();
        let mut module = read(name, before);
        let found = match change(&mut module, &device(before), before) {
            Ok(()) => print_module(&module),
            Err(error) => format!("error: {error}\n"),
        };
        if !found.starts_with("error: ") {
            verify(&module).unwrap_or_else(|faults| panic!("{name}: {}\n{found}", faults[0]));
            assert_eq!(print_module(&read(name, &found)), found, "{name}: what is read prints as it was");
        }
        if std::env::var_os("FUSEBOX_BLESS").is_some() {
            std::fs::write(&file, format!("{before}{SEPARATOR}{found}")).unwrap();
        } else if found != expected {
            write!(differences, "{} expected\n{expected}found\n{found}\n", file.display()).unwrap();
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

fn read(name: &str, text: &str) -> Module {
    let module = parse_module(text, name).unwrap_or_else(|faults| panic!("{}\n{text}", faults[0]));
    verify(&module).unwrap_or_else(|faults| panic!("{}\n{text}", faults[0]));
    module
}

/// Returns the value of a comment `// WORD: …`.
fn said<'t>(text: &'t str, word: &str) -> &'t str {
    let start = format!("// {word}: ");
    text.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or_else(|| panic!("no line `{start}…` in\n{text}"))
}

fn device(text: &str) -> DeviceDescription {
    match said(text, "target") {
        "cpu" => DeviceDescription::cpu(2),
        "sm_80" => DeviceDescription::sm(80),
        "sm_90" => DeviceDescription::sm(90),
        other => panic!("there is no target {other}"),
    }
}
