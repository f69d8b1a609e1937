//! Sizes of the program's own parameters and results. These sizes become additional parameters and
//! results after the declared ones.
//!
//! ```text
//! ENTRY (x: f32[<=8]) -> f32[<=8]      =>      ENTRY (x: f32[8], n: s32[]) -> (f32[8], s32[])
//! ```

use fusebox_core::hlo::{ArrayShape, ElementType, InstrId, Instruction, Module, Op, Shape, SizedDimension};

use super::BoundedComputation;
use super::size_writer::RewriteResult;
use super::sizes::Sizes;

impl<'b> BoundedComputation<'b> {
    /// Rewrites a parameter of the program, and adds parameters for its sizes.
    pub fn entry_parameter(&mut self, it: &'b Instruction, number: i64) -> (InstrId, Sizes) {
        let value = self.copy(it);
        let declared = self.old.parameters().len();
        let mut sizes = Sizes::new();
        for (leaf, array) in arrays(&it.shape).enumerate() {
            let mut of_array = vec![None; array.rank()];
            for dimension in array.dynamic_dimensions() {
                let op = Op::Parameter { number: (declared + self.interface.of_parameters.len()) as i64 };
                self.interface.of_parameters.push((number as usize, SizedDimension { leaf, dimension }));
                let shape = Shape::array(ElementType::S32, []);
                of_array[dimension] = Some(self.writer(it).add(op, shape, Vec::new()));
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

/// Updates the module's layouts and aliases: the interface now includes sizes.
pub fn declare(module: &mut Module) {
    let sizes = &module.interface_sizes;
    if !sizes.of_parameters.is_empty() || !sizes.of_result.is_empty() {
        // The parameters and the root also state all layouts.
        module.entry_layout = None;
    }
    if sizes.result_is_array {
        module.input_output_alias.iter_mut().for_each(|alias| alias.output.insert(0, 0));
    }
}

fn arrays(shape: &Shape) -> impl Iterator<Item = &ArrayShape> {
    shape.leaves().into_iter().filter_map(Shape::as_array)
}
