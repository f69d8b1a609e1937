//! Finds the indices at which a kernel's functions read a tensor.

use std::collections::HashSet;

use fusebox_core::ir::{Function, OpKind, Operation, Type, Value};

use super::entry;

/// The components of an index as values of a function. `None` for a component that is not a value
/// of the function.
pub type TensorIndex = Vec<Option<Value>>;

/// Follows a tensor from function to function.
pub struct TensorTracer<'f> {
    functions: &'f [Function],
    /// Functions, arguments and indices that are already checked or being checked.
    known: HashSet<(&'f str, Value, TensorIndex)>,
}

impl<'f> TensorTracer<'f> {
    /// Creates a tracer for these functions.
    pub fn new(functions: &'f [Function]) -> Self {
        TensorTracer { functions, known: HashSet::new() }
    }

    /// Whether an operation of a function reads a tensor only at one index.
    pub fn is_at(&mut self, function: &Function, op: &'f Operation, tensor: Value, index: &TensorIndex) -> bool {
        match op.kind {
            OpKind::Extract => op.operands[0] == tensor && is_index(function.type_of(tensor), &op.operands[1..], index),
            OpKind::PureCall => {
                let callee = op.callee().and_then(|name| entry(self.functions, name));
                callee.is_some_and(|callee| self.is_at_in_callee(op, callee, tensor, index))
            }
            _ => false,
        }
    }

    fn is_at_in_callee(&mut self, call: &Operation, callee: &'f Function, tensor: Value, index: &TensorIndex) -> bool {
        let arguments = &callee.body.arguments;
        let inside = |value: Value| call.operands.iter().position(|&it| it == value).map(|place| arguments[place]);
        let index: TensorIndex = index.iter().map(|value| value.and_then(inside)).collect();
        let of_tensor = call.operands.iter().zip(arguments).filter(|(operand, _)| **operand == tensor);
        of_tensor.map(|(_, &argument)| argument).collect::<Vec<Value>>().into_iter().all(|argument| {
            if !self.known.insert((&callee.name, argument, index.clone())) {
                return true;
            }
            let mut readers: Vec<&'f Operation> = Vec::new();
            callee.body.walk(&mut |op| readers.extend(op.operands.contains(&argument).then_some(op)));
            readers.into_iter().all(|op| self.is_at(callee, op, argument, &index))
        })
    }
}

/// Whether `element` and `index` name the same element of a tensor. In a dimension of size 1 all
/// components name the same element.
fn is_index(tensor: &Type, element: &[Value], index: &TensorIndex) -> bool {
    let Type::Tensor(dims, _) = tensor else { return false };
    let is_same =
        |((&size, &component), &expected): ((&i64, &Value), &Option<Value>)| size == 1 || Some(component) == expected;
    element.len() == index.len() && dims.iter().zip(element).zip(index).all(is_same)
}
