//! Packs the elements of a tuple into one value, and unpacks a tuple into its elements.

use fusebox_core::hlo::{ElementType, Shape};

use super::Exported;
use super::exporter::Exporter;
use super::held::Held;
use crate::program::{Attribute, Type, ValueId};

impl Exporter<'_> {
    /// Returns a result as one value. Packs the elements of a tuple by an operation `tuple`.
    pub(super) fn value(&mut self, held: &Held) -> Exported<ValueId> {
        match held {
            Held::One(value) => Ok(*value),
            Held::Elements(elements) => {
                let operands = elements.iter().map(|it| self.value(it)).collect::<Exported<Vec<ValueId>>>()?;
                let types: Vec<Type> = operands.iter().map(|&id| self.r#type(id).clone()).collect();
                self.single("tuple", operands, Vec::new(), Type::Tuple(types.into()))
            }
        }
    }

    /// Returns an element of a tuple.
    pub(super) fn element(&mut self, held: &Held, index: usize) -> Exported<Option<Held>> {
        match held {
            Held::Elements(elements) => Ok(elements.get(index).cloned()),
            Held::One(tuple) => {
                let Type::Tuple(types) = self.r#type(*tuple) else { return Ok(None) };
                let Some(of) = types.get(index).cloned() else { return Ok(None) };
                let number = Attribute::Integer(ElementType::S32, index as i64);
                let value = self.single("get_tuple_element", vec![*tuple], vec![("index".into(), number)], of)?;
                Ok(Some(Held::One(value)))
            }
        }
    }

    /// Returns the leaves of a result, depth first: the values that are not tuples.
    pub(super) fn leaves(&mut self, held: &Held) -> Exported<Vec<ValueId>> {
        let count = match held {
            Held::Elements(elements) => elements.len(),
            Held::One(value) => match self.r#type(*value) {
                Type::Tuple(types) => types.len(),
                _ => return Ok(vec![*value]),
            },
        };
        let mut leaves = Vec::new();
        for index in 0..count {
            if let Some(element) = self.element(held, index)? {
                leaves.extend(self.leaves(&element)?);
            }
        }
        Ok(leaves)
    }

    /// Returns the values that a function or a region returns: the elements of a tuple, or the only
    /// value. A tuple of one element remains one value, so that readers can distinguish the tuple
    /// from its element.
    pub(super) fn results(&mut self, held: &Held, shape: &Shape) -> Exported<Vec<ValueId>> {
        let count = match shape {
            Shape::Tuple(elements) if elements.len() != 1 => elements.len(),
            _ => return Ok(vec![self.value(held)?]),
        };
        let mut results = Vec::new();
        for index in 0..count {
            if let Some(element) = self.element(held, index)? {
                results.push(self.value(&element)?);
            }
        }
        Ok(results)
    }

    /// Returns the types of the values that [`results`](Self::results) returns.
    pub(super) fn result_types(&self, shape: &Shape) -> Exported<Vec<Type>> {
        match shape {
            Shape::Tuple(elements) if elements.len() != 1 => elements.iter().map(|it| self.type_of(it)).collect(),
            _ => Ok(vec![self.type_of(shape)?]),
        }
    }
}
