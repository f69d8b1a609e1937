//! Checks runs whose standard output and standard error are full, closed, or have no reader.

use std::process::Stdio;

use crate::program::{Ran, Workplace};

const MODULE: &str = "HloModule m
ENTRY main {
  x = f32[4] parameter(0)
  ROOT a = f32[4] add(x, x)
}
";

/// Every command that prints.
const COMMANDS: [&[&str]; 14] = [
    &["run", "m.hlo"],
    &["run", "m.hlo", "--print"],
    &["run", "m.hlo", "--interpreter"],
    &["bench", "m.hlo"],
    &["bench", "m.hlo", "--json"],
    &["compile", "m.hlo", "--emit", "hlo"],
    &["explain", "m.hlo"],
    &["explain", "m.hlo", "--json"],
    &["emitters"],
    &["emitters", "--json"],
    &["indexing", "m.hlo"],
    &["--help"],
    &["--version"],
    &["run", "--help"],
];

#[test]
fn a_full_device_behind_standard_output_is_an_error_of_the_file_system() {
    let place = Workplace::with_module(MODULE);
    for arguments in COMMANDS {
        let ran = place.shell("\"$@\" > /dev/full", arguments);
        assert_eq!(ran.code, Some(1), "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains("cannot write standard output: No space left"), "{arguments:?}: {}", ran.err);
        assert!(!ran.err.contains("bug"), "{arguments:?}: {}", ran.err);
    }
}

/// Runs the program. Closes the reading end of its output before the program prints.
fn unread(place: &Workplace, arguments: &[&str]) -> Ran {
    let mut child = place.command(arguments);
    let mut child = child.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    Ran::from(child.wait_with_output().unwrap())
}

#[test]
fn output_that_nobody_reads_ends_quietly() {
    let place = Workplace::with_module(MODULE);
    for arguments in COMMANDS {
        let ran = unread(&place, arguments);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{arguments:?}");
        let ran = place.shell("\"$@\" >&-", arguments);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "closed: {arguments:?}");
    }
    unread(&place, &["run", "m.hlo", "--outputs", "out.npz"]).succeeded();
    let kept = Workplace::with_module(MODULE);
    kept.run(&["run", "m.hlo", "--outputs", "out.npz"]).succeeded();
    let read = |place: &Workplace| std::fs::read(place.path("out.npz")).unwrap();
    assert!(read(&place) == read(&kept), "what was asked for is done");
}

#[test]
fn a_complaint_that_cannot_be_written_changes_no_exit_code() {
    let place = Workplace::with_module(MODULE);
    place.write("bad.hlo", b"HloModule m\nENTRY main { ROOT x = f32[4] frobnicate() }\n");
    for (code, arguments) in [
        (0, &["run", "m.hlo"][..]),
        (1, &["run", "none.hlo"]),
        (1, &["run", "bad.hlo"]),
        (1, &["run", "m.hlo", "--inputs", "none.npz"]),
        (2, &["run", "m.hlo", "--target", "tpu"]),
        (2, &["run"]),
        (2, &["--frobnicate"]),
        (2, &[]),
    ] {
        for line in ["\"$@\" 2> /dev/full", "\"$@\" 2>&-", "\"$@\" > /dev/null 2>&-"] {
            assert_eq!(place.shell(line, arguments).code, Some(code), "{line}: {arguments:?}");
        }
    }
    assert_eq!(place.shell("\"$@\" > /dev/full 2> /dev/full", &["run", "m.hlo"]).code, Some(1));
}
