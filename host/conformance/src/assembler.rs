//! Runs NVIDIA's assembler, if it is installed.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Assembles PTX for an architecture like `sm_80`. Returns the assembler's report, which states
/// registers, spills and shared memory. The assembler is the file that `FUSEBOX_PTXAS` names, or
/// `.tools/ptxas` if this variable is not set. Returns `None` if the assembler's file does not
/// exist.
///
/// # Errors
/// If the assembler rejects the code. The error contains the assembler's report and the code.
pub fn assemble(ptx: &str, architecture: &str) -> Result<Option<String>, String> {
    let fetched = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/ptxas");
    let program = std::env::var_os("FUSEBOX_PTXAS").map_or(fetched, PathBuf::from);
    if !program.exists() {
        eprintln!("skipped: no ptxas at {}", program.display());
        return Ok(None);
    }
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = folder.path().join("kernel.ptx");
    std::fs::write(&file, ptx).map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(["-v", "-o", "/dev/null", &format!("-arch={architecture}")]).arg(&file);
    let output = command.output().map_err(|error| error.to_string())?;
    let report = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(Some(report)) } else { Err(format!("{report}\n{ptx}")) }
}
