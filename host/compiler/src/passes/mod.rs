//! Rewrites HLO to simpler HLO. Each pass has a file. Afterwards the module is in the form that
//! fusion expects:
//!
//! * no `ragged-dot`, `scaled-dot`, `scan`
//! * no `call`, `bitcast`, `copy`, `opt-barrier`; fusions only at the top level
//! * every array row-major, no layouts, no dynamic sizes
//! * no instruction without elements except constants
//! * no reshapes, broadcasts or transposes in a row
//! * no common subexpressions, no dead code

mod added;
mod batch_norm;
mod canonical_ops;
mod common_subexpressions;
mod constant_folding;
mod control_flow;
mod cumulative;
mod dead_code;
mod dynamic_dimensions;
mod elements;
mod empty_arrays;
mod equal_combiners;
mod expansions;
mod four_bit_integers;
mod identity;
mod inline_calls;
mod joined_products;
mod loop_invariants;
mod loop_state;
mod movements;
mod one_device;
mod products;
mod row_major;
mod row_products;
mod selected_elements;
mod simplify;
mod small_systems;
mod split_reductions;
mod supported;
mod top_k;
mod tuples;
mod wide_sums;

#[cfg(test)]
mod tests;

pub use common_subexpressions::{depends_on_operands_alone, merge_equal};
pub use dead_code::{drop_unreachable_computations, renumber};
pub use inline_calls::splice;
pub use loop_invariants::invariant;

use fusebox_core::hlo::Module;

use crate::CompileError;
use crate::fuse::Claims;

/// The function of a pass. It may read the emitters' claims and the device.
pub type Run = fn(&mut Module, &mut Claims) -> Result<(), CompileError>;

/// A step from HLO to simpler HLO.
pub struct Pass {
    /// Name in dumps and on the command line.
    pub name: &'static str,
    /// Purpose, in one line.
    pub about: &'static str,
    /// Whether later steps work without this pass.
    pub is_optional: bool,
    /// The function that runs the pass.
    pub run: Run,
}

/// Defines a pass that later steps rely on.
const fn needed(name: &'static str, about: &'static str, run: Run) -> Pass {
    Pass { name, about, is_optional: false, run }
}

/// Defines a pass without which programs are as correct, but slower.
const fn optional(name: &'static str, about: &'static str, run: Run) -> Pass {
    Pass { name, about, is_optional: true, run }
}

/// All passes in order.
pub const PASSES: &[Pass] = &[
    needed(
        "one-device",
        "exchanges between devices, and operations in two halves, as what they are on one device",
        |module, _| one_device::run(module),
    ),
    needed("supported", "refuses what is not supported", |module, _| supported::check(module)),
    needed("dynamic-dimensions", "arrays of dynamic sizes as arrays of their bounds, sizes as values", |module, _| {
        dynamic_dimensions::run(module)
    }),
    needed("expansions", "scan, ragged-dot and scaled-dot as loops and products", |module, _| expansions::run(module)),
    needed("inline-calls", "called computations stand where they are called", |module, _| inline_calls::run(module)),
    optional("equal-combiners", "what is applied to elements and says the same as one computation", |module, _| {
        equal_combiners::run(module)
    }),
    needed("row-major", "all arrays without layouts, what is laid out otherwise transposed", |module, _| {
        row_major::run(module)
    }),
    needed("batch-norm", "batch normalisation as arithmetic", |module, _| batch_norm::run(module)),
    needed("canonical-ops", "no operation without effect on one device", |module, _| canonical_ops::run(module)),
    needed("four-bit-integers", "their arithmetic in eight bits", |module, _| four_bit_integers::run(module)),
    needed("tuples", "no tuple that is taken apart again", |module, _| tuples::run(module)),
    optional("movements", "reshapes, broadcasts and transposes in a row as one", |module, _| movements::run(module)),
    optional("top-k", "sorts of which the first elements are used as top-k", |module, _| top_k::run(module)),
    needed("empty-arrays", "arrays without elements as constants", |module, _| empty_arrays::run(module)),
    optional("selected-elements", "what each window selects found once, then scattered", |module, _| {
        selected_elements::run(module)
    }),
    optional("small-systems", "triangular systems of a few equations as arithmetic", |module, _| {
        small_systems::run(module)
    }),
    optional("wide-sums", "sums of narrow floats in wide ones, rounded once", |module, _| wide_sums::run(module)),
    optional("control-flow", "loops of few turns and known branches as plain instructions", |module, _| {
        control_flow::run(module)
    }),
    optional("loop-state", "loops without elements of their state that nobody needs", |module, _| {
        loop_state::run(module)
    }),
    optional("constant-folding", "small operations on constants evaluated", |module, _| constant_folding::run(module)),
    optional("elements", "small arrays of which only single elements are used, taken apart", |module, _| {
        elements::run(module)
    }),
    optional("simplify", "neutral elements, conversions in a row, parts of what was put together", |module, _| {
        simplify::run(module)
    }),
    optional(
        "products",
        "products of transposed arrays, transposed products, and those that sum nothing",
        |module, _| products::run(module),
    ),
    optional("joined-products", "products of one array with several others as one", joined_products::run),
    optional("loop-invariants", "what a loop does not change computed before it", |module, claims| {
        loop_invariants::run(module, claims.device())
    }),
    optional("row-products", "rows times large matrices as sums along columns", |module, claims| {
        row_products::run(module, claims.device())
    }),
    optional("cumulative", "long cumulative reductions in blocks", cumulative::run),
    optional("split-reductions", "reductions of much into little in two steps", |module, claims| {
        split_reductions::run(module, claims.device())
    }),
    optional("common-subexpressions", "equal instructions as one", |module, _| common_subexpressions::run(module)),
    needed("dead-code", "nothing that nobody reads", |module, _| dead_code::run(module)),
];
