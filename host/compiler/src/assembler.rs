//! Assembles PTX to machine code for GPUs, with NVIDIA's assembler `ptxas`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use thiserror::Error;

/// Environment variable that names the file of the assembler.
const VARIABLE: &str = "FUSEBOX_PTXAS";

/// The reason why kernels cannot be assembled.
#[derive(Debug, Error)]
pub enum AssemblerError {
    /// The variable `FUSEBOX_PTXAS` is set, but does not name a file.
    #[error("FUSEBOX_PTXAS names {}, which is no file", .0.display())]
    NoFile(PathBuf),
    /// The assembler was not found.
    #[error(
        "ptxas, NVIDIA's assembler, is not in PATH; it comes with CUDA and with the package nvidia-cuda-nvcc of PyPI \
         (setup.sh fetches it into .tools/). FUSEBOX_PTXAS may name it"
    )]
    Missing,
    /// The assembler cannot be started.
    #[error("cannot run {}: {source}", program.display())]
    Start {
        /// File of the assembler.
        program: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The file is a program that does not answer like NVIDIA's assembler.
    #[error("{} does not tell its version, so it is not NVIDIA's assembler: {report}", program.display())]
    NotAnAssembler {
        /// File of the program.
        program: PathBuf,
        /// Output of the program.
        report: String,
    },
    /// The assembler rejects the code: a bug in fusebox, or an assembler that is older than the
    /// target.
    #[error("{} refuses the kernels for {target}:\n{report}", program.display())]
    Refused {
        /// File of the assembler.
        program: PathBuf,
        /// Target of the code.
        target: String,
        /// The assembler's report.
        report: String,
    },
}

/// NVIDIA's assembler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembler {
    program: PathBuf,
    version: String,
}

/// Machine code that the assembler made of PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembled {
    /// Architecture of the machine code, for example `sm_90`.
    pub architecture: String,
    /// The machine code: an ELF file.
    pub cubin: Vec<u8>,
    /// The assembler's report about the resources of each kernel.
    pub report: String,
}

impl Assembler {
    /// Finds the assembler: the file that `FUSEBOX_PTXAS` names, or else the first file `ptxas` in
    /// the folders of `PATH` and in `more` folders.
    ///
    /// # Errors
    /// If there is no such file, or the file is not NVIDIA's assembler.
    pub fn find(more: &[&Path]) -> Result<Assembler, AssemblerError> {
        let program = program(more)?;
        let output = run(&program, &["--version"], "")?;
        let report = String::from_utf8_lossy(&output.stdout).into_owned();
        match report.lines().find_map(|line| line.strip_prefix("Cuda compilation tools, ")) {
            Some(version) => Ok(Assembler { version: version.to_owned(), program }),
            None => Err(AssemblerError::NotAnAssembler { program, report }),
        }
    }

    /// Returns the version of the assembler, for example `release 13.5, V13.5.37`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Assembles PTX. `target` is the architecture if the PTX states none.
    ///
    /// # Errors
    /// If the assembler cannot be started or rejects the code.
    pub fn assemble(&self, ptx: &str, target: &str) -> Result<Assembled, AssemblerError> {
        let architecture = architecture(ptx).unwrap_or(target).to_owned();
        let chosen = format!("-arch={architecture}");
        // The machine code contains the command line. These file names make it reproducible.
        let output = run(&self.program, &["-v", &chosen, "-o", "/dev/stdout", "/dev/stdin"], ptx)?;
        let report = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            return Ok(Assembled { architecture, cubin: output.stdout, report });
        }
        Err(AssemblerError::Refused { program: self.program.clone(), target: target.into(), report })
    }
}

fn program(more: &[&Path]) -> Result<PathBuf, AssemblerError> {
    if let Some(named) = std::env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
        let named = PathBuf::from(named);
        return if named.is_file() { Ok(named) } else { Err(AssemblerError::NoFile(named)) };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(more.iter().map(PathBuf::from));
    folders.map(|folder| folder.join("ptxas")).find(|it| it.is_file()).ok_or(AssemblerError::Missing)
}

/// Runs the assembler with this text as standard input.
fn run(program: &Path, arguments: &[&str], input: &str) -> Result<Output, AssemblerError> {
    let failed = |source| AssemblerError::Start { program: program.into(), source };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let pipe = child.stdin.take();
    std::thread::scope(|scope| {
        // If the assembler fails, it may stop reading, so an error of this write is ignored. The
        // assembler's status is handled by the caller.
        scope.spawn(move || pipe.map(|mut pipe| pipe.write_all(input.as_bytes())));
        child.wait_with_output()
    })
    .map_err(failed)
}

/// Returns the architecture in the code's `.target` directive. The directive takes precedence over
/// the requested target: if the directive's architecture has a letter as suffix, the assembler
/// requires exactly this architecture.
fn architecture(ptx: &str) -> Option<&str> {
    let directive = ptx.lines().find_map(|line| line.strip_prefix(".target "))?;
    directive.split(',').next().map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_architecture_is_that_of_the_code() {
        assert_eq!(architecture(".version 8.0\n.target sm_90a, debug\n"), Some("sm_90a"));
        assert_eq!(architecture("no code"), None);
    }
}
