//! Merges instructions that compute the same value.

use fusebox_core::hlo::Module;

use crate::CompileError;
use crate::equal_instructions::merge_equal;
use crate::side_effects::SideEffects;

/// Merges equal instructions within each computation.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    let effects = SideEffects::of(module);
    for computation in &mut module.computations {
        *computation = merge_equal(computation, &effects);
    }
    Ok(())
}
