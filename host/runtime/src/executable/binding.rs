//! Defines how the parameters and the result of a program are stored in the program's memory.

use fusebox_core::hlo::Shape;
use serde::{Deserialize, Serialize};

use super::allocation::Slice;
use super::value_shape::ValueShape;

/// A parameter or the result of a program, and the slices that hold its array leaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// Shape of the value.
    pub shape: ValueShape,
    /// Slices of the array leaves, in depth-first order.
    pub leaves: Vec<Slice>,
    /// The sizes of dynamic dimensions. `shape` holds the bounds of the dynamic dimensions.
    pub sizes: Vec<DynamicSize>,
}

/// A dynamic dimension of an array leaf. The array has memory for a maximum number of elements
/// along this dimension, but only the first elements are valid. The program's memory also holds the
/// number of valid elements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DynamicSize {
    /// Index of the array leaf in its binding.
    pub leaf: u32,
    /// Index of the dimension.
    pub dimension: u32,
    /// Slice that holds the number of valid elements, an `s32`.
    pub at: Slice,
}

impl Binding {
    /// Returns the shape of the value. In the returned shape, the dimensions that `sizes` lists are
    /// dynamic. Returns `None` if an element type is unknown or a dimension is negative.
    pub fn to_shape(&self) -> Option<Shape> {
        let mut shape = self.shape.to_shape()?;
        let mut leaves = shape.arrays_mut();
        for size in &self.sizes {
            if let Some(array) = leaves.get_mut(size.leaf as usize) {
                array.set_dynamic(size.dimension as usize);
            }
        }
        Some(shape)
    }
}
