//! Sizes of the program's own parameters and results. The pass appends the sizes to the declared
//! parameters and results as additional parameters and results.
//!
//! ```text
//! ENTRY (x: f32[<=8]) -> f32[<=8]      =>      ENTRY (x: f32[8], n: s32[]) -> (f32[8], s32[])
//! ```

use fusebox_core::hlo::{ElementType, InstrId, Instruction, Module, SizedDimension};

use super::sizes::{Sizes, arrays};
use super::{BoundedComputation, RewriteResult};

impl<'b> BoundedComputation<'b> {
    /// Rewrites a parameter of the program, and adds parameters for its sizes.
    pub fn entry_parameter(&mut self, it: &'b Instruction, number: i64) -> (InstrId, Sizes) {
        let value = self.copy(it);
        let mut sizes = Sizes::new();
        for (leaf, array) in arrays(&it.shape).enumerate() {
            let mut of_array = vec![None; array.rank()];
            for dimension in array.dynamic_dimensions() {
                self.interface.of_parameters.push((number as usize, SizedDimension { leaf, dimension }));
                of_array[dimension] = Some(self.edit.extra_parameter(ElementType::S32, &[]));
            }
            sizes.push(of_array);
        }
        (value, sizes)
    }

    /// Returns a tuple of the program's result and its sizes.
    pub fn entry_result(&mut self, root: &'b Instruction, id: InstrId) -> RewriteResult {
        self.interface.result_is_array = root.shape.as_array().is_some();
        self.interface.of_result = arrays(&root.shape)
            .enumerate()
            .flat_map(|(leaf, array)| {
                array.dynamic_dimensions().map(move |dimension| SizedDimension { leaf, dimension })
            })
            .collect();
        self.result(root, id)
    }
}

/// Updates the module's layouts and aliases, because the interface now includes sizes.
pub fn declare(module: &mut Module) {
    let sizes = &module.interface_sizes;
    if !sizes.of_parameters.is_empty() || !sizes.of_result.is_empty() {
        // The entry layout is not needed, because the parameters and the root also state all
        // layouts.
        module.entry_layout = None;
    }
    if sizes.result_is_array {
        module.input_output_alias.iter_mut().for_each(|alias| alias.output.insert(0, 0));
    }
}
