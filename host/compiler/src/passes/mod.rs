//! Rewrites HLO to simpler HLO. Each pass has a file. After all passes, the module is in the form
//! that fusion expects:
//!
//! * no `ragged-dot`, `scaled-dot`, `scan`
//! * no `call`, `bitcast`, `copy`, `opt-barrier`; fusions only at the top level
//! * every array row-major, no layouts, no dynamic sizes
//! * no instruction without elements except constants
//! * no reshapes, broadcasts or transposes in a row
//! * no common subexpressions, no dead code

mod added_computations;
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
use fusebox_edit::restore_order;

use crate::CompileError;
use crate::fuse::Claims;

/// The function of a pass. It may read the emitters' claims and the device.
pub type PassFunction = fn(&mut Module, &mut Claims) -> Result<(), CompileError>;

/// A pass that rewrites HLO to simpler HLO.
pub struct Pass {
    /// Name in dumps and on the command line.
    pub name: &'static str,
    /// Purpose, in one line.
    pub about: &'static str,
    /// Whether later passes and phases work without this pass.
    pub is_optional: bool,
    /// The function that runs the pass.
    run: PassFunction,
}

impl Pass {
    /// Runs the pass on a module that has passed all earlier needed passes.
    ///
    /// # Errors
    /// If the module is not supported.
    pub fn apply(&self, module: &mut Module, claims: &mut Claims) -> Result<(), CompileError> {
        (self.run)(module, claims)?;
        // Passes append computations, so that no id changes while they run.
        restore_order(module);
        Ok(())
    }
}

/// Defines a pass that later passes or phases rely on.
const fn needed(name: &'static str, about: &'static str, run: PassFunction) -> Pass {
    Pass { name, about, is_optional: false, run }
}

/// Defines a pass that only makes programs faster. Programs are correct without it.
const fn optional(name: &'static str, about: &'static str, run: PassFunction) -> Pass {
    Pass { name, about, is_optional: true, run }
}

/// All passes in order.
pub const PASSES: &[Pass] = &[
    needed(
        "one-device",
        "replace exchanges between devices and asynchronous operations by their meaning on one device",
        |module, _| one_device::run(module),
    ),
    needed("supported", "refuse operations that are not supported", |module, _| supported::check(module)),
    needed(
        "dynamic-dimensions",
        "replace arrays of dynamic size by arrays of their bounds, with the sizes as values",
        |module, _| dynamic_dimensions::run(module),
    ),
    needed("expansions", "expand scan, ragged-dot and scaled-dot into loops and products", |module, _| {
        expansions::run(module)
    }),
    needed("inline-calls", "inline calls", |module, _| inline_calls::run(module)),
    optional("equal-combiners", "merge equal combiners and comparators", |module, _| equal_combiners::run(module)),
    needed("row-major", "make all arrays row-major, with transposes for other layouts", |module, _| {
        row_major::run(module)
    }),
    needed("batch-norm", "expand batch normalisation into arithmetic", |module, _| batch_norm::run(module)),
    needed("canonical-ops", "remove operations without effect on one device", |module, _| canonical_ops::run(module)),
    needed("four-bit-integers", "compute with four-bit integers in eight bits", |module, _| {
        four_bit_integers::run(module)
    }),
    needed("tuples", "remove tuples whose elements are read one by one", |module, _| tuples::run(module)),
    optional("movements", "merge reshapes, broadcasts and transposes in a row", |module, _| movements::run(module)),
    optional("top-k", "replace a sort by top-k if only its first elements are used", |module, _| top_k::run(module)),
    needed("empty-arrays", "replace arrays without elements by constants", |module, _| empty_arrays::run(module)),
    optional(
        "selected-elements",
        "expand select-and-scatter: select in each window once, then scatter",
        |module, _| selected_elements::run(module),
    ),
    optional("small-systems", "expand triangular systems of a few equations into arithmetic", |module, _| {
        small_systems::run(module)
    }),
    optional("wide-sums", "accumulate sums of narrow floats in wide ones, and round once", |module, _| {
        wide_sums::run(module)
    }),
    optional("control-flow", "unroll loops of few iterations, and inline known branches", |module, _| {
        control_flow::run(module)
    }),
    optional("loop-state", "remove unused elements from the state of loops", |module, _| loop_state::run(module)),
    optional("constant-folding", "fold small operations on constants", |module, _| constant_folding::run(module)),
    optional("elements", "compute small arrays element by element if only single elements are used", |module, _| {
        elements::run(module)
    }),
    optional(
        "simplify",
        "simplify neutral elements, conversions in a row, and slices of concatenations",
        |module, _| simplify::run(module),
    ),
    optional("products", "remove transposes around products, and products that sum over one element", |module, _| {
        products::run(module)
    }),
    optional("joined-products", "merge products of one array with several others", joined_products::run),
    optional("loop-invariants", "hoist operations out of loops", |module, claims| {
        loop_invariants::run(module, claims.device())
    }),
    optional("row-products", "compute rows times large matrices as sums along columns", |module, claims| {
        row_products::run(module, claims.device())
    }),
    optional("cumulative", "split long cumulative reductions into blocks", cumulative::run),
    optional("split-reductions", "split reductions to few results into two steps", |module, claims| {
        split_reductions::run(module, claims.device())
    }),
    optional("common-subexpressions", "merge equal instructions", |module, _| common_subexpressions::run(module)),
    needed("dead-code", "remove instructions that no instruction reads", |module, _| dead_code::run(module)),
];
