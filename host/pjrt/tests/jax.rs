//! Runs the tests of the Python package, if JAX is installed.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

#[allow(dead_code, reason = "other tests use the other libraries")]
#[path = "../../plugins/tests/boundary/built.rs"]
mod built;

/// Version of JAX for which the package has been tested.
const JAX: &str = "0.10.2";

/// Returns the library that cargo has built for this test.
fn library() -> PathBuf {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
    let path = folder.join("libfusebox_pjrt.so");
    assert!(path.exists(), "cargo has built no {}", path.display());
    path
}

#[test]
fn programs_of_jax_run() {
    let version = Command::new("python3").args(["-c", "import jax; print(jax.__version__)"]).output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    if version != JAX {
        eprintln!("skipped: this test needs JAX {JAX}, and python3 has `{version}`");
        return;
    }
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/fusebox-jax");
    let output = Command::new("python3")
        .args(["-W", "ignore", "-m", "unittest", "discover", "-s"])
        .arg(package.join("tests"))
        .env("PYTHONPATH", &package)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("FUSEBOX_PJRT_LIBRARY", library())
        .env("FUSEBOX_TEST_ATTENTION", built::attention())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
