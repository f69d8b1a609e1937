//! Values in host memory: constants, inputs and results.

use super::{ArrayShape, Bytes, ElementType, Shape};

/// A dense array in host memory. Elements are little-endian and have [`ElementType::byte_size`]
/// bytes each. The elements are in row-major order of their *logical* index, even if the shape has
/// another layout. A `pred` is 0 or 1. Signed sub-byte integers are sign-extended to a byte.
/// Unsigned sub-byte integers are zero-extended. The bit pattern of a narrow float is in the low
/// bits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArrayLiteral {
    /// Type of the elements.
    pub element_type: ElementType,
    /// Sizes of the dimensions.
    pub dims: Vec<i64>,
    /// The bytes of the elements. The length is the element count times the byte size. A clone
    /// refers to the same bytes, so that cloning a constant instruction needs no further memory.
    pub data: Bytes,
}

impl ArrayLiteral {
    /// Creates an array from its bytes.
    ///
    /// # Errors
    /// Returns the expected number of bytes if `data` has another length.
    pub fn new(element_type: ElementType, dims: Vec<i64>, data: impl Into<Bytes>) -> Result<Self, i64> {
        let data = data.into();
        let expected = ArrayShape::new(element_type, dims.clone()).byte_size();
        if data.len() as i64 == expected { Ok(ArrayLiteral { element_type, dims, data }) } else { Err(expected) }
    }

    /// Number of elements.
    pub fn element_count(&self) -> usize {
        self.data.len() / self.element_type.byte_size()
    }

    /// Returns the value of an integer scalar, or `i64::MAX` if the value is larger. `None` for
    /// other arrays.
    pub fn as_integer(&self) -> Option<i64> {
        if !self.dims.is_empty() || !self.element_type.is_integer() {
            return None;
        }
        let mut bytes = [0u8; 8];
        let data = self.data.get(..self.element_type.byte_size())?;
        bytes[..data.len()].copy_from_slice(data);
        let signed = self.element_type.is_signed_integer();
        if signed && data.last().is_some_and(|byte| byte >> 7 == 1) {
            bytes[data.len()..].fill(0xFF);
        }
        let value = i64::from_le_bytes(bytes);
        Some(if !signed && value < 0 { i64::MAX } else { value })
    }

    /// Returns the shape with row-major layout.
    pub fn shape(&self) -> ArrayShape {
        ArrayShape::new(self.element_type, self.dims.clone())
    }
}

/// A value in host memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Literal {
    /// A dense array.
    Array(ArrayLiteral),
    /// A tuple.
    Tuple(Vec<Literal>),
    /// A token.
    Token,
}

impl Literal {
    /// Returns the shape with row-major layout.
    pub fn shape(&self) -> Shape {
        match self {
            Literal::Array(array) => Shape::Array(array.shape()),
            Literal::Tuple(elements) => Shape::Tuple(elements.iter().map(Literal::shape).collect()),
            Literal::Token => Shape::Token,
        }
    }

    /// Returns the array, if this literal is an array.
    pub fn as_array(&self) -> Option<&ArrayLiteral> {
        match self {
            Literal::Array(array) => Some(array),
            _ => None,
        }
    }

    /// Returns the leaves, which are arrays and tokens, depth first.
    pub fn leaves(&self) -> Vec<&Literal> {
        match self {
            Literal::Tuple(elements) => elements.iter().flat_map(Literal::leaves).collect(),
            leaf => vec![leaf],
        }
    }
}
