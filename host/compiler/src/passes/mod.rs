//! Rewrites HLO to simpler HLO. Each pass has a separate file. A pass states the [`Form`]s that its
//! input must have, and the [`Form`]s that its output has. After all passes, the module is in the
//! form that fusion expects:
//!
//! * no `ragged-dot`, `scaled-dot`, `scan`
//! * no `call`, `bitcast`, `copy`, `opt-barrier`; fusions only at the top level
//! * every array row-major, no layouts, no dynamic sizes
//! * no instruction with an empty result, except parameters and constants
//! * no consecutive reshapes, broadcasts or transposes
//! * no common subexpressions, no dead code

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
mod form;
mod four_bit_integers;
mod inline_calls;
mod joined_products;
mod known_iterations;
mod loop_invariants;
mod loop_state;
mod manual_computations;
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

pub use form::Form;
pub use known_iterations::stated as stated_iterations;

use fusebox_core::hlo::Module;
use fusebox_edit::restore_order;

use crate::fuse::Claims;
use crate::roles::roles;
use crate::{CompileError, Phase};

/// The function of a pass. The function may read the emitters' claims and the device.
pub type PassFunction = fn(&mut Module, &mut Claims) -> Result<(), CompileError>;

/// A pass that rewrites HLO to simpler HLO.
pub struct Pass {
    /// Name in dumps and on the command line.
    pub name: &'static str,
    /// Purpose, in one line.
    pub about: &'static str,
    /// Whether later passes and phases work without this pass.
    pub is_optional: bool,
    /// Forms that the module must have. The module still has the needed forms after the pass.
    pub needs: &'static [Form],
    /// Forms that the module has after the pass.
    pub leaves: &'static [Form],
    /// The function that runs the pass.
    run: PassFunction,
}

/// Returns all forms of a module up to `last`, in the order in which passes establish them.
const fn up_to(last: Form) -> &'static [Form] {
    Form::ALL.split_at(last as usize + 1).0
}

/// Defines a pass that later passes or phases rely on.
const fn needed(
    name: &'static str,
    about: &'static str,
    (needs, leaves): (&'static [Form], &'static [Form]),
    run: PassFunction,
) -> Pass {
    Pass { name, about, is_optional: false, needs, leaves, run }
}

/// Defines a pass that only makes programs faster. Programs are also correct without the pass.
const fn optional(name: &'static str, about: &'static str, needs: &'static [Form], run: PassFunction) -> Pass {
    Pass { name, about, is_optional: true, needs, leaves: &[], run }
}

impl Pass {
    /// Runs the pass on a module that has passed all earlier needed passes. If `is_verified`,
    /// checks the module before and after the pass.
    ///
    /// # Errors
    /// If the module is not supported, or if a check fails. A failed check is a bug in fusebox.
    pub fn apply(&self, module: &mut Module, claims: &mut Claims, is_verified: bool) -> Result<(), CompileError> {
        if is_verified {
            self.check_forms(module, self.needs, "needs")?;
        }
        (self.run)(module, claims)?;
        // Passes append computations, so that no id changes while they run.
        restore_order(module);
        if is_verified {
            self.check_forms(module, self.leaves, "leaves")?;
            self.check_forms(module, self.needs, "keeps")?;
        }
        Ok(())
    }

    fn check_forms(&self, module: &Module, forms: &[Form], relation: &str) -> Result<(), CompileError> {
        let roles = roles(module);
        let exception = forms.iter().find_map(|form| Some((form, form.exception(module, &roles)?)));
        exception.map_or(Ok(()), |(form, instruction)| {
            let Pass { name, .. } = self;
            let (opcode, instruction) = (instruction.opcode(), &instruction.name);
            let message = format!("pass {name} {relation} the form {form:?}, but there is {opcode} [in {instruction}]");
            Err(CompileError::Internal { phase: Phase::Passes.name(), message })
        })
    }
}

/// All passes in order.
pub const PASSES: &[Pass] = &[
    needed(
        "manual-computations",
        "join the code that each device executes, and remove annotations of shardings",
        (&[], &[]),
        |module, _| manual_computations::run(module),
    ),
    needed(
        "one-device",
        "replace exchanges between devices and asynchronous operations by their meaning on one device",
        (&[], &[]),
        |module, _| one_device::run(module),
    ),
    needed("supported", "refuse operations that are not supported", (&[], &[Form::OneDevice]), |module, _| {
        supported::check(module)
    }),
    needed(
        "dynamic-dimensions",
        "replace arrays of dynamic size by arrays of their bounds, with the sizes as values",
        (up_to(Form::OneDevice), &[Form::StaticSizes]),
        |module, _| dynamic_dimensions::run(module),
    ),
    needed(
        "expansions",
        "expand scan, ragged-dot and scaled-dot into loops and products",
        (up_to(Form::StaticSizes), &[Form::Expanded]),
        |module, _| expansions::run(module),
    ),
    needed("inline-calls", "inline calls", (up_to(Form::Expanded), &[Form::NoCalls]), |module, _| {
        inline_calls::run(module)
    }),
    optional("equal-combiners", "merge equal combiners and comparators", up_to(Form::NoCalls), |module, _| {
        equal_combiners::run(module)
    }),
    needed(
        "row-major",
        "make all arrays row-major, with transposes for other layouts",
        (up_to(Form::NoCalls), &[Form::RowMajor]),
        |module, _| row_major::run(module),
    ),
    needed(
        "batch-norm",
        "expand batch normalisation into arithmetic",
        (up_to(Form::RowMajor), &[Form::NoBatchNorm]),
        |module, _| batch_norm::run(module),
    ),
    needed(
        "canonical-ops",
        "remove operations without effect on one device",
        (up_to(Form::NoBatchNorm), &[Form::Canonical]),
        |module, _| canonical_ops::run(module),
    ),
    needed(
        "four-bit-integers",
        "compute with four-bit integers in eight bits",
        (up_to(Form::Canonical), &[]),
        |module, _| four_bit_integers::run(module),
    ),
    needed("tuples", "remove tuples whose elements are read one by one", (up_to(Form::Canonical), &[]), |module, _| {
        tuples::run(module)
    }),
    optional("movements", "merge reshapes, broadcasts and transposes in a row", up_to(Form::Canonical), |module, _| {
        movements::run(module)
    }),
    optional(
        "top-k",
        "replace a sort by top-k if only its first elements are used",
        up_to(Form::Canonical),
        |module, _| top_k::run(module),
    ),
    needed(
        "empty-arrays",
        "replace arrays without elements by constants",
        (up_to(Form::Canonical), &[Form::NoEmptyArrays]),
        |module, _| empty_arrays::run(module),
    ),
    optional(
        "selected-elements",
        "expand select-and-scatter: select in each window once, then scatter",
        &Form::ALL,
        selected_elements::run,
    ),
    optional(
        "small-systems",
        "expand triangular systems of a few equations into arithmetic",
        &Form::ALL,
        small_systems::run,
    ),
    optional("wide-sums", "accumulate sums of narrow floats in wide ones, and round once", &Form::ALL, |module, _| {
        wide_sums::run(module)
    }),
    optional("control-flow", "unroll loops of few iterations, and inline known branches", &Form::ALL, |module, _| {
        control_flow::run(module)
    }),
    optional("loop-state", "remove unused elements from the state of loops", &Form::ALL, |module, _| {
        loop_state::run(module)
    }),
    optional("constant-folding", "fold small operations on constants", &Form::ALL, |module, _| {
        constant_folding::run(module)
    }),
    optional(
        "elements",
        "compute small arrays element by element if only single elements are used",
        &Form::ALL,
        |module, _| elements::run(module),
    ),
    optional(
        "simplify",
        "simplify neutral elements, conversions in a row, and slices of concatenations",
        &Form::ALL,
        |module, _| simplify::run(module),
    ),
    optional(
        "products",
        "remove transposes around products, and products that sum over one element",
        &Form::ALL,
        |module, _| products::run(module),
    ),
    optional("joined-products", "merge products of one array with several others", &Form::ALL, joined_products::run),
    optional("loop-invariants", "hoist operations out of loops", &Form::ALL, loop_invariants::run),
    optional("row-products", "compute rows times large matrices as sums along columns", &Form::ALL, row_products::run),
    optional("cumulative", "split long cumulative reductions into blocks", &Form::ALL, cumulative::run),
    optional("split-reductions", "split reductions to few results into two steps", &Form::ALL, split_reductions::run),
    optional("common-subexpressions", "merge equal instructions", &Form::ALL, |module, _| {
        common_subexpressions::run(module)
    }),
    needed("dead-code", "remove instructions that no instruction reads", (&Form::ALL, &[]), |module, _| {
        dead_code::run(module)
    }),
    optional(
        "known-iterations",
        "count the iterations of loops from constants to constants",
        &Form::ALL,
        |module, _| {
            known_iterations::run(module);
            Ok(())
        },
    ),
];
