//! The parameters and outputs of a program, as the interface describes them.

use fusebox_core::hlo::{ArrayShape, Shape, Tiling};
use fusebox_runtime::{AllocationKind, Binding, Executable};

use crate::element::BufferType;
use crate::error::{Answer, Error};

/// The parameters and outputs of a program. JAX passes the elements of a tuple as separate values.
#[derive(Clone, Debug, Default)]
pub struct Signature {
    pub parameters: Vec<ValueType>,
    pub outputs: Vec<ValueType>,
    /// For each parameter, whether it is donated. The program may overwrite the memory of a donated
    /// parameter.
    pub donated: Vec<bool>,
}

/// Type of a parameter or an output. For a token, `array` is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueType {
    pub array: Option<ArrayShape>,
    /// The number of the type, which every execution compares with the number of the argument's
    /// type.
    kind: BufferType,
}

impl From<ArrayShape> for ValueType {
    fn from(array: ArrayShape) -> ValueType {
        ValueType { kind: BufferType::of(array.element_type), array: Some(array) }
    }
}

impl ValueType {
    /// Returns the number of the type.
    pub fn buffer_type(&self) -> BufferType {
        self.kind
    }

    /// Returns the sizes of the dimensions; a token has no dimensions.
    pub fn dims(&self) -> &[i64] {
        self.array.as_ref().map_or(&[], |array| &array.dims)
    }

    /// Returns the number of bytes of the elements.
    pub fn bytes(&self) -> i64 {
        self.array.as_ref().map_or(0, ArrayShape::byte_size)
    }

    /// Describes the type for messages.
    pub fn text(&self) -> String {
        self.array.as_ref().map_or_else(|| "a token".into(), |array| Shape::Array(array.clone()).to_string())
    }

    /// Returns the type of a tile.
    fn tile(&self, tiling: &Tiling) -> Answer<ValueType> {
        let Some(array) = &self.array else { return Ok(self.clone()) };
        let uneven = || Error::invalid(format!("{} cannot be divided evenly by the sharding {tiling}", self.text()));
        let dims = tiling.tile_dims(&array.dims).ok_or_else(uneven)?;
        Ok(ArrayShape::new(array.element_type, dims).into())
    }

    fn of(shape: Shape) -> Answer<ValueType> {
        match shape {
            Shape::Array(array) => Ok(array.into()),
            Shape::Token => Ok(ValueType { array: None, kind: BufferType::TOKEN }),
            other => Err(Error::unimplemented(format!("a value of the type {other} inside of a tuple"))),
        }
    }
}

impl Signature {
    /// Returns the signature of the program for one device, which has tiles of the arrays.
    pub fn on_device(&self, parameters: &[Tiling], outputs: &[Tiling]) -> Answer<Signature> {
        let tiles = |values: &[ValueType], tilings: &[Tiling]| {
            values.iter().zip(tilings).map(|(value, tiling)| value.tile(tiling)).collect::<Answer<Vec<ValueType>>>()
        };
        let (parameters, outputs) = (tiles(&self.parameters, parameters)?, tiles(&self.outputs, outputs)?);
        Ok(Signature { parameters, outputs, donated: self.donated.clone() })
    }

    /// Returns the signature of an executable.
    pub fn of(executable: &Executable) -> Answer<Signature> {
        let mut signature = Signature::default();
        for parameter in &executable.parameters {
            signature.parameters.push(ValueType::of(shape(parameter)?)?);
            let is_donated = parameter.leaves.first().is_some_and(|leaf| {
                let allocation = executable.allocations.get(leaf.allocation as usize);
                allocation.is_some_and(|it| it.kind == AllocationKind::Donated)
            });
            signature.donated.push(is_donated);
        }
        match shape(&executable.result)? {
            Shape::Tuple(elements) => {
                signature.outputs = elements.into_iter().map(ValueType::of).collect::<Answer<_>>()?;
            }
            single => signature.outputs.push(ValueType::of(single)?),
        }
        Ok(signature)
    }
}

fn shape(binding: &Binding) -> Answer<Shape> {
    let shape = binding.to_shape().ok_or_else(|| Error::internal("the executable has an invalid shape"))?;
    if binding.sizes.is_empty() {
        Ok(shape)
    } else {
        Err(Error::unimplemented("arrays whose size is known only when the program runs"))
    }
}
