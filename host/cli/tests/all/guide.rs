//! Runs the steps of `docs/writing-an-emitter.md` exactly as the guide describes them, in an empty
//! folder.

use std::path::Path;
use std::process::Command;

use crate::program::{Workplace, building};

#[test]
fn every_step_of_the_guide_works() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let guide = std::fs::read_to_string(root.join("docs/writing-an-emitter.md")).unwrap();
    let steps: Vec<String> =
        guide.split("```sh\n").skip(1).map(|rest| unindented(rest.split("```").next().unwrap())).collect();
    assert_eq!(steps.len(), 6, "the guide has other steps");
    let place = Workplace::new();
    // Use the lock file of the example, so that cargo needs no network.
    let lock = root.join("examples/out-of-tree-emitter/Cargo.lock");
    let mut script = steps.join("\n");
    for name in ["my-loop", "my-norm"] {
        let lock = format!("[ -e Cargo.lock ] || sed s/simple-loop/{name}/ {} > Cargo.lock\n", lock.display());
        script = script.replacen(&format!("cd {name}\n"), &format!("cd {name}\n{lock}"), 1);
    }
    let program = Path::new(env!("CARGO_BIN_EXE_fusebox"));
    let path = std::env::var("PATH").unwrap();
    let mut shell = Command::new("bash");
    shell.args(["-euc", &script]).current_dir(place.folder()).env_remove("FUSEBOX_EMITTER_PATH");
    shell.env("XDG_CACHE_HOME", place.path("cache"));
    shell.env_remove("FUSEBOX").env("PATH", format!("{}:{path}", program.parent().unwrap().display()));
    let output = building(&mut shell).output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{said}");
    let summary = "\nbenches/large.hlo  warm";
    for words in ["conforms", "my-loop 0.1.0", "result 0: f32[1000,300]", "B: 1 kernels by my-loop 0.1.0", summary] {
        assert!(said.contains(words), "no `{words}`:\n{said}");
    }
    // The change that the guide describes must apply. The kernel must then be right, and have
    // blocks of 64 elements. The template adds an empty block.
    let changed = std::fs::read_to_string(place.path("my-loop/src/lib.rs")).unwrap();
    assert!(changed.contains("ELEMENTS: i64 = 64;"), "the change that the guide makes has no place to be made in");
    let (before, few) = said.split_once("few.hlo on cpu").unwrap().1.split_once("few.hlo on cpu").unwrap();
    let (few, norm) = few.split_once("norm.hlo on cpu").unwrap();
    // Which side is faster depends on the machine and its load, so the test checks the launch.
    assert!(before.contains("  B    warm ") && few.contains("  B    warm "), "{said}");
    let library = concat!("loop=", env!("CARGO_TARGET_TMPDIR"), "/plugins/release/libmy_loop.so");
    let explained = place.run(&["explain", "my-loop/few.hlo", "--emitter", library]).succeeded();
    assert!(explained.contains("my-loop 0.1.0") && explained.contains(" 65 x 1 "), "{explained}");
    assert!(few.contains("both right, by the interpreter\n  results: equal, 4096 elements"), "{said}");
    assert!(few.contains("kind my-norm\ntakes 1 of ") && norm.contains("both right, by "), "{said}");
    assert!(few.contains("my-norm 0.1.0 (") && norm.contains("B: 1 kernels by my-norm 0.1.0"), "{said}");
    assert!(norm.contains("1 regions that can be cut in several ways"), "{said}");
    assert!(std::fs::read_to_string(place.path("my-loop/page/index.html")).unwrap().contains("my-loop 0.1.0"));
}

/// Removes the indentation of an item of a list.
fn unindented(text: &str) -> String {
    text.lines().map(|line| line.strip_prefix("   ").unwrap_or(line)).flat_map(|line| [line, "\n"]).collect()
}
