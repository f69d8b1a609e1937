//! Passes dynamic sizes into bodies and branches, and out of them, together with the arrays.
//!
//! ```text
//! while(s: (s32[], f32[<=8]))      =>      while(s: (s32[], f32[8], s32[]))
//! ```
//!
//! A value that enters or leaves a body or branch crosses a border. A value that crosses a border
//! becomes a tuple: the elements of the value, followed by the sizes of all dimensions that are
//! declared as dynamic. The sizes are ordered by array, then by dimension. A size that the program
//! has not set equals the bound of its dimension.

use fusebox_core::hlo::{ArrayShape, ComputationId, ElementType, InstrId, Instruction, Shape};
use fusebox_edit::with_scalars;

use super::sizes::{Sizes, arrays, of_bounds, s32};
use super::{BoundedComputation, RewriteResult};

impl<'b> BoundedComputation<'b> {
    /// Rewrites a parameter of a body or branch.
    pub fn parameter(&mut self, it: &'b Instruction) -> (InstrId, Sizes) {
        let shape = with_scalars(&it.shape.with_bounds_as_sizes(), ElementType::S32, size_count(&it.shape));
        let parameter = self.edit.add_shaped(it.op.clone(), shape, []);
        self.split_crossed(&it.shape, parameter)
    }

    pub fn while_loop(&mut self, it: &'b Instruction) -> RewriteResult<(InstrId, Sizes)> {
        let initial = self.together(it.operands[0], &it.shape)?;
        let result = self.edit.add(it.op.clone(), [initial]);
        Ok(self.split_crossed(&it.shape, result))
    }

    pub fn conditional(&mut self, it: &'b Instruction, branches: &[ComputationId]) -> RewriteResult<(InstrId, Sizes)> {
        let declared = self.declared;
        let mut operands = vec![self.edit.mapped(it.operands[0])];
        for (&operand, &branch) in it.operands[1..].iter().zip(branches) {
            let callee = declared.computation(branch);
            let parameter = callee.parameters().first().map(|&id| &callee.instruction(id).shape);
            operands.push(match parameter.filter(|shape| shape.has_dynamic_size()) {
                Some(shape) => self.together(operand, shape)?,
                None => self.edit.mapped(operand),
            });
        }
        // The branches' shapes decide which dimensions have sizes. A dimension that only the
        // conditional declares as dynamic has its bound as size.
        let given = branches.first().map_or(&it.shape, |&id| &declared.computation(id).root_instruction().shape);
        if given.has_dynamic_size() {
            let result = self.edit.add(it.op.clone(), operands);
            Ok(self.split_crossed(given, result))
        } else {
            Ok((self.with_operands(it, operands), of_bounds(&it.shape)))
        }
    }

    /// Returns the root of a body or branch as a tuple that also contains the root's sizes.
    pub fn result(&mut self, root: &'b Instruction, id: InstrId) -> RewriteResult {
        self.together(id, &root.shape)
    }

    /// Returns a tuple of a value's elements, followed by its sizes. `declared` is the shape of the
    /// value.
    fn together(&mut self, value: InstrId, declared: &Shape) -> RewriteResult {
        let new = self.edit.mapped(value);
        let mut elements = self.edit.elements(new);
        for (array, sizes) in arrays(declared).zip(&self.sizes[value.index()]) {
            for d in array.dynamic_dimensions() {
                let size = sizes.get(d).copied().flatten();
                elements.push(match size {
                    Some(size) => size,
                    None => s32(&mut self.edit, array.dims[d])?,
                });
            }
        }
        Ok(self.edit.tuple(elements))
    }

    /// Takes apart a tuple that has crossed a border. Returns the value, whose declared shape is
    /// `shape`, and the value's sizes.
    fn split_crossed(&mut self, shape: &Shape, crossed: InstrId) -> (InstrId, Sizes) {
        let mut elements = self.edit.elements(crossed);
        let count = elements.len().saturating_sub(size_count(shape));
        let mut sizes = elements.split_off(count).into_iter();
        let value = match (shape, &elements[..]) {
            (Shape::Array(_), &[array]) => array,
            _ => self.edit.tuple(elements),
        };
        let mut of_array = |array: &ArrayShape| {
            let size = |d: usize| array.is_dynamic(d).then(|| sizes.next()).flatten();
            (0..array.rank()).map(size).collect()
        };
        (value, arrays(shape).map(&mut of_array).collect())
    }
}

/// Returns the number of sizes that cross a border together with a value of this shape.
fn size_count(shape: &Shape) -> usize {
    arrays(shape).map(|array| array.dynamic_dimensions().count()).sum()
}
