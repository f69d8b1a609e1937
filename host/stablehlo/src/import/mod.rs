//! Converts StableHLO to HLO.
//!
//! ```text
//! functions.rs    functions, calls, the module's entry
//! operations.rs   operations by name: elementwise.rs, movement.rs, contraction.rs, whole.rs,
//!                 custom_call.rs, collectives.rs, chlo/
//! regions.rs      loops, branches, computations that are applied to elements
//! manual.rs       shardings, computations that every device executes
//! call.rs         an operation that is being converted
//! importer.rs     the conversion of a program: blocks, values, origins of instructions
//! body.rs         values of a computation
//! dynamic.rs      operations whose sizes other values determine; known.rs: these values
//! attributes.rs, constants.rs, types.rs, location.rs
//! ```
//!
//! StableHLO and HLO differ in three respects. An HLO computation sees only its parameters, so
//! values from outside a region become parameters. An HLO instruction has one result, so several
//! results become a tuple. A broadcast of HLO does not repeat a dimension of size 1, so the
//! importer first removes this dimension by a reshape.

mod attributes;
mod body;
mod call;
mod chlo;
mod collectives;
mod constants;
mod contraction;
mod custom_call;
mod dynamic;
mod elementwise;
mod functions;
mod importer;
mod known;
mod location;
mod manual;
mod movement;
mod operations;
mod regions;
mod types;
mod whole;

use fusebox_core::hlo::Module;

use crate::StablehloError;
use crate::program::Program;

type Imported<T> = Result<T, StablehloError>;

/// Converts a program. The entry of the module is the function `main`.
///
/// # Errors
/// Fails if fusebox does not support an operation, a type or an attribute. The error states the
/// location of the operation.
pub fn to_hlo(program: &Program) -> Result<Module, StablehloError> {
    functions::module(program)
}

/// Whether arguments of the function `main` have dimensions of unknown size.
pub fn has_unknown_arguments(program: &Program) -> bool {
    functions::unknown_argument(program).is_some()
}

/// Converts a program for arguments of the sizes `arguments`: one list of sizes per argument of the
/// function `main`. The sizes of the arguments determine all sizes that the program does not state.
///
/// # Errors
/// Fails like [`to_hlo`], and also if the sizes do not fit the arguments of the program.
pub fn to_hlo_for(program: &Program, arguments: &[Vec<i64>]) -> Result<Module, StablehloError> {
    functions::module(&functions::with_arguments(program, arguments)?)
}
