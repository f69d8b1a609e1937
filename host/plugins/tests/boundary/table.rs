//! Checks `docs/plugins-that-fail.md`, which lists the error for each plugin that misbehaves.
//! `FUSEBOX_BLESS=1` updates the document.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fusebox_conformance::plans::planned;
use fusebox_conformance::{Compiler, Machine};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Candidate, Configuration, Fusion};
use fusebox_plugins::{Failure, LoadError, LoadedEmitter, ProcessLimits, Registry, produce};

use crate::built::hostile;
use crate::fusion_named;

/// A plugin, with its fault, its file, and the fusion about which the host asks the plugin.
struct FaultyPlugin {
    title: &'static str,
    library: PathBuf,
    fusion: &'static str,
    /// Whether the fault leaves this process alive if the plugin is loaded into it.
    in_process: bool,
}

/// Misdeeds of the usual plugin. The name of a fusion selects the misdeed.
const DEEDS: [(&str, &str, bool); 19] = [
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
    ("a kernel whose threads race", "race", true),
    ("a wrong result", "wrong_result", true),
    ("text that is not UTF-8", "bad_text", true),
    ("an answer of 1 GiB", "gigabyte", true),
];

fn rows(folder: &Path) -> Vec<FaultyPlugin> {
    let usual = std::fs::read(hostile("")).unwrap();
    let written = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    // Bytes 18 and 19 of an ELF file contain the number of the machine. The number 243 stands for
    // RISC-V.
    let mut foreign = usual.clone();
    foreign[18..20].copy_from_slice(&[243, 0]);
    let files = [
        ("half of a file", written("half.so", &usual[..usual.len() / 2])),
        ("for another processor", written("foreign.so", &foreign)),
        ("two emitters of one name and version", hostile("twins")),
        ("a name that is none", hostile("nameless")),
        ("panics when it describes itself", hostile("panic")),
    ];
    let files = files.map(|(title, library)| FaultyPlugin { title, library, fusion: "fine", in_process: true });
    let deeds =
        DEEDS.map(|(title, fusion, in_process)| FaultyPlugin { title, library: hostile(""), fusion, in_process });
    deeds.into_iter().chain(files).collect()
}

/// Sends all requests. Stops at the first request without a usable answer.
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

/// Finds faults in usable answers, as `fusebox check-emitter` does. Asks each question twice,
/// simulates the kernel, and compares the result of the kernel with that of the interpreter.
fn examined(registry: Registry, name: &str) -> Result<(), String> {
    let device = DeviceDescription::simt();
    planned(&registry.emitters()[0], &fusion_named(name), &device).map_err(|error| error.to_string())?;
    let text = format!(
        "HloModule m\n\n{name} {{\n  p = f32[64] parameter(0)\n  ROOT root = f32[64] negate(p)\n}}\n\n\
         ENTRY main {{\n  a = f32[64] parameter(0)\n  ROOT f = f32[64] fusion(a), kind=kLoop, calls={name}\n}}\n"
    );
    let compiler = Compiler::of(registry, Vec::new());
    compiler.check_on(&text, [Machine::simt()]).map(drop).map_err(|failure| failure.fault)
}

fn said(row: &FaultyPlugin, load: impl FnOnce(&mut Registry, &Path) -> Result<(), LoadError>) -> String {
    let mut registry = Registry::default();
    let message = match load(&mut registry, &row.library) {
        Err(error) => error.to_string(),
        Ok(()) => match ask(&registry.emitters()[0], fusion_named(row.fusion)) {
            Ok(()) => match examined(registry, row.fusion) {
                Ok(()) => return "taken".into(),
                Err(fault) => format!("taken; `fusebox check-emitter` says: {fault}"),
            },
            Err(failure) => failure.to_string(),
        },
    };
    let path = std::fs::canonicalize(&row.library).unwrap();
    let message = message.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    message.replace(&path.display().to_string(), "PLUGIN").replace('|', "\\|")
}

fn line(row: &FaultyPlugin) -> String {
    let limits = ProcessLimits { time: Duration::from_secs(10), memory: Some(1 << 30) };
    let serve = Path::new(env!("CARGO_BIN_EXE_serve-emitter"));
    let isolated = said(row, |registry, library| registry.load_isolated(library, serve, limits).map(drop));
    let in_process = if row.in_process {
        said(row, |registry, library| registry.load_library(library).map(drop))
    } else {
        "also ends the host".into()
    };
    if in_process == isolated.replace(", isolated)", ")") {
        format!("| {} | {in_process} | the same |\n", row.title)
    } else {
        format!("| {} | {in_process} | {isolated} |\n", row.title)
    }
}

const HEAD: &str = "# Plugins that fail

The table shows the message of fusebox for each fault that a plugin can have. If `--load` or a folder names the plugin,
the message is a warning, and the emitter with the next larger predicted time builds the kernel. If `--emitter` names the
plugin, the message is an error. PLUGIN stands for the path of the plugin's file. For this table, isolated processes had
limits of 10 s and 1 GiB. The test `host/plugins/tests/boundary/table.rs` writes this page.

| plugin | in process | `--isolate` |
| --- | --- | --- |
";

const TAIL: &str = "
A plugin does not rate its own kernels. The host predicts the time of each plan, so a plugin cannot win every comparison by
a false statement.

The host checks each answer of a plugin separately, and uses every answer that passes the checks. But some faults appear only
when the kernel runs, or when a question is repeated. The simulator (`--target simt`) finds races, accesses out of bounds
and endless loops; its report names the kernel, the emitter and the instruction. `fusebox run --check` finds wrong results
by comparing them with the interpreter's. `fusebox ab` checks results before it measures times. If a result on the cpu is
wrong, `run --check` and `bisect` repeat the run on the simulator and print the simulator's report.

`fusebox check-emitter` makes all these checks, on generated fusions and on the fusions of your modules. `check-emitter`
also asks each question twice, and reports a plugin whose two answers differ. Run this command before you trust a
plugin.
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
