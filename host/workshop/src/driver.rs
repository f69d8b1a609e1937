//! Runs executables for NVIDIA GPUs on the software driver, which `docs/gpu-without-a-card.md`
//! describes. The software driver is a library that programs load instead of NVIDIA's driver. A
//! program finds NVIDIA's driver in the folders that `LD_LIBRARY_PATH` contains when the program
//! starts. Therefore each executable runs in a process of its own.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fusebox_files::{SizeLimit, WriteError};
use fusebox_run::inputs::InputChoice;
use fusebox_runtime::{Executable, FormatError, Target};
use tempfile::TempDir;
use thiserror::Error;

use crate::counts::KernelCounts;

/// The environment variable that names the library of the software driver.
pub const VARIABLE: &str = "FUSEBOX_CUDA_DRIVER";
/// The name under which programs look for NVIDIA's driver.
const LIBRARY: &str = "libcuda.so.1";
/// The variable with the folders in which programs look for libraries.
const FOLDERS: &str = "LD_LIBRARY_PATH";

/// The reason why an executable cannot run on the software driver.
#[derive(Debug, Error)]
pub enum DriverError {
    /// The user has not named a library, and the folders in `LD_LIBRARY_PATH` contain none.
    #[error(
        "this needs the software driver, a library that executes code for NVIDIA GPUs without a GPU. `cargo build \
         --release -p software-cuda` builds it, and --driver target/release/libsoftware_cuda.so or the variable \
         {VARIABLE} names it"
    )]
    Missing,
    /// The named library does not exist.
    #[error(
        "the software driver {} is no file: `cargo build --release -p software-cuda` builds \
         target/release/libsoftware_cuda.so", .0.display()
    )]
    NoFile(PathBuf),
    /// The executable is not for NVIDIA GPUs.
    #[error("the software driver executes code for NVIDIA GPUs, and this program is compiled for {0}")]
    OtherTarget(Target),
    /// A request to the system failed.
    #[error("{what}: {source}")]
    System {
        /// Description of the request.
        what: &'static str,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The executable cannot be written as a file.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The execution failed.
    #[error("on the software driver: {0}")]
    Failed(String),
    /// The library executed the program, but did not count anything.
    #[error(
        "{} has written no counts. Is it the software driver? `cargo build --release -p software-cuda` builds \
         target/release/libsoftware_cuda.so", .0.display()
    )]
    NoCounts(PathBuf),
    /// This version of fusebox cannot read the counts of the library, because they have another
    /// format.
    #[error(
        "{} counts in another way than this fusebox expects: {source}. Build both from the same sources",
        library.display()
    )]
    OtherCounts {
        /// File of the library.
        library: PathBuf,
        /// The difference.
        source: serde_json::Error,
    },
}

/// The software driver, and a program that runs executables.
#[derive(Debug)]
pub struct SoftwareDriver {
    /// File of the library.
    library: PathBuf,
    /// A fusebox program.
    program: PathBuf,
    /// Folder that contains the library under the name that programs look for.
    folder: TempDir,
}

impl SoftwareDriver {
    /// Returns the driver that `named` or the variable [`VARIABLE`] names, or otherwise the driver
    /// that programs find in `LD_LIBRARY_PATH`. `program` is a fusebox program (`fusebox` or
    /// `fusebox-run`), which runs the executables.
    ///
    /// # Errors
    /// If there is no such library.
    pub fn find(named: Option<&Path>, program: PathBuf) -> Result<SoftwareDriver, DriverError> {
        match SoftwareDriver::chosen(named, program.clone())? {
            Some(driver) => Ok(driver),
            None => SoftwareDriver::new(in_folders().ok_or(DriverError::Missing)?, program),
        }
    }

    /// Returns the driver that `named` or the variable [`VARIABLE`] names, or `None` if the user
    /// has not chosen one. `program` is a fusebox program, which runs the executables.
    ///
    /// # Errors
    /// If the named library does not exist.
    pub fn chosen(named: Option<&Path>, program: PathBuf) -> Result<Option<SoftwareDriver>, DriverError> {
        let variable = || std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
        let library = named.map(Path::to_owned).or_else(variable);
        library.map(|library| SoftwareDriver::new(library, program)).transpose()
    }

    fn new(library: PathBuf, program: PathBuf) -> Result<SoftwareDriver, DriverError> {
        if !library.is_file() {
            return Err(DriverError::NoFile(library));
        }
        let failed = |source| DriverError::System { what: "a folder for the software driver", source };
        let folder = tempfile::tempdir().map_err(failed)?;
        let whole = std::path::absolute(&library).map_err(failed)?;
        symlink(whole, folder.path().join(LIBRARY)).map_err(failed)?;
        Ok(SoftwareDriver { library, program, folder })
    }

    /// Runs an executable once. Returns the counts of each kernel, by the kernel's name. Writes
    /// the results to `outputs`, in the format of inputs.
    ///
    /// # Errors
    /// If the executable is not for an NVIDIA GPU, if the driver reports a fault of a kernel, or if
    /// a file cannot be written.
    pub fn run(
        &self,
        executable: &Executable,
        inputs: &InputChoice,
        outputs: Option<&Path>,
    ) -> Result<BTreeMap<String, KernelCounts>, DriverError> {
        let Target::Cuda(capability) = executable.target else {
            return Err(DriverError::OtherTarget(executable.target));
        };
        let failed = |source| DriverError::System { what: "a folder for an executable", source };
        let folder = tempfile::tempdir().map_err(failed)?;
        let (file, counts) = (folder.path().join("program.fusebox"), folder.path().join("counts.json"));
        fusebox_files::write(&file, &executable.to_bytes()?)?;
        let mut command = self.command(capability, &counts);
        if self.program.file_stem().is_none_or(|name| name != "fusebox-run") {
            command.arg("run");
        }
        command.arg(&file).args(["--file-limit", "none", "--seed", &inputs.seed.to_string()]);
        inputs.inputs.iter().for_each(|path| _ = command.arg("--inputs").arg(path));
        outputs.iter().for_each(|path| _ = command.arg("--outputs").arg(path));
        let ran = command.output().map_err(|source| DriverError::System { what: "a second fusebox", source })?;
        if !ran.status.success() {
            return Err(DriverError::Failed(String::from_utf8_lossy(&ran.stderr).trim().to_owned()));
        }
        let text = fusebox_files::read(&counts, SizeLimit::default());
        let text = text.map_err(|_| DriverError::NoCounts(self.library.clone()))?;
        let library = || self.library.clone();
        serde_json::from_slice(&text).map_err(|source| DriverError::OtherCounts { library: library(), source })
    }

    /// Returns a command that runs the program with a device of this compute capability.
    fn command(&self, capability: u32, counts: &Path) -> Command {
        let mut folders = OsString::from(self.folder.path());
        if let Some(others) = std::env::var_os(FOLDERS).filter(|others| !others.is_empty()) {
            folders.push(":");
            folders.push(others);
        }
        let mut command = Command::new(&self.program);
        command.env(FOLDERS, folders).env("SOFTWARE_CUDA_DEVICE", format!("sm_{capability}"));
        command.env("SOFTWARE_CUDA_COUNTS", counts);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }
}

/// Returns the library that programs find as NVIDIA's driver in `LD_LIBRARY_PATH`.
fn in_folders() -> Option<PathBuf> {
    let folders = std::env::var_os(FOLDERS)?;
    std::env::split_paths(&folders).map(|folder| folder.join(LIBRARY)).find(|library| library.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_no_file_is_an_error() {
        let error = SoftwareDriver::chosen(Some(Path::new("absent.so")), PathBuf::from("fusebox")).unwrap_err();
        assert!(error.to_string().contains("absent.so") && error.to_string().contains("cargo build"), "{error}");
    }
}
