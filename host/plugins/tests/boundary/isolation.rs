//! Checks that an isolated plugin takes at most the time and memory that its limits allow, whatever
//! it does with its pipes and processes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Fusion};
use fusebox_core::hlo::parse_module;
use fusebox_core::plugin::schema::{Descriptor, Response};
use fusebox_plugins::{ProcessLimits, Registry, produce};
use prost::Message;

use crate::built::{hostile, simple_loop};
use crate::{fusion_named, isolated_registry_within, registry_of};

const TIME: Duration = Duration::from_secs(2);

fn limits(time: Duration) -> ProcessLimits {
    ProcessLimits { time, memory: None }
}

/// Shell commands that wait for the request for the description, and then for another request.
const ASKED: &str = "head -c 6 >/dev/null; head -c 1 >/dev/null";

/// A program that poses as the process of a plugin. The program first gives the right answers, and
/// then runs a shell script.
struct Impostor {
    _folder: tempfile::TempDir,
    program: PathBuf,
}

impl Impostor {
    fn new(script: &str) -> Impostor {
        let folder = tempfile::tempdir().unwrap();
        let (kind, name, version) = ("loop".into(), "impostor".into(), "1.0.0".into());
        let descriptor = Descriptor { kind, name, version, ..Descriptor::default() };
        let description = Response { emitters: vec![descriptor], ..Response::default() }.encode_to_vec();
        let mut frames = vec![0; 4];
        frames.extend((description.len() as u32).to_le_bytes());
        frames.extend(description);
        std::fs::write(folder.path().join("frames"), frames).unwrap();
        let program = folder.path().join("program");
        let text = format!("#!/bin/sh\ncat {}\n{script}\n", folder.path().join("frames").display());
        // Another process must write the file. Otherwise a concurrent child of this process could
        // hold the file open for writing.
        let mut shell = Command::new("sh");
        shell.args(["-c", "printf %s \"$1\" > \"$2\" && chmod +x \"$2\"", "sh", &text]).arg(&program);
        assert!(shell.status().unwrap().success());
        Impostor { _folder: folder, program }
    }

    /// Returns the error for a request about a fusion, and the time until the error occurs.
    fn complaint(&self, fusion: &Fusion) -> (String, Duration) {
        let mut registry = Registry::default();
        // The file of this library does not name its emitters, so the impostor can use any name.
        registry.load_isolated(&hostile(""), &self.program, limits(TIME)).unwrap();
        let start = Instant::now();
        let failure = registry.emitters()[0].consider(fusion, &DeviceDescription::simt()).unwrap_err();
        (failure.to_string(), start.elapsed())
    }
}

/// Returns a fusion whose text exceeds the capacity of a pipe.
fn long_fusion() -> Fusion {
    let lines: String =
        (1..4000).map(|i| format!("  p{i} = f32[64] negate(p{})\n", i - 1)).collect::<Vec<_>>().join("");
    let text = format!("ENTRY fused {{\n  p0 = f32[64] parameter(0)\n{lines}  ROOT r = f32[64] negate(p3999)\n}}\n");
    Fusion::new("long", parse_module(&text, "test").unwrap()).unwrap()
}

#[test]
fn one_that_never_reads_is_ended() {
    let (message, time) = Impostor::new("exec sleep 60").complaint(&long_fusion());
    assert!(message.contains("did not answer within 2 s and was ended"), "{message}");
    assert!(time < TIME * 3, "{time:?}");
}

#[test]
fn one_that_answers_byte_by_byte_is_ended() {
    let slow = "printf '\\377\\377\\000\\000'\nwhile :; do printf x; sleep 0.05; done";
    let (message, time) = Impostor::new(slow).complaint(&fusion_named("f"));
    assert!(message.contains("did not answer within 2 s and was ended"), "{message}");
    assert!(time < TIME * 3, "{time:?}");
}

#[test]
fn one_that_prints_without_end_is_ended() {
    let (message, _) = Impostor::new("while :; do echo x >/dev/null; done").complaint(&fusion_named("f"));
    assert!(message.contains("did not answer within 2 s and was ended"), "{message}");
}

#[test]
fn a_frame_that_announces_too_much_is_not_read() {
    let (message, time) = Impostor::new("printf '\\000\\000\\000\\100'\nsleep 60").complaint(&fusion_named("f"));
    assert!(message.contains("the bytes of its answer: 1073741824; 4194304 is the limit"), "{message}");
    assert!(time < TIME, "{time:?}");
}

#[test]
fn a_process_it_leaves_behind_is_not_waited_for() {
    let (message, time) = Impostor::new(&format!("{ASKED}; sleep 60 &\nexit 7")).complaint(&fusion_named("f"));
    assert!(message.contains("its process died (exit code 7)"), "{message}");
    assert!(time < TIME, "{time:?}");

    let registry = isolated_registry_within(&hostile(""), limits(Duration::from_secs(60)));
    let start = Instant::now();
    let failure = registry.emitters()[0].consider(&fusion_named("orphan"), &DeviceDescription::simt()).unwrap_err();
    assert!(failure.to_string().contains("its process died (signal 6)"), "{failure}");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn what_it_started_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let script = format!("{ASKED}; sleep 1234 &\necho $! > {}\nexit 7", pid.display());
    let _ = Impostor::new(&script).complaint(&fusion_named("f"));
    let pid = std::fs::read_to_string(&pid).unwrap();
    assert!(ends(pid.trim()), "{pid}");
}

/// Whether the process has ended, or will end within 5 s.
fn ends(pid: &str) -> bool {
    let gone = || {
        let status = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
        status.is_empty() || status.contains(") Z ")
    };
    (0..200).any(|_| {
        gone() || {
            std::thread::sleep(Duration::from_millis(25));
            false
        }
    })
}

#[test]
fn one_that_takes_all_memory_meets_its_limit() {
    let limits = ProcessLimits { time: Duration::from_secs(60), memory: Some(1 << 30) };
    let registry = isolated_registry_within(&hostile(""), limits);
    let (emitter, device) = (&registry.emitters()[0], DeviceDescription::simt());
    let failure = emitter.consider(&fusion_named("hoard"), &device).unwrap_err().to_string();
    assert!(failure.contains("its process died (signal 6); it had 1.0 GiB of memory"), "{failure}");
    assert!(failure.contains("--isolate-memory"), "{failure}");
    produce(emitter, &fusion_named("fine"), &device, &Configuration::default()).unwrap();
}

/// Checks that an isolated plugin may only start threads. If the same plugin is loaded into this
/// process, it has all rights of the tests.
#[test]
fn files_sockets_and_programs_are_out_of_its_reach() {
    let limits = ProcessLimits { time: Duration::from_secs(60), memory: Some(4 << 30) };
    let said = |registry: &Registry| {
        let (fusion, device) = (fusion_named("break_out"), DeviceDescription::simt());
        registry.emitters()[0].plan(&fusion, &device, &Configuration::default()).unwrap_err().kind.to_string()
    };
    let tries = ["read", "write", "remove", "listen", "send", "start"];
    let each = |ended: &str| tries.map(|what| format!("{what}: {ended}, ")).concat() + "thread: done";
    assert_eq!(said(&registry_of(&hostile(""))), each("done"));
    assert_eq!(said(&isolated_registry_within(&hostile(""), limits)), each("permission denied"));
}

#[test]
fn it_ends_when_the_host_does() {
    // This shell plays the role of the host. It is killed while its plugin hangs, and then its end
    // of the pipe is closed.
    let serve = env!("CARGO_BIN_EXE_serve-emitter");
    let script = "mkfifo in; \"$1\" serve-emitter \"$2\" --content \"$2\" < in > out 2> err & echo $! > pid; exec 3> in; sleep 1; kill -9 $$";
    let folder = tempfile::tempdir().unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh", serve]).arg(simple_loop()).current_dir(folder.path());
    assert!(!shell.status().unwrap().success());
    let pid = std::fs::read_to_string(folder.path().join("pid")).unwrap();
    assert!(ends(pid.trim()), "{pid}");
    assert_eq!(std::fs::read_to_string(folder.path().join("err")).unwrap(), "");
}
