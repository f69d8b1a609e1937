//! Products.

use fusebox_core::hlo::{DotDims, ElementType, InstrId, Op, Shape, infer_shape_with};

use crate::Builder;

impl Builder<'_> {
    /// Adds a `dot`. The element type of the result may be wider than those of the operands.
    pub fn dot(&mut self, dims: DotDims, element_type: ElementType, left: InstrId, right: InstrId) -> InstrId {
        let op = Op::Dot(dims);
        let inferred = infer_shape_with(&op, &[self.shape(left), self.shape(right)], None, &|_| None);
        match inferred {
            Ok(Shape::Array(array)) => self.add_shaped(op, Shape::array(element_type, array.dims), [left, right]),
            _ => self.add(op, [left, right]),
        }
    }
}
