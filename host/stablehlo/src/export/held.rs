//! The values that hold the results of instructions.

use std::sync::Arc;

use fusebox_core::hlo::Shape;

use crate::program::ValueId;

/// The result of an instruction: a value, or the elements of a tuple.
#[derive(Clone, Debug)]
pub(super) enum Held {
    /// A value. The type of the value may be a tuple.
    One(ValueId),
    Elements(Arc<[Held]>),
}

impl Held {
    /// Returns the result of an instruction, given the results of its operation: the only value, or
    /// the elements of a tuple.
    pub(super) fn of_results(shape: &Shape, results: &[ValueId]) -> Held {
        match (shape, results) {
            (Shape::Tuple(elements), [single]) if elements.len() == 1 => Held::One(*single),
            (Shape::Tuple(_), _) => Held::Elements(results.iter().copied().map(Held::One).collect()),
            (_, results) => results.first().map_or(Held::Elements(Arc::default()), |&single| Held::One(single)),
        }
    }

    /// Returns the result whose leaves are these values.
    pub(super) fn of_leaves(shape: &Shape, leaves: &mut impl Iterator<Item = ValueId>) -> Held {
        match shape {
            Shape::Tuple(elements) => {
                Held::Elements(elements.iter().map(|element| Held::of_leaves(element, leaves)).collect())
            }
            _ => leaves.next().map_or(Held::Elements(Arc::default()), Held::One),
        }
    }
}
