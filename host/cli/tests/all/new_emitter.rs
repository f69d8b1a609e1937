//! Checks `fusebox new-emitter`. The new crates must build outside the repository, pass their
//! tests, load, and compute right results.

use std::path::Path;
use std::process::Command;

use crate::program::{Ran, Workplace};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn new_emitter(place: &Workplace, name: &str, kind: &str) -> Ran {
    place.run(&["new-emitter", name, "--kind", kind, "--core", &format!("{ROOT}/core")])
}

/// Runs cargo in a new crate. All crates share a target folder that is kept between runs.
fn cargo(folder: &Path, arguments: &[&str]) -> String {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugins");
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments).arg("--offline").current_dir(folder).env("CARGO_TARGET_DIR", target);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

#[test]
fn a_new_crate_of_every_kind_passes_its_tests_and_its_kernels_are_right() {
    let operation = |kind: &str| match kind {
        "reduce" => "ROOT r = f32[70] reduce(x, zero), dimensions={1}, to_apply=max",
        "transpose" => "ROOT r = f32[33,70] transpose(x), dimensions={1,0}",
        "concatenate" => "ROOT r = f32[140,33] concatenate(x, x), dimensions={0}",
        "own" => {
            "m = f32[70] reduce(x, zero), dimensions={1}, to_apply=max\n b = f32[70,33] broadcast(m), dimensions={0}\n \
                  ROOT r = f32[70,33] subtract(x, b)"
        }
        _ => "ROOT r = f32[70,33] exponential(x)",
    };
    for kind in ["loop", "reduce", "transpose", "concatenate", "own"] {
        let place = Workplace::with_module(&format!(
            "HloModule m\nmax {{ a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] maximum(a, b) }}\n\
             ENTRY main {{ x = f32[70,33] parameter(0)\n zero = f32[] constant(0)\n {} }}",
            operation(kind)
        ));
        let name = format!("my-{kind}-2");
        let made = new_emitter(&place, &name, kind);
        assert_eq!(made.code, Some(0), "{}", made.err);
        assert!(made.out.contains(&format!("my-{kind}-2/src/lib.rs\n")), "{}", made.out);
        let folder = place.path(&name);
        // Use the lock file of the examples, so that cargo needs no network.
        let lock = std::fs::read_to_string(format!("{ROOT}/examples/out-of-tree-emitter/Cargo.lock")).unwrap();
        std::fs::write(folder.join("Cargo.lock"), lock.replace("\"simple-loop\"", &format!("{name:?}"))).unwrap();
        assert!(cargo(&folder, &["test"]).contains(if kind == "own" { "3 passed" } else { "2 passed" }));
        cargo(&folder, &["build"]);
        let library = format!("{}/plugins/debug/libmy_{kind}_2.so", env!("CARGO_TARGET_TMPDIR"));
        if kind == "own" {
            let module = place.path("my-own-2/benches/small.hlo").display().to_string();
            let checked =
                place.run(&["check-emitter", &library, "--cases", "0", "--module", &module, "--module", "m.hlo"]);
            assert!(checked.code == Some(0) && checked.out.contains("kind my-own-2"), "{}{}", checked.out, checked.err);
        }
        for target in ["cpu", "simt"] {
            let run = |choice: &[&str]| place.run(&[&["run", "m.hlo", "--target", target], choice].concat());
            let own = run(&["--emitter", &library]);
            assert_eq!((own.code, &own.out), (Some(0), &run(&[]).out), "{}", own.err);
            let explained = place.run(&["explain", "m.hlo", "--target", target, "--emitter", &library]);
            assert!(explained.out.contains(&format!("{name} 0.1.0")), "{}", explained.out);
        }
    }
}

#[test]
fn what_cannot_be_made_is_refused_in_words_and_nothing_is_overwritten() {
    let place = Workplace::new();
    let refused = |name: &str, kind: &str, words: &str| {
        let ran = new_emitter(&place, name, kind);
        assert!(ran.code == Some(2) && ran.err.contains(words), "{}", ran.err);
    };
    for name in ["loop", "My-Loop", "my_loop", "my--loop", "../my-loop", "-my-loop", "proc-macro", "my-lööp", ""] {
        let ran = place.run(&["new-emitter", "--kind", "loop", "--", name]);
        assert!(ran.code == Some(2) && ran.err.contains("is no name for an emitter"), "{name}: {}", ran.err);
    }
    refused("my-scatter", "scatter", "possible values: loop, concatenate, dynamic-update-slice");
    let nowhere = place.run(&["new-emitter", "my-loop", "--kind", "loop", "--core", "."]);
    assert!(nowhere.code == Some(2) && nowhere.err.contains("no folder of fusebox-core"), "{}", nowhere.err);
    assert_eq!(new_emitter(&place, "my-loop", "loop").code, Some(0));
    refused("my-loop", "reduce", "my-loop is there already");
    let written = std::fs::read_to_string(place.path("my-loop/src/lib.rs")).unwrap();
    assert!(written.contains("export_emitters!(MY_LOOP => MyLoop)") && written.contains("kind: \"loop\""), "{written}");
}

/// The first command that a new author runs.
#[test]
fn a_new_crate_builds_against_the_sources_that_the_program_comes_from() {
    let place = Workplace::new();
    let made = place.run(&["new-emitter", "my-first-loop-of-all-with-a-long-name", "--kind", "loop"]).succeeded();
    let folder = place.path("my-first-loop-of-all-with-a-long-name");
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let core = Path::new(ROOT).join("core").canonicalize().unwrap();
    assert!(manifest.contains(&format!("fusebox-core = {{ path = {core:?} }}\n")), "{manifest}");
    // No folder of PATH contains the program.
    let program = Path::new(env!("CARGO_BIN_EXE_fusebox")).parent().unwrap();
    assert!(made.contains(&format!("\n  export PATH={}:$PATH\n", program.display())), "{made}");
    let formatted = Command::new(env!("CARGO")).args(["fmt", "--check"]).current_dir(&folder).output().unwrap();
    assert!(formatted.status.success(), "{}", String::from_utf8_lossy(&formatted.stdout));
}

#[test]
fn a_bench_that_finds_no_fusebox_says_what_to_do() {
    let place = Workplace::new();
    assert_eq!(new_emitter(&place, "my-loop", "loop").code, Some(0));
    let bench = place.path("bench");
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition", "2024", "-o"]).arg(&bench).arg(place.path("my-loop/benches/bundled.rs"));
    assert!(rustc.env("CARGO_PKG_NAME", "my-loop").status().unwrap().success());
    let ran = Command::new(&bench).env("PATH", "").env_remove("FUSEBOX").output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(!ran.status.success() && said.contains("cannot run fusebox: "), "{said}");
    assert!(said.contains("put the folder of fusebox into PATH, or its file's name into FUSEBOX"), "{said}");
    let ran = Command::new(&bench).env("FUSEBOX", "true").current_dir(place.folder()).output().unwrap();
    assert!(ran.status.success());
}
