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
//! become regions, whose values are the parts of HLO's tuples. Hints have no place in StableHLO and
//! are left out: configurations of a backend, statistics, and the accuracy that a result needs.

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
/// The first instruction that StableHLO cannot express, such as a fusion or an array with another
/// layout than row-major, with its place.
pub fn from_hlo(module: &Module) -> Result<Program, StablehloError> {
    functions::program(module)
}
