//! `tensor` operations.

use super::{FunctionBuilder, Scalar, Type, Value};

impl FunctionBuilder {
    /// `tensor.extract`: the element at these indices.
    pub fn extract(&mut self, tensor: Value, indices: &[Value]) -> Value {
        match self.check_access("tensor.extract", tensor, indices) {
            Ok(element) => {
                let operands = [&[tensor], indices].concat();
                self.op1("tensor.extract", &operands, Vec::new(), element.into())
            }
            Err(poison) => poison,
        }
    }

    /// `tensor.insert`: the tensor with another element at these indices.
    pub fn insert(&mut self, element: Value, tensor: Value, indices: &[Value]) -> Value {
        let ty = self.type_of(tensor).clone();
        match self.check_element("tensor.insert", element, tensor, indices) {
            Ok(()) => {
                let operands = [&[element, tensor], indices].concat();
                self.op1("tensor.insert", &operands, Vec::new(), ty)
            }
            Err(poison) => poison,
        }
    }

    /// `tensor.empty`: a tensor of these dimensions without defined elements.
    pub fn empty(&mut self, dims: &[i64], element: Scalar) -> Value {
        self.op1("tensor.empty", &[], Vec::new(), Type::tensor(dims, element))
    }

    /// Checks the indices of an access and gives the type of the tensor's elements.
    pub(super) fn check_access(&mut self, name: &str, tensor: Value, indices: &[Value]) -> Result<Scalar, Value> {
        if Self::any_poison(&[tensor]) || Self::any_poison(indices) {
            return Err(self.op1(name, &[&[tensor], indices].concat(), Vec::new(), Type::INDEX));
        }
        let Some((dims, element)) = self.type_of(tensor).as_tensor() else {
            let found = self.type_of(tensor).to_string();
            return Err(self.refuse(name, format!("the operand is {found}, it must be a tensor")));
        };
        if dims.len() != indices.len() {
            let message = format!("{} indices for {}", indices.len(), self.type_of(tensor));
            return Err(self.refuse(name, message));
        }
        match indices.iter().position(|&i| *self.type_of(i) != Type::INDEX) {
            None => Ok(element),
            Some(i) => {
                let message = format!("index {i} is {}, it must be index", self.type_of(indices[i]));
                Err(self.refuse(name, message))
            }
        }
    }

    /// Checks an access that stores `element`.
    pub(super) fn check_element(
        &mut self,
        name: &str,
        element: Value,
        tensor: Value,
        indices: &[Value],
    ) -> Result<(), Value> {
        let wanted = self.check_access(name, tensor, indices)?;
        let found = self.type_of(element);
        if Self::any_poison(&[element]) || *found == wanted.into() {
            return Ok(());
        }
        let message = format!("the element is {found}, the tensor holds {wanted}");
        Err(self.refuse(name, message))
    }
}
