//! HLO to simpler HLO. One pass a file; afterwards the module is in the form fusion expects:
//!
//! * no `call`, `bitcast`, `copy`, `opt-barrier`; fusions only at the top level
//! * every array row-major, no layouts, no dynamic sizes
//! * no instruction without elements except constants
//! * no common subexpressions, no dead code

mod canonical_ops;
mod common_subexpressions;
mod constant_folding;
mod dead_code;
mod empty_arrays;
mod four_bit_integers;
mod inline_calls;
mod row_major;
mod supported;
mod tuples;

#[cfg(test)]
mod tests;

pub use dead_code::renumber;
pub use inline_calls::splice;

use fusebox_core::hlo::Module;

use crate::CompileError;

/// A pass: its name in dumps, and what it does.
pub type Pass = (&'static str, fn(&mut Module) -> Result<(), CompileError>);

/// All passes in order.
pub const PASSES: &[Pass] = &[
    ("supported", supported::check),
    ("inline-calls", inline_calls::run),
    ("row-major", row_major::run),
    ("canonical-ops", canonical_ops::run),
    ("four-bit-integers", four_bit_integers::run),
    ("tuples", tuples::run),
    ("empty-arrays", empty_arrays::run),
    ("constant-folding", constant_folding::run),
    ("common-subexpressions", common_subexpressions::run),
    ("dead-code", dead_code::run),
];
