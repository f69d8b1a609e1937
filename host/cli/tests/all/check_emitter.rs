//! Checks `fusebox check-emitter` on libraries that conform, and on a library that makes every
//! mistake.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;

use crate::built;
use crate::program::{Ran, Workplace, building};

#[test]
fn what_new_crates_begin_as_conforms() {
    let place = Workplace::new();
    for library in [built::simple_loop(), built::simple_reduce(), built::simple_transpose()] {
        let ran = place.run(&["check-emitter", &library.display().to_string(), "--cases", "20"]);
        assert!(ran.code == Some(0) && ran.out.ends_with("\nconforms\n"), "{}{}", ran.out, ran.err);
        assert!(ran.out.contains(", isolated): kind "), "{}", ran.out);
    }
}

#[test]
fn what_is_wrong_is_told_written_and_can_be_run() {
    let place = Workplace::new();
    let library = built::hostile("").display().to_string();
    let ran = place.run(&["check-emitter", &library, "--cases", "0", "--json", "--output", "found"]);
    assert!(ran.code == Some(1) && ran.err.contains("does not conform"), "{}", ran.err);
    let reports: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(reports[0]["findings"][0]["promise"], "plan", "{reports}");
    let written = std::fs::read_to_string(place.path("found/hostile-0.hlo")).unwrap();
    assert!(written.starts_with("// hostile 0.1.0") && written.contains("a plan that is wrong"), "{written}");
    let again = place.run(&["run", "found/hostile-0.hlo", "--target", "simt", "--emitter", &library]);
    assert!(again.code == Some(1) && again.err.contains("the plan is wrong"), "{}", again.err);
}

#[test]
fn a_library_that_is_none_and_a_kind_that_it_has_not_are_refused() {
    let place = Workplace::new();
    let none = place.run(&["check-emitter", "nothing.so"]);
    assert!(none.code == Some(1) && none.err.contains("nothing.so"), "{}", none.err);
    let library = built::simple_loop().display().to_string();
    let other = place.run(&["check-emitter", &library, "--kind", "reduce"]);
    assert!(other.code == Some(2) && other.err.contains("has no emitter of kind reduce"), "{}", other.err);
}

/// The kernel of a transpose without its barrier reads elements of shared memory that other threads
/// write. The simulator names the operation of the kernel IR, and the software driver the
/// instruction of the PTX.
#[test]
fn a_planted_race_is_found_on_the_software_driver() {
    let place = Workplace::new();
    let core = concat!(env!("CARGO_MANIFEST_DIR"), "/../../core");
    place.run(&["new-emitter", "my-transpose", "--kind", "transpose", "--core", core]).succeeded();
    let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/transpose-emitter/Cargo.lock");
    let lock = std::fs::read_to_string(lock).unwrap().replace("simple-transpose", "my-transpose");
    place.write("my-transpose/Cargo.lock", lock.as_bytes());
    let check = || {
        let driver = Path::new(env!("CARGO_BIN_EXE_fusebox")).with_file_name("deps").join("libsoftware_cuda.so");
        let mut command = place.command(&["check-emitter", "my-transpose", "--cases", "0", "--driver"]);
        Ran::from(building(command.arg(driver)).output().unwrap())
    };
    let right = check().succeeded();
    assert!(right.contains("run on the software driver") && right.ends_with("\nconforms\n"), "{right}");
    let emitter = std::fs::read_to_string(place.path("my-transpose/src/lib.rs")).unwrap();
    let lines = emitter.lines().filter(|line| !line.contains("kernel.sync_threads"));
    place.write("my-transpose/src/lib.rs", lines.map(|line| format!("{line}\n")).collect::<String>().as_bytes());
    let wrong = check();
    assert_eq!(wrong.code, Some(1), "{}{}", wrong.out, wrong.err);
    let told = wrong.out.split("a kernel that does what it must not on sm_90").nth(1).unwrap_or(&wrong.out);
    assert!(told.contains("in shared memory was never written") && told.contains("of the PTX: ld.shared"), "{told}");
    assert!(wrong.out.contains("a kernel that does what it must not on simt"), "{}", wrong.out);
}

/// Checks that the command checks a crate again when its author saves a file.
#[test]
fn a_crate_is_checked_again_when_it_is_saved() {
    let place = Workplace::new();
    let core = concat!(env!("CARGO_MANIFEST_DIR"), "/../../core");
    let made = place.run(&["new-emitter", "my-loop", "--kind", "loop", "--core", core]);
    assert_eq!(made.code, Some(0), "{}", made.err);
    let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/out-of-tree-emitter/Cargo.lock");
    let lock = std::fs::read_to_string(lock).unwrap().replace("simple-loop", "my-loop");
    place.write("my-loop/Cargo.lock", lock.as_bytes());
    let emitter = std::fs::read_to_string(place.path("my-loop/src/lib.rs")).unwrap();
    let verdict = "        verdict.into()";
    let declining = |reason: &str| {
        let all = format!("        _ = verdict;\n        Verdict::Decline(Decline::new(\"{reason}\"))");
        emitter.replace(verdict, &all)
    };
    place.write("my-loop/src/lib.rs", declining("not today").as_bytes());
    let mut command = place.command(&["check-emitter", "my-loop", "--watch", "--cases", "0"]);
    building(&mut command);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut until = |words: &str| said.by_ref().map(Result::unwrap).find(|line| line.contains(words)).unwrap();
    until("waiting for changes");
    place.write("my-loop/src/lib.rs", b"no Rust at all");
    until("error: cargo cannot build my-loop");
    until("waiting for changes");
    place.write("my-loop/src/lib.rs", declining("not tomorrow either").as_bytes());
    until("waiting for changes");
    child.kill().unwrap();
    let mut printed = String::new();
    child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    child.wait().unwrap();
    let reasons: Vec<&str> = printed.lines().filter_map(|line| line.split_once("times: ")).map(|(_, it)| it).collect();
    assert_eq!(reasons, ["not today", "not tomorrow either"], "{printed}");
}

/// Checks an emitter of a kind that only its library knows. Only the modules of the emitter's
/// author contain fusions of this kind.
#[test]
fn an_emitter_of_its_own_kind_is_checked_on_modules() {
    let place = Workplace::new();
    let library = built::attention().display().to_string();
    let modules = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/attention-emitter/modules");
    let module = |name: &str| format!("{modules}/{name}.hlo");
    let check = |modules: &[&str]| place.run(&[&["check-emitter", &library, "--cases", "0"], modules].concat());
    let alone = check(&[]);
    assert!(alone.code == Some(1) && alone.out.contains("--module FILE"), "{}{}", alone.out, alone.err);
    let (mask, f64) = (module("mask"), module("f64"));
    let ran = check(&["--module", &mask, "--module", &f64]);
    assert!(ran.code == Some(0) && ran.out.ends_with("\nconforms\n"), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("takes 2 of "), "{}", ran.out);
    let declined = module("declined_without_maximum");
    check(&["--module", &declined])
        .failed(1, &["online-attention", "it takes nothing of ", "declined_without_maximum.hlo: "]);
}

/// The kernel of the hostile emitter computes twice the right result.
#[test]
fn what_is_wrong_with_a_fusion_of_a_module_is_told() {
    let fused = "HloModule m\nwrong_result {\n  p = f32[64] parameter(0)\n  ROOT root = f32[64] negate(p)\n}\n\
                 ENTRY main {\n  p = f32[64] parameter(0)\n  ROOT f = f32[64] fusion(p), kind=kLoop, calls=wrong_result\n}\n";
    let place = Workplace::with_module(fused);
    let library = built::hostile("").display().to_string();
    let ran = place.run(&["check-emitter", &library, "--cases", "0", "--module", "m.hlo", "--json"]);
    let reports: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let findings = reports[0]["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["promise"] == "result").unwrap();
    assert_eq!(found["fusion"], "wrong_result of m.hlo", "{reports}");
}
