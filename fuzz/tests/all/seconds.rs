//! Runs every target for three seconds. The variable `FUSEBOX_FUZZ_SECONDS` changes the time, and
//! `FUSEBOX_FUZZ_SEED` changes the seed.

use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use fusebox_fuzz::driver;
use fusebox_fuzz::worker::Cases;

fn asked_for<T: FromStr>(variable: &str) -> Option<T> {
    std::env::var(variable).ok()?.parse().ok()
}

fn finds_nothing(target: &str) {
    let seconds = asked_for("FUSEBOX_FUZZ_SECONDS").unwrap_or(3.0);
    let seed = asked_for("FUSEBOX_FUZZ_SEED").unwrap_or(1);
    let cases = Cases {
        target: target.into(),
        seed,
        first: 0,
        most: u64::MAX,
        is_memory_limited: true,
        time: Duration::from_secs_f64(seconds),
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("findings");
    let report = driver::run(Path::new(env!("CARGO_BIN_EXE_fusebox-fuzz")), &cases, &folder).unwrap();
    println!("{target}: {} cases, {:?}", report.cases, report.outcomes);
    for (case, what) in &report.findings {
        let again = format!("cargo run --release -p fusebox-fuzz -- {target} --seed {seed} --first {case} --cases 1");
        println!("{again}\n{what}");
    }
    assert!(report.findings.is_empty(), "{} findings, inputs in {}", report.findings.len(), folder.display());
    assert!(report.cases > 0, "nothing was run");
}

#[test]
fn text() {
    finds_nothing("text");
}

#[test]
fn proto() {
    finds_nothing("proto");
}

#[test]
fn stablehlo() {
    finds_nothing("stablehlo");
}

#[test]
fn artifacts() {
    finds_nothing("artifacts");
}

#[cfg(feature = "compiler")]
#[test]
fn npz() {
    finds_nothing("npz");
}

#[cfg(feature = "compiler")]
#[test]
fn executables() {
    finds_nothing("executables");
}

#[cfg(feature = "compiler")]
#[test]
fn answers() {
    finds_nothing("answers");
}

#[cfg(feature = "compiler")]
#[test]
fn kernel_ir() {
    finds_nothing("kernel-ir");
}

#[cfg(feature = "compiler")]
#[test]
fn programs() {
    finds_nothing("programs");
}
