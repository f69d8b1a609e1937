//! Converts HLO to StableHLO.
//!
//! ```text
//! functions.rs    the module, its entry, functions
//! operations.rs   operations by name, and their attributes
//! control.rs      loops, branches, computations that are applied to elements
//! custom_call.rs, collectives.rs
//! exporter.rs     the conversion of a module: blocks, values, locations
//! push.rs         adds an operation
//! tuples.rs       tuples as one value, and their elements
//! held.rs         the values that hold the results of instructions
//! ```
//!
//! The conversion is the reverse of [`to_hlo`](crate::to_hlo). Computations of loops and branches
//! become regions. A region uses the leaves of HLO's tuples as separate values. The conversion
//! omits hints, because StableHLO cannot express them: configurations of a backend, statistics, and
//! the accuracy that a result needs.

mod collectives;
mod control;
mod custom_call;
mod exporter;
mod functions;
mod held;
mod operations;
mod push;
mod tuples;

use fusebox_core::hlo::Module;

use crate::StablehloError;
use crate::program::Program;

type Exported<T> = Result<T, StablehloError>;

/// Converts a module. The function `main` of the program is the module's entry.
///
/// # Errors
/// Returns an error for the first instruction that StableHLO cannot express, such as a fusion, with
/// the location of the instruction. Also fails if an argument or a result of the entry is not
/// row-major.
pub fn from_hlo(module: &Module) -> Result<Program, StablehloError> {
    functions::program(module)
}
