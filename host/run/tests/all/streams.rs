//! Checks files that are not modules, and output streams that fail. The program must treat them as
//! `fusebox` does.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use fusebox_runtime::{Executable, Target, ValueShape};

/// Returns an executable that returns the empty tuple.
fn nothing() -> Executable {
    Executable {
        name: "nothing".into(),
        target: Target::Cpu,
        instruction_sets: Vec::new(),
        code: Vec::new(),
        kernels: Vec::new(),
        host_ops: Vec::new(),
        allocations: Vec::new(),
        thunks: Vec::new(),
        parameters: Vec::new(),
        result: fusebox_runtime::Binding {
            shape: ValueShape::Tuple(Vec::new()),
            leaves: Vec::new(),
            sizes: Vec::new(),
        },
    }
}

/// Runs the program from a shell. `line` is a shell command in which `"$@"` stands for the program
/// and its arguments.
fn shell(folder: &Path, line: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", line, "sh", env!("CARGO_BIN_EXE_fusebox-run")]).args(arguments);
    command.current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("m.fusebox"), nothing().to_bytes().unwrap()).unwrap();
    folder
}

#[test]
fn streams_that_take_nothing_are_no_bugs() {
    let folder = folder();
    let code = |line: &str, arguments: &[&str]| shell(folder.path(), line, arguments).status.code();
    for arguments in [&["m.fusebox", "--bench"][..], &["--help"], &["--version"]] {
        assert_eq!(code("\"$@\" > /dev/full", arguments), Some(1), "{arguments:?}");
        assert_eq!(code("\"$@\" >&-", arguments), Some(0), "{arguments:?}");
    }
    for (wanted, arguments) in [(1, &["none.fusebox"][..]), (2, &[]), (2, &["--frobnicate"])] {
        for line in ["\"$@\" 2> /dev/full", "\"$@\" 2>&-"] {
            assert_eq!(code(line, arguments), Some(wanted), "{line}: {arguments:?}");
        }
    }
}

#[test]
fn files_are_treated_as_elsewhere() {
    let folder = folder();
    let failed = |arguments: &[&str], code: i32, words: &str| {
        let output = shell(folder.path(), "timeout 60 \"$@\"", arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    };
    assert!(Command::new("mkfifo").arg(folder.path().join("fifo")).status().unwrap().success());
    failed(&["fifo"], 1, "a FIFO");
    failed(&["/dev/zero"], 1, "a character device");
    failed(&["m.fusebox", "--inputs", "fifo"], 1, "a FIFO");
    failed(&["m.fusebox", "--file-limit", "8"], 1, "--file-limit");
    failed(&["m.fusebox", "--outputs", "m.fusebox"], 2, "the same file as the input");
    failed(&["m.fusebox", "--outputs", "/dev/full"], 1, "/dev/full");
    failed(&["m.fusebox", "--outputs", "none/out.npz"], 1, "none/out.npz");
}
