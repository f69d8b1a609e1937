//! `tensor` operations.

use super::{FunctionBuilder, OpKind, Scalar, Type, Value};

impl FunctionBuilder {
    /// `tensor.extract`: the element at these indices.
    #[track_caller]
    pub fn extract(&mut self, tensor: Value, indices: &[Value]) -> Value {
        let element = self.type_of(tensor).element();
        self.op1(OpKind::Extract, &[&[tensor], indices].concat(), Vec::new(), element.into())
    }

    /// `tensor.insert`: the tensor with `element` written at these indices.
    #[track_caller]
    pub fn insert(&mut self, element: Value, tensor: Value, indices: &[Value]) -> Value {
        let ty = self.type_of(tensor).clone();
        self.op1(OpKind::Insert, &[&[element, tensor], indices].concat(), Vec::new(), ty)
    }

    /// `tensor.empty`: a tensor of these dimensions with undefined elements.
    #[track_caller]
    pub fn empty(&mut self, dims: &[i64], element: Scalar) -> Value {
        self.op1(OpKind::Empty, &[], Vec::new(), Type::tensor(dims, element))
    }
}
