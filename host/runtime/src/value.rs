//! Shapes as an executable stores them.

use fusebox_core::hlo::{ArrayShape, ElementType, Shape};
use serde::{Deserialize, Serialize};

use crate::nesting::one_deeper;

/// A shape without layout, in a form that can be stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ValueShape {
    /// A dense array: name of the element type, sizes.
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
    /// The shape it stands for; `None` if an element type is unknown or a size negative.
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

/// As HLO text writes it: `f32[2,<=3]`.
pub fn describe(shape: &ArrayShape) -> String {
    format!("{}[{}]", shape.element_type, sizes(shape, ","))
}

/// The sizes of an array, with `<=` before those that are only upper bounds.
pub fn sizes(shape: &ArrayShape, separator: &str) -> String {
    let size = |(d, size): (usize, &i64)| if shape.is_dynamic(d) { format!("<={size}") } else { size.to_string() };
    shape.dims.iter().enumerate().map(size).collect::<Vec<String>>().join(separator)
}
