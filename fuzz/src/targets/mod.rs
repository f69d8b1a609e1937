//! The doors, one file each.

mod answers;
mod executables;
mod kernel_ir;
mod modules;
mod npz;
mod programs;

use fusebox_compiler::CompileError;

use crate::Target;
use crate::seeds::Seeds;

/// All targets, in the order in which they run.
pub const NAMES: [&str; 7] = ["text", "proto", "npz", "executables", "answers", "kernel-ir", "programs"];

/// The target of that name.
///
/// # Errors
/// If there is none, or its seeds do not compile.
pub fn open(name: &str, seeds: &Seeds) -> Result<Box<dyn Target>, String> {
    Ok(match name {
        "text" => Box::new(modules::Text::new(seeds)),
        "proto" => Box::new(modules::Proto::new(seeds)),
        "npz" => Box::new(npz::Npz::new().map_err(|error| error.to_string())?),
        "executables" => Box::new(executables::Executables::new(seeds)?),
        "answers" => Box::new(answers::Answers::new(seeds)),
        "kernel-ir" => Box::new(kernel_ir::KernelIr::new(seeds)),
        "programs" => Box::new(programs::Programs::new(seeds)),
        _ => return Err(format!("there is no target {name}; there are {}", NAMES.join(", "))),
    })
}

/// What a compiler may say of bad input, and what it may not.
fn judge(error: &CompileError) -> Result<(), String> {
    match error.is_internal() {
        true => Err(error.to_string()),
        false => Ok(()),
    }
}
