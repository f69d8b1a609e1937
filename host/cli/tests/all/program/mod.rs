//! Runs the program in a temporary folder.

mod browser;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use std::io::Write;

/// Sets the variables of a command that builds crates. All tests build into one folder. The
/// libraries are not optimised, because the host compiles the kernels.
pub fn building(command: &mut Command) -> &mut Command {
    command.env("CARGO_TARGET_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/plugins"));
    command.env("CARGO_NET_OFFLINE", "true").env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
}

/// A folder with files, in which the program runs.
pub struct Workplace {
    folder: tempfile::TempDir,
}

/// Exit code and output of a run.
pub struct Ran {
    /// Exit code.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Workplace {
    /// Creates an empty folder.
    pub fn new() -> Workplace {
        Workplace { folder: tempfile::tempdir().unwrap() }
    }

    /// Creates a folder with one module, `m.hlo`.
    pub fn with_module(text: &str) -> Workplace {
        let place = Workplace::new();
        place.write("m.hlo", text.as_bytes());
        place
    }

    /// Writes a file.
    pub fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    /// Returns the path of a file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the path of the folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs the program with these arguments.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with_input(arguments, "")
    }

    /// Runs the program with environment variables set.
    pub fn run_with_environment(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
        self.run_with(arguments, "", variables)
    }

    /// Runs the program with text on standard input.
    pub fn run_with_input(&self, arguments: &[&str], input: &str) -> Ran {
        self.run_with(arguments, input, &[])
    }

    /// Returns a command that runs the program with these arguments. Callers use it to run the
    /// program in a special way.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fusebox"));
        command.args(arguments).current_dir(self.folder()).env_remove("FUSEBOX_EMITTER_PATH");
        command.env("XDG_CACHE_HOME", self.path("cache"));
        command
    }

    /// Runs the program from a shell. `line` is a shell command in which `"$@"` stands for the
    /// program and its arguments.
    pub fn shell(&self, line: &str, arguments: &[&str]) -> Ran {
        let mut command = Command::new("sh");
        command.args(["-c", line, "sh", env!("CARGO_BIN_EXE_fusebox")]).args(arguments);
        command.current_dir(self.folder()).env_remove("FUSEBOX_EMITTER_PATH").stdin(Stdio::null());
        command.env("XDG_CACHE_HOME", self.path("cache"));
        Ran::from(command.output().unwrap())
    }

    /// Returns the names of the files in the folder.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn run_with(&self, arguments: &[&str], input: &str, variables: &[(&str, &str)]) -> Ran {
        let mut command = self.command(arguments);
        command.envs(variables.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A program that does not read its input closes the pipe. This is not an error of the test.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        Ran::from(child.wait_with_output().unwrap())
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Ran {
    /// Asserts success and returns the output.
    pub fn succeeded(self) -> String {
        assert_eq!(self.code, Some(0), "{}{}", self.out, self.err);
        self.out
    }

    /// Asserts that the exit code is `code` and that the message contains all these words.
    pub fn failed(self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{}{}", self.out, self.err);
        for word in words {
            assert!(self.err.contains(word), "`{word}` is missing in: {}", self.err);
        }
        assert!(!self.err.contains("panicked"), "{}", self.err);
    }
}
