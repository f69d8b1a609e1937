//! Entry points that compile, execute, or read what the compiler writes.

mod answers;
mod executables;
mod kernel_ir;
mod npz;
mod programs;

use fusebox_compiler::CompileError;

use crate::Target;
use crate::seeds::Seeds;

/// The targets, in the order in which they run.
pub(super) const NAMES: [&str; 5] = ["npz", "executables", "answers", "kernel-ir", "programs"];

/// Returns the target with this name.
///
/// # Errors
/// If there is no such target, or it cannot be created.
pub(super) fn open(name: &str, seeds: &Seeds) -> Result<Box<dyn Target>, String> {
    Ok(match name {
        "npz" => Box::new(npz::Npz::new().map_err(|error| error.to_string())?),
        "executables" => Box::new(executables::Executables::new(seeds)?),
        "answers" => Box::new(answers::Answers::new(seeds)),
        "kernel-ir" => Box::new(kernel_ir::KernelIr::new(seeds)),
        "programs" => Box::new(programs::Programs::new(seeds)),
        _ => return Err(format!("there is no target {name}; there are {}", super::names().join(", "))),
    })
}

/// Fails if the error is an internal error. The compiler may reject bad input, but bad input must
/// not cause an internal error.
fn judge(error: &CompileError) -> Result<(), String> {
    if error.is_internal() { Err(error.to_string()) } else { Ok(()) }
}
