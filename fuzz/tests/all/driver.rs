//! Checks that the driver detects findings, panics, signals, and cases that never end.

use std::path::Path;
use std::time::Duration;

use fusebox_fuzz::driver::{self, Report};
use fusebox_fuzz::worker::Cases;

/// Runs cases 0 and 1 with a script as the worker.
fn run(script: &str) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("worker.sh");
    std::fs::write(&program, format!("#!/bin/sh\necho 0\necho 1\n{script}\n")).unwrap();
    std::process::Command::new("chmod").arg("+x").arg(&program).status().unwrap();
    let cases = Cases {
        target: "any".into(),
        seed: 1,
        first: 0,
        most: 2,
        is_memory_limited: true,
        time: Duration::from_secs(60),
    };
    driver::run_with_patience(Path::new(&program), &cases, folder.path(), Duration::from_millis(500)).unwrap()
}

#[test]
fn outcomes_are_counted() {
    let report = run("echo 'counts refused=1 read=1'");
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert_eq!((report.cases, report.outcomes["refused"], report.outcomes["read"]), (2, 1, 1));
}

#[test]
fn findings_signals_exit_codes_and_silence_are_told_with_the_case() {
    for (script, words) in [
        ("echo 'found it is wrong'; exit 1", "it is wrong"),
        ("kill -SEGV $$", "signal: 11"),
        ("exit 134", "exit status: 134"),
        ("sleep 100", "no end after"),
    ] {
        let report = run(script);
        let (case, what) = &report.findings[0];
        assert!(*case == 1 && what.contains(words), "{script}: {:?}", report.findings);
    }
}
