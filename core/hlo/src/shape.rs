//! Shapes and layouts.

use super::ElementType;

/// Order and placement of an array's elements in memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Layout {
    /// Dimension numbers, the fastest varying first. A permutation of `0..rank`.
    pub minor_to_major: Vec<usize>,
    /// The text after `:` (tiles, element size, memory space …), verbatim. Fusebox prints the text
    /// but does not interpret it.
    pub suffix: String,
}

impl Layout {
    /// Row-major layout: the last dimension varies fastest.
    pub fn row_major(rank: usize) -> Self {
        Layout { minor_to_major: (0..rank).rev().collect(), suffix: String::new() }
    }

    /// Whether each dimension varies faster than the dimension before it.
    pub fn is_row_major(&self) -> bool {
        self.minor_to_major.iter().rev().copied().eq(0..self.minor_to_major.len())
    }
}

/// Largest number of dimensions that the readers accept. Real programs have fewer dimensions. The
/// limit is needed because the time for some operations on shapes is quadratic in the number of
/// dimensions.
pub(crate) const MAX_RANK: usize = 128;

/// Shape of a dense array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArrayShape {
    /// Type of the elements.
    pub element_type: ElementType,
    /// Size of each dimension, in elements. No size is negative.
    pub dims: Vec<i64>,
    /// For each dimension, whether the size is only an upper bound (`<=5`). The list is empty if
    /// all sizes are exact.
    pub dynamic: Vec<bool>,
    /// Layout as written; `None` means row-major.
    pub layout: Option<Layout>,
}

impl ArrayShape {
    /// A static shape in row-major layout.
    pub fn new(element_type: ElementType, dims: impl Into<Vec<i64>>) -> Self {
        ArrayShape { element_type, dims: dims.into(), dynamic: Vec::new(), layout: None }
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Number of elements, at most `i64::MAX`. The verifier rejects shapes whose byte size exceeds
    /// `i64`.
    pub fn element_count(&self) -> i64 {
        self.dims.iter().fold(1i64, |n, &d| n.saturating_mul(d))
    }

    /// Number of bytes that the array occupies in a buffer of fusebox, see
    /// [`ElementType::byte_size`].
    pub fn byte_size(&self) -> i64 {
        self.element_count().saturating_mul(self.element_type.byte_size() as i64)
    }

    /// Whether the written layout is absent or row-major.
    pub fn is_row_major(&self) -> bool {
        self.layout.as_ref().is_none_or(Layout::is_row_major)
    }

    /// Whether the size of this dimension is only an upper bound.
    pub fn is_dynamic(&self, dimension: usize) -> bool {
        self.dynamic.get(dimension) == Some(&true)
    }

    /// Whether any dimension is dynamic.
    pub fn has_dynamic_size(&self) -> bool {
        self.dynamic.contains(&true)
    }

    /// The dimensions whose sizes are only upper bounds.
    pub fn dynamic_dimensions(&self) -> impl Iterator<Item = usize> {
        (0..self.rank()).filter(|&d| self.is_dynamic(d))
    }

    /// Marks the size of a dimension as only an upper bound.
    pub fn set_dynamic(&mut self, dimension: usize) {
        self.dynamic.resize(self.rank(), false);
        if let Some(is_dynamic) = self.dynamic.get_mut(dimension) {
            *is_dynamic = true;
        }
    }

    /// Whether an array with the sizes `dims` fits this shape. Sizes of static dimensions must be
    /// equal. Sizes of dynamic dimensions must not exceed their bounds.
    pub fn admits(&self, dims: &[i64]) -> bool {
        let fits = |(d, &size): (usize, &i64)| {
            if self.is_dynamic(d) { (0..=self.dims[d]).contains(&size) } else { self.dims[d] == size }
        };
        self.rank() == dims.len() && dims.iter().enumerate().all(fits)
    }

    /// Whether both shapes have the same element type, and the same sizes or bounds. Ignores
    /// layouts.
    pub fn same_type_and_dims(&self, other: &ArrayShape) -> bool {
        self.element_type == other.element_type && self.dims == other.dims
    }
}

/// Shape of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// A dense array.
    Array(ArrayShape),
    /// A tuple, possibly nested, possibly empty.
    Tuple(Vec<Shape>),
    /// `token[]`, which orders side effects.
    Token,
    /// `opaque[]`.
    Opaque,
}

impl Shape {
    /// A static row-major array shape.
    pub fn array(element_type: ElementType, dims: impl Into<Vec<i64>>) -> Self {
        Shape::Array(ArrayShape::new(element_type, dims))
    }

    /// Returns the array shape, if this is an array.
    pub fn as_array(&self) -> Option<&ArrayShape> {
        match self {
            Shape::Array(array) => Some(array),
            _ => None,
        }
    }

    /// Returns the element shapes, if this is a tuple.
    pub fn as_tuple(&self) -> Option<&[Shape]> {
        match self {
            Shape::Tuple(elements) => Some(elements),
            _ => None,
        }
    }

    /// Returns the shapes of the leaves, depth first. Flattened tuples in `.npz` files store their
    /// leaves in the same order. Tokens and opaques are leaves too.
    pub fn leaves(&self) -> Vec<&Shape> {
        match self {
            Shape::Tuple(elements) => elements.iter().flat_map(Shape::leaves).collect(),
            leaf => vec![leaf],
        }
    }

    /// Returns those leaves that are arrays, depth first.
    pub fn arrays_mut(&mut self) -> Vec<&mut ArrayShape> {
        match self {
            Shape::Array(array) => vec![array],
            Shape::Tuple(elements) => elements.iter_mut().flat_map(Shape::arrays_mut).collect(),
            Shape::Token | Shape::Opaque => Vec::new(),
        }
    }

    /// Whether a dimension of any leaf is dynamic.
    pub fn has_dynamic_size(&self) -> bool {
        self.leaves().into_iter().filter_map(Shape::as_array).any(ArrayShape::has_dynamic_size)
    }

    /// Whether a value of this shape may be used where the other shape is declared. The shapes may
    /// differ in their layouts. Each dimension that is dynamic in this shape must be dynamic in the
    /// other shape.
    pub fn flows_into(&self, other: &Shape) -> bool {
        let is_declared =
            |(a, b): (&ArrayShape, &ArrayShape)| (0..a.rank()).all(|d| !a.is_dynamic(d) || b.is_dynamic(d));
        let arrays = |shape| Shape::leaves(shape).into_iter().filter_map(Shape::as_array);
        self.same_structure(other) && arrays(self).zip(arrays(other)).all(is_declared)
    }

    /// Returns this shape as a static shape. The bounds of dynamic dimensions become sizes.
    pub fn with_bounds_as_sizes(&self) -> Shape {
        match self {
            Shape::Array(array) => Shape::Array(ArrayShape { dynamic: Vec::new(), ..array.clone() }),
            Shape::Tuple(elements) => Shape::Tuple(elements.iter().map(Shape::with_bounds_as_sizes).collect()),
            leaf => leaf.clone(),
        }
    }

    /// Whether both shapes are equal. The comparison ignores layouts, and treats bounds of dynamic
    /// dimensions as sizes.
    pub fn same_structure(&self, other: &Shape) -> bool {
        match (self, other) {
            (Shape::Array(a), Shape::Array(b)) => a.same_type_and_dims(b),
            (Shape::Tuple(a), Shape::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_structure(b))
            }
            (Shape::Token, Shape::Token) | (Shape::Opaque, Shape::Opaque) => true,
            _ => false,
        }
    }
}
