//! `docs/plugins-that-fail.md`: what is said of each plugin that misbehaves. `FUSEBOX_BLESS=1` writes it anew.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Candidate, Configuration, Fusion};
use fusebox_plugins::{Failure, LoadError, LoadedEmitter, ProcessLimits, Registry, produce};

use crate::built::hostile;
use crate::fusion_named;

/// A plugin: what is wrong with it, its file, and the fusion that it is asked about.
struct Row {
    title: &'static str,
    library: PathBuf,
    fusion: &'static str,
    /// Whether it can be tried in this process without the test's end.
    in_process: bool,
}

/// What the usual plugin does, by the fusion's name.
const DEEDS: [(&str, &str, bool); 17] = [
    ("fine", "fine", true),
    ("panics when it claims", "panic_in_claim", true),
    ("panics when it bids", "panic_in_bid", true),
    ("panics when it considers", "panic_in_consider", true),
    ("panics when it plans", "panic_in_plan", true),
    ("panics when it emits", "panic_in_emit", true),
    ("hangs", "hang", false),
    ("aborts", "abort", false),
    ("segfaults", "segfault", false),
    ("takes all memory", "hoard", false),
    ("starts a process, then dies", "orphan", false),
    ("a plan out of bounds", "out_of_bounds", true),
    ("a plan that overlaps", "overlap", true),
    ("no kernel", "empty", true),
    ("another answer each time", "different_each_time", true),
    ("text that is not UTF-8", "bad_text", true),
    ("an answer of 1 GiB", "gigabyte", true),
];

fn rows(folder: &Path) -> Vec<Row> {
    let usual = std::fs::read(hostile("")).unwrap();
    let written = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    // The machine stands in bytes 18 and 19 of an ELF file; 243 is RISC-V.
    let mut foreign = usual.clone();
    foreign[18..20].copy_from_slice(&[243, 0]);
    let files = [
        ("half of a file", written("half.so", &usual[..usual.len() / 2])),
        ("for another processor", written("foreign.so", &foreign)),
        ("two emitters of one name and version", hostile("twins")),
        ("a name that is none", hostile("nameless")),
        ("panics when it describes itself", hostile("panic")),
    ];
    let files = files.map(|(title, library)| Row { title, library, fusion: "fine", in_process: true });
    let deeds = DEEDS.map(|(title, fusion, in_process)| Row { title, library: hostile(""), fusion, in_process });
    deeds.into_iter().chain(files).collect()
}

/// All questions, until one has no usable answer.
fn ask(emitter: &LoadedEmitter, region: Fusion) -> Result<(), Failure> {
    let device = DeviceDescription::simt();
    let anchor = region.computation().root;
    let candidate = Candidate { region, anchor };
    emitter.claim(&candidate, &device)?;
    emitter.bid(&candidate, &device)?;
    emitter.consider(&candidate.region, &device)?;
    produce(emitter, &candidate.region, &device, &Configuration::default()).map_err(|it| it.failure)?;
    Ok(())
}

fn said(row: &Row, load: impl FnOnce(&mut Registry, &Path) -> Result<(), LoadError>) -> String {
    let mut registry = Registry::default();
    let message = match load(&mut registry, &row.library) {
        Err(error) => error.to_string(),
        Ok(()) => match ask(&registry.emitters()[0], fusion_named(row.fusion)) {
            Ok(()) => return "taken".into(),
            Err(failure) => failure.to_string(),
        },
    };
    let path = std::fs::canonicalize(&row.library).unwrap();
    message.replace(&path.display().to_string(), "PLUGIN").replace('|', "\\|")
}

fn line(row: &Row) -> String {
    let limits = ProcessLimits { time: Duration::from_secs(10), memory: Some(1 << 30) };
    let serve = Path::new(env!("CARGO_BIN_EXE_serve-emitter"));
    let isolated = said(row, |registry, library| registry.load_isolated(library, serve, limits).map(drop));
    let in_process = match row.in_process {
        true => said(row, |registry, library| registry.load_library(library).map(drop)),
        false => "takes the host along".into(),
    };
    match in_process == isolated.replace(", isolated)", ")") {
        true => format!("| {} | {in_process} | the same |\n", row.title),
        false => format!("| {} | {in_process} | {isolated} |\n", row.title),
    }
}

const HEAD: &str = "# Plugins that fail

What is said of a plugin that misbehaves. With `--load`, or out of a folder, the message is a warning, and the next emitter makes the
kernel; with `--emitter` it is an error. PLUGIN is the file. Isolated ones had 10 s and 1 GiB here. Written by
`host/plugins/tests/boundary/table.rs`.

| plugin | in process | `--isolate` |
| --- | --- | --- |
";

const TAIL: &str = "
A plugin does not say how good it is: the host predicts the time of its plan, so there is no price that wins everything. Another answer
each time is taken as it comes: each is checked by itself. Kernels that race, leave the bounds or never end are caught where they run:
with `--target simt`, whose report names kernel, emitter and instruction. A wrong result is found by `fusebox ab`, which compares before it
measures, and by `testing/conformance`, which compares with the interpreter.
";

#[test]
fn every_plugin_that_fails_costs_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let found = HEAD.to_owned() + &rows(folder.path()).iter().map(line).collect::<String>() + TAIL;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/plugins-that-fail.md");
    if std::env::var_os("FUSEBOX_BLESS").is_some() {
        return std::fs::write(&path, found).unwrap();
    }
    let was = std::fs::read_to_string(&path).unwrap();
    for (is, was) in found.lines().zip(was.lines()) {
        assert_eq!(is, was, "docs/plugins-that-fail.md (FUSEBOX_BLESS=1 writes it anew)");
    }
    assert_eq!(found.lines().count(), was.lines().count());
}
