//! Defines the form in which an executable stores shapes.

use fusebox_core::hlo::{ArrayShape, ElementType, Shape};
use fusebox_thunks::nesting::one_deeper;
use serde::{Deserialize, Serialize};

/// A shape without layouts, as a type that can be serialised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ValueShape {
    /// A dense array: the name of its element type, and the sizes of its dimensions.
    Array(String, Vec<i64>),
    /// A tuple.
    Tuple(#[serde(deserialize_with = "one_deeper")] Vec<ValueShape>),
    /// A token.
    Token,
}

impl From<&Shape> for ValueShape {
    fn from(shape: &Shape) -> Self {
        match shape {
            Shape::Array(array) => ValueShape::Array(array.element_type.name().into(), array.dims.clone()),
            Shape::Tuple(elements) => ValueShape::Tuple(elements.iter().map(ValueShape::from).collect()),
            Shape::Token | Shape::Opaque => ValueShape::Token,
        }
    }
}

impl ValueShape {
    /// Converts to a [`Shape`]. Returns `None` if an element type is unknown or a size is negative.
    pub fn to_shape(&self) -> Option<Shape> {
        match self {
            ValueShape::Array(name, dims) => {
                let element_type: ElementType = name.parse().ok()?;
                dims.iter().all(|&d| d >= 0).then(|| Shape::Array(ArrayShape::new(element_type, dims.clone())))
            }
            ValueShape::Tuple(elements) => {
                elements.iter().map(ValueShape::to_shape).collect::<Option<Vec<_>>>().map(Shape::Tuple)
            }
            ValueShape::Token => Some(Shape::Token),
        }
    }
}
