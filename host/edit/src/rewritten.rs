//! The result of a rewrite.

use std::collections::HashMap;

use fusebox_core::hlo::{Computation, ComputationId, Module};

/// The result of a rewrite, which is not part of the module yet.
pub struct Rewritten {
    /// The computation that replaces the old computation.
    pub computation: Computation,
    /// Computations to append to the module, in order.
    pub(crate) added: Vec<Computation>,
    /// Replacements of other computations of the module. The key is the id of the replaced
    /// computation.
    pub(crate) replaced: HashMap<ComputationId, Computation>,
}

impl Rewritten {
    /// Replaces computation `id`, and the computations that [`replace_computation`] replaces.
    /// Appends the added computations.
    ///
    /// [`replace_computation`]: crate::Builder::replace_computation
    pub fn put_into(self, module: &mut Module, id: ComputationId) {
        module.computations.extend(self.added);
        for (id, computation) in self.replaced.into_iter().chain([(id, self.computation)]) {
            module.computations[id.index()] = computation;
        }
    }
}
