//! Values on the host: constants, inputs, results.

use super::{ArrayShape, Bytes, ElementType, Shape};

/// A dense array on the host. Elements are little-endian, row-major by *logical* index (for every
/// layout of the shape), [`ElementType::byte_size`] bytes each. `pred` is 0 or 1. Sub-byte integers
/// are in the low bits of their byte: signed ones sign-extended, unsigned ones zero-extended.
/// Narrow floats have their bit pattern in the low bits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArrayLiteral {
    /// Type of the elements.
    pub element_type: ElementType,
    /// Sizes.
    pub dims: Vec<i64>,
    /// The elements; the length is the element count times the byte size. Clones share the data,
    /// because constants are copied with their instructions.
    pub data: Bytes,
}

impl ArrayLiteral {
    /// An array from its bytes.
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

    /// The value of an integer scalar; `i64::MAX` for larger values.
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

    /// The shape, row-major.
    pub fn shape(&self) -> ArrayShape {
        ArrayShape::new(self.element_type, self.dims.clone())
    }
}

/// A value on the host.
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
    /// The shape, row-major.
    pub fn shape(&self) -> Shape {
        match self {
            Literal::Array(array) => Shape::Array(array.shape()),
            Literal::Tuple(elements) => Shape::Tuple(elements.iter().map(Literal::shape).collect()),
            Literal::Token => Shape::Token,
        }
    }

    /// The array, if this is one.
    pub fn as_array(&self) -> Option<&ArrayLiteral> {
        match self {
            Literal::Array(array) => Some(array),
            _ => None,
        }
    }

    /// The arrays and tokens, depth first.
    pub fn leaves(&self) -> Vec<&Literal> {
        match self {
            Literal::Tuple(elements) => elements.iter().flat_map(Literal::leaves).collect(),
            leaf => vec![leaf],
        }
    }
}
