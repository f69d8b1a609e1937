//! Elementwise operations.

use fusebox_core::hlo::{BinaryOp, Comparison, ElementType, InstrId, Op, Shape, UnaryOp};

use crate::Builder;

impl Builder<'_> {
    /// Adds a unary operation.
    pub fn unary(&mut self, op: UnaryOp, operand: InstrId) -> InstrId {
        self.add(Op::Unary(op), [operand])
    }

    /// Adds a binary operation.
    pub fn binary(&mut self, op: BinaryOp, left: InstrId, right: InstrId) -> InstrId {
        self.add(Op::Binary(op), [left, right])
    }

    /// Adds a comparison in the default order of the operands' type.
    pub fn compare(&mut self, direction: Comparison, left: InstrId, right: InstrId) -> InstrId {
        self.add(Op::Compare { direction, order: None }, [left, right])
    }

    /// Adds a `select`. The result has the elements of `on_true` where the predicate holds, and the
    /// elements of `on_false` elsewhere.
    pub fn select(&mut self, predicate: InstrId, on_true: InstrId, on_false: InstrId) -> InstrId {
        self.add(Op::Select, [predicate, on_true, on_false])
    }

    /// Converts an array to another element type. Returns the array itself if it already has this
    /// type.
    pub fn convert(&mut self, operand: InstrId, element_type: ElementType) -> InstrId {
        self.retyped(Op::Convert, operand, element_type)
    }

    /// Reinterprets the bits of an array as another element type of the same width. Returns the
    /// array itself if it already has this type.
    pub fn bitcast_convert(&mut self, operand: InstrId, element_type: ElementType) -> InstrId {
        self.retyped(Op::BitcastConvert, operand, element_type)
    }

    fn retyped(&mut self, op: Op, operand: InstrId, element_type: ElementType) -> InstrId {
        match self.array(operand) {
            Some(array) if array.element_type == element_type => operand,
            Some(array) => {
                let shape = Shape::array(element_type, array.dims.clone());
                self.add_shaped(op, shape, [operand])
            }
            None => self.not_an_array(operand),
        }
    }
}
