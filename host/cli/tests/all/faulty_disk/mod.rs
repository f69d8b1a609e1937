//! Makes every system call that writes fail once. Then the file must be either the complete old
//! file or the complete new file, and the program must report the failure.
//!
//! A preloaded library (`shim.c`) makes one call on the folder of the outputs fail.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::{Ran, Workplace};

const MODULE: &str = "HloModule m
ENTRY main {
  x = f32[5000] parameter(0)
  ROOT a = f32[5000] add(x, x)
}
";

/// Content of an output before the run.
const OLD: &[u8] = b"what was there before";

fn shim(folder: &Path) -> PathBuf {
    let library = folder.join("shim.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/faulty_disk/shim.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).arg("-ldl");
    let built = compiler.output().expect("a C compiler");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    library
}

/// A command that writes files, and the state of the folder before the command.
struct Scenario {
    /// Arguments of the program. The program writes to the folder `out`.
    arguments: &'static [&'static str],
    /// Whether the outputs existed before.
    replaces: bool,
    /// Whether the file system supports files without a name.
    unnamed: bool,
}

/// A folder with the module and the shim. Also the outputs of a run without failures.
struct Bench {
    place: Workplace,
    shim: PathBuf,
    scenario: Scenario,
    whole: BTreeMap<String, Vec<u8>>,
}

impl Bench {
    fn new(scenario: Scenario) -> Bench {
        let place = Workplace::with_module(MODULE);
        std::fs::create_dir(place.path("out")).unwrap();
        let shim = shim(place.folder());
        let mut bench = Bench { place, shim, scenario, whole: BTreeMap::new() };
        bench.run(0, 0).succeeded();
        bench.whole = bench.outputs();
        assert!(!bench.whole.is_empty());
        bench
    }

    fn outputs(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = std::fs::read_dir(self.place.path("out")).unwrap().map(|entry| entry.unwrap());
        let named = entries.map(|e| (e.file_name().into_string().unwrap(), std::fs::read(e.path()).unwrap()));
        named.collect()
    }

    /// Puts the folder in the state before the run.
    fn reset(&self) {
        std::fs::remove_dir_all(self.place.path("out")).unwrap();
        std::fs::create_dir(self.place.path("out")).unwrap();
        if self.scenario.replaces {
            self.whole.keys().for_each(|name| self.place.write(&format!("out/{name}"), OLD));
        }
    }

    /// Runs the program. The system call with number `at` fails, but if `at` is 0, no call fails.
    /// Writes the calls to `log`.
    fn run(&self, at: usize, errno: i32) -> Ran {
        let _ = std::fs::remove_file(self.place.path("log"));
        let mut command = self.place.command(self.scenario.arguments);
        command.env("LD_PRELOAD", &self.shim).env("FAULT_FOLDER", self.place.path("out"));
        command.env("FAULT_LOG", self.place.path("log"));
        command.env("FAULT_AT", at.to_string()).env("FAULT_ERRNO", errno.to_string());
        if !self.scenario.unnamed {
            command.env("FAULT_NO_TMPFILE", "1");
        }
        Ran::from(command.output().unwrap())
    }

    fn calls(&self) -> Vec<String> {
        std::fs::read_to_string(self.place.path("log")).unwrap().lines().map(String::from).collect()
    }

    /// Fails each call once. Returns the kinds of calls.
    fn fail_each(&self) -> BTreeSet<String> {
        self.reset();
        self.run(0, 0).succeeded();
        let calls = self.calls();
        for (index, call) in calls.iter().enumerate() {
            let (errno, cause) = match call.as_str() {
                "write" | "linkat" => (28, "No space left on device"),
                _ => (5, "Input/output error"),
            };
            self.reset();
            let ran = self.run(index + 1, errno);
            let what = format!("{:?}, call {} ({call}): {}", self.scenario.arguments, index + 1, ran.err);
            assert_eq!(ran.code, Some(1), "{what}");
            assert!(ran.err.contains("out") && ran.err.contains(cause), "{what}");
            assert!(!ran.err.contains("bug"), "{what}");
            for (name, content) in self.outputs() {
                let new = self.whole.get(&name).unwrap_or_else(|| panic!("{name} is left behind: {what}"));
                assert!(content == *new || (self.scenario.replaces && content == OLD), "{name} is not whole: {what}");
            }
            let names: BTreeSet<_> = self.outputs().into_keys().collect();
            let kept = !self.scenario.replaces || names.len() == self.whole.len();
            assert!(kept, "a file is gone: {what}");
        }
        calls.into_iter().collect()
    }
}

fn check(arguments: &'static [&'static str]) {
    for (replaces, unnamed) in [(false, true), (true, true), (false, false), (true, false)] {
        let calls = Bench::new(Scenario { arguments, replaces, unnamed }).fail_each();
        let mut wanted = vec!["open", "write", "fsync"];
        wanted.extend((!unnamed || replaces).then_some("rename"));
        wanted.extend(unnamed.then_some("linkat"));
        wanted.extend(replaces.then_some("fchmod"));
        for call in wanted {
            assert!(calls.contains(call), "{call} was not seen in {calls:?}: does it bypass the shim?");
        }
    }
}

#[test]
fn results_survive_every_fault() {
    check(&["run", "m.hlo", "--outputs", "out/result.npz"]);
}

#[test]
fn results_of_the_interpreter_survive_every_fault() {
    check(&["run", "m.hlo", "--interpreter", "--outputs", "out/result.npz"]);
}

#[test]
fn executables_survive_every_fault() {
    check(&["compile", "m.hlo", "-o", "out/m.fusebox"]);
}

#[test]
fn dumps_survive_every_fault() {
    check(&["run", "m.hlo", "--interpreter", "--dump-to", "out"]);
}
