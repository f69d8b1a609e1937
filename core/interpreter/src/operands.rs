//! Access to the operands of an instruction, with checks that catch malformed instructions.

use crate::error::{Outcome, malformed};
use crate::value::{Array, Value};

pub(crate) struct Operands(pub Vec<Value>);

impl Operands {
    pub fn array(&self, index: usize) -> Outcome<&Array> {
        self.0.get(index).map_or_else(|| malformed(format!("operand {index} is missing")), Value::array)
    }

    pub fn arrays<const N: usize>(&self) -> Outcome<[&Array; N]> {
        let arrays = self.rest(0)?;
        arrays.try_into().or_else(|given: Vec<_>| malformed(format!("expected {N} operands, found {}", given.len())))
    }

    /// Returns all operands from `first` on.
    pub fn rest(&self, first: usize) -> Outcome<Vec<&Array>> {
        self.0.iter().skip(first).map(Value::array).collect()
    }

    /// Removes and returns the first operand, so that the caller can change it.
    pub fn take_first(&mut self) -> Outcome<Value> {
        if self.0.is_empty() { malformed("an operand is missing") } else { Ok(self.0.remove(0)) }
    }

    /// Returns an element of the first operand, which must be a tuple.
    pub fn element(&self, index: i64) -> Outcome<Value> {
        match (self.0.first(), usize::try_from(index)) {
            (Some(Value::Tuple(elements)), Ok(i)) if i < elements.len() => Ok(elements[i].clone()),
            _ => malformed(format!("the operand is no tuple with an element {index}")),
        }
    }
}
