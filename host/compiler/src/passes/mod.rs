//! HLO to simpler HLO. One pass a file; afterwards the module is in the form fusion expects:
//!
//! * no `ragged-dot`, `scaled-dot`, `scan`
//! * no `call`, `bitcast`, `copy`, `opt-barrier`; fusions only at the top level
//! * every array row-major, no layouts, no dynamic sizes
//! * no instruction without elements except constants
//! * no reshapes, broadcasts or transposes in a row
//! * no common subexpressions, no dead code

mod batch_norm;
mod canonical_ops;
mod common_subexpressions;
mod constant_folding;
mod control_flow;
mod cumulative;
mod dead_code;
mod empty_arrays;
mod expansions;
mod four_bit_integers;
mod identity;
mod inline_calls;
mod loop_invariants;
mod movements;
mod row_major;
mod split_reductions;
mod supported;
mod top_k;
mod tuples;
mod wide_sums;

#[cfg(test)]
mod tests;

pub use dead_code::renumber;
pub use inline_calls::splice;

use fusebox_core::hlo::Module;

use crate::CompileError;
use crate::fuse::Claims;

/// What a pass does. It may ask what emitters claim, and which device they do it for.
pub type Run = fn(&mut Module, &mut Claims) -> Result<(), CompileError>;

/// All passes in order, with their names in dumps.
pub const PASSES: &[(&str, Run)] = &[
    ("supported", |module, _| supported::check(module)),
    ("expansions", |module, _| expansions::run(module)),
    ("inline-calls", |module, _| inline_calls::run(module)),
    ("row-major", |module, _| row_major::run(module)),
    ("batch-norm", |module, _| batch_norm::run(module)),
    ("canonical-ops", |module, _| canonical_ops::run(module)),
    ("four-bit-integers", |module, _| four_bit_integers::run(module)),
    ("tuples", |module, _| tuples::run(module)),
    ("movements", |module, _| movements::run(module)),
    ("top-k", |module, _| top_k::run(module)),
    ("empty-arrays", |module, _| empty_arrays::run(module)),
    ("wide-sums", |module, _| wide_sums::run(module)),
    ("control-flow", |module, _| control_flow::run(module)),
    ("constant-folding", |module, _| constant_folding::run(module)),
    ("loop-invariants", |module, claims| loop_invariants::run(module, claims.device())),
    ("cumulative", cumulative::run),
    ("split-reductions", |module, claims| split_reductions::run(module, claims.device())),
    ("common-subexpressions", |module, _| common_subexpressions::run(module)),
    ("dead-code", |module, _| dead_code::run(module)),
];
