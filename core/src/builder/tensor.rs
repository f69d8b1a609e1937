//! `tensor` and `vector` operations.

use super::{Attribute, FunctionBuilder, Scalar, Type, Value};

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

    /// `vector.extract` at a static position.
    pub fn vector_extract(&mut self, vector: Value, lane: i64) -> Value {
        let found = self.type_of(vector).as_vector().map(|(dims, element)| (dims.to_vec(), element));
        match found {
            Some((dims, element)) if dims.len() == 1 && (0..dims[0]).contains(&lane) => {
                let position = vec![("static_position", Attribute::I64Array(vec![lane]))];
                self.op1("vector.extract", &[vector], position, element.into())
            }
            _ if Self::any_poison(&[vector]) => vector,
            _ => {
                let ty = self.type_of(vector).to_string();
                self.refuse("vector.extract", format!("there is no lane {lane} in {ty}"))
            }
        }
    }

    /// `vector.from_elements`: a vector of one dimension from its elements, all of one type.
    pub fn vector_from_elements(&mut self, elements: &[Value]) -> Value {
        const NAME: &str = "vector.from_elements";
        if Self::any_poison(elements) {
            return self.op1(NAME, elements, Vec::new(), Type::INDEX);
        }
        let Some(first) = elements.first().and_then(|&v| self.type_of(v).as_scalar()) else {
            return self.refuse(NAME, "needs at least one element, and scalars only");
        };
        if elements.iter().any(|&v| *self.type_of(v) != first.into()) {
            return self.refuse(NAME, format!("the elements must all be {first}"));
        }
        self.op1(NAME, elements, Vec::new(), Type::vector(&[elements.len() as i64], first))
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
