//! The entry points of fusebox. Each entry point has one file.

mod artifacts;
#[cfg(feature = "compiler")]
mod compiler;
mod modules;
mod stablehlo;

use crate::Target;
use crate::seeds::Seeds;

/// The targets that read modules.
const READERS: [&str; 4] = ["text", "proto", "stablehlo", "artifacts"];

/// Returns the names of all targets, in the order in which they run.
pub fn names() -> Vec<&'static str> {
    #[cfg(feature = "compiler")]
    let others = compiler::NAMES;
    #[cfg(not(feature = "compiler"))]
    let others: [&str; 0] = [];
    READERS.into_iter().chain(others).collect()
}

/// Returns the target with this name.
///
/// # Errors
/// If there is no such target, or it cannot be created.
pub fn open(name: &str, seeds: &Seeds) -> Result<Box<dyn Target>, String> {
    Ok(match name {
        "text" => Box::new(modules::Text::new(seeds)),
        "proto" => Box::new(modules::Proto::new(seeds)),
        "stablehlo" => Box::new(stablehlo::Stablehlo::new().map_err(|error| error.to_string())?),
        "artifacts" => Box::new(artifacts::Artifacts::new().map_err(|error| error.to_string())?),
        #[cfg(feature = "compiler")]
        _ => return compiler::open(name, seeds),
        #[cfg(not(feature = "compiler"))]
        _ => return Err(format!("there is no target {name}; there are {}", names().join(", "))),
    })
}
