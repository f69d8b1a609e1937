//! Constants.

use fusebox_core::hlo::{ArrayLiteral, ElementType, InstrId, Literal, Op};

use crate::Builder;

/// Returns `value`, rounded to this type, as a scalar. As a `pred`, zero is `false` and every other
/// number is `true`. If the type is complex, the imaginary part is 0.
pub fn scalar_literal(element_type: ElementType, value: f64) -> ArrayLiteral {
    let real = element_type.real_part();
    let bits = match real.float_format() {
        Some(format) => format.encode(value),
        None if real == ElementType::Pred => u64::from(value != 0.0),
        None if value < 0.0 => value as i64 as u64,
        None => value as u64,
    };
    integer_literal(element_type, bits)
}

/// Returns an integer scalar that consists of the low bits of `bits`.
fn integer_literal(element_type: ElementType, bits: u64) -> ArrayLiteral {
    let mut data = bits.to_le_bytes()[..element_type.real_part().byte_size()].to_vec();
    data.resize(element_type.byte_size(), 0);
    ArrayLiteral { element_type, dims: Vec::new(), data: data.into() }
}

impl Builder<'_> {
    /// Adds a constant.
    pub fn constant(&mut self, literal: ArrayLiteral) -> InstrId {
        self.add(Op::Constant(Literal::Array(literal)), [])
    }

    /// Adds a scalar constant, see [`scalar_literal`].
    pub fn scalar(&mut self, element_type: ElementType, value: f64) -> InstrId {
        self.constant(scalar_literal(element_type, value))
    }

    /// Adds an integer constant of rank 0.
    pub fn integer(&mut self, element_type: ElementType, value: i64) -> InstrId {
        self.constant(integer_literal(element_type, value as u64))
    }

    /// Adds the scalar that sums begin with. The scalar is -0 in types that have -0, because adding
    /// -0 keeps even the sign of a zero.
    pub fn identity_of_sums(&mut self, element_type: ElementType) -> InstrId {
        let part = scalar_literal(element_type.real_part(), -0.0).data;
        let parts = if element_type.is_complex() { 2 } else { 1 };
        self.constant(ArrayLiteral { element_type, dims: Vec::new(), data: part.repeat(parts).into() })
    }

    /// Adds an array whose elements are all `value`.
    pub fn filled(&mut self, element_type: ElementType, dims: &[i64], value: f64) -> InstrId {
        let scalar = self.scalar(element_type, value);
        self.spread(scalar, dims)
    }

    /// Adds an array that has the shape of `like`. All elements of the array are `value`.
    pub fn filled_like(&mut self, like: InstrId, value: f64) -> InstrId {
        match self.array(like) {
            Some(array) => {
                let (element_type, dims) = (array.element_type, array.dims.clone());
                self.filled(element_type, &dims, value)
            }
            None => self.not_an_array(like),
        }
    }

    /// Remembers a fault, which says that an instruction's value is not an array. Returns the
    /// instruction.
    pub(crate) fn not_an_array(&mut self, id: InstrId) -> InstrId {
        let instruction = self.instruction(id);
        let message = format!("{} must be an array, is {}", instruction.name, instruction.shape);
        self.fail(message);
        id
    }
}
