//! Converts attribute values to and from the fields of messages.

use super::shapes::{read_shape, write_shape};
use super::text_attributes;
use super::text_attributes::{API_VERSIONS, algorithm_name, algorithm_number, aliasing_text, api_version_name};
use crate::attribute::InField;
use crate::message::Instruction;
use crate::message::data;
use crate::named::Named;
use crate::{ComparisonType, FftType, RandomAlgorithm, RandomDistribution, Shape, Transpose, Window, WindowDim};

/// Copies the value unchanged.
impl<T: Clone> InField<T> for T {
    fn get(field: &mut T) -> Result<T, String> {
        Ok(field.clone())
    }

    fn set(&self, field: &mut T) {
        *field = self.clone();
    }
}

impl InField<i32> for i64 {
    fn get(field: &mut i32) -> Result<i64, String> {
        Ok((*field).into())
    }

    fn set(&self, field: &mut i32) {
        *field = *self as i32;
    }
}

impl InField<Vec<i64>> for i64 {
    fn get(field: &mut Vec<i64>) -> Result<i64, String> {
        match field[..] {
            [only] => Ok(only),
            _ => Err(format!("takes one dimension, has {}", field.len())),
        }
    }

    fn set(&self, field: &mut Vec<i64>) {
        *field = vec![*self];
    }
}

/// In the field, 0 means unknown, 1 means true and 2 means false.
impl InField<i32> for bool {
    fn get(field: &mut i32) -> Result<bool, String> {
        Ok(*field == 1)
    }

    fn set(&self, field: &mut i32) {
        *field = if *self { 1 } else { 2 };
    }
}

impl<T: Named> InField<String> for T {
    fn get(field: &mut String) -> Result<T, String> {
        field.parse().map_err(|_| format!("is `{field}`, which is not known"))
    }

    fn set(&self, field: &mut String) {
        *field = self.name().to_owned();
    }
}

impl InField<String> for Option<ComparisonType> {
    fn get(field: &mut String) -> Result<Self, String> {
        if field.is_empty() { Ok(None) } else { ComparisonType::get(field).map(Some) }
    }

    fn set(&self, field: &mut String) {
        *field = self.map_or("", ComparisonType::name).to_owned();
    }
}

/// Stores enumerations as numbers. `$first` is the number of the enumeration's first value.
macro_rules! numbered {
    ($($type:ident = $first:literal,)*) => { $(
        impl InField<i32> for $type {
            fn get(field: &mut i32) -> Result<$type, String> {
                let place = field.checked_sub($first).and_then(|place| usize::try_from(place).ok());
                let found = place.and_then(|place| $type::ALL.get(place));
                found.copied().ok_or_else(|| format!("is {field}, which is not known"))
            }

            fn set(&self, field: &mut i32) {
                *field = $first + $type::ALL.iter().take_while(|known| *known != self).count() as i32;
            }
        }
    )* };
}

numbered! { FftType = 0, RandomAlgorithm = 0, RandomDistribution = 1, }

/// The reader treats 0 like 1, because a field that was not written contains 0.
impl InField<data::TriangularSolveOptions> for Transpose {
    fn get(field: &mut data::TriangularSolveOptions) -> Result<Self, String> {
        let number = field.transpose_a;
        let found = usize::try_from(number.max(1) - 1).ok().and_then(|place| Transpose::ALL.get(place));
        found.copied().ok_or_else(|| format!("is {number}, which is not known"))
    }

    fn set(&self, field: &mut data::TriangularSolveOptions) {
        field.transpose_a = 1 + Transpose::ALL.iter().take_while(|known| *known != self).count() as i32;
    }
}

impl InField<Option<data::Window>> for Window {
    fn get(field: &mut Option<data::Window>) -> Result<Self, String> {
        let dim = |dim: &data::WindowDimension| WindowDim {
            size: dim.size,
            stride: dim.stride,
            padding_low: dim.padding_low,
            padding_high: dim.padding_high,
            window_dilation: dim.window_dilation,
            base_dilation: dim.base_dilation,
            reversal: dim.window_reversal,
        };
        Ok(Window { dims: field.iter().flat_map(|window| &window.dimensions).map(dim).collect() })
    }

    fn set(&self, field: &mut Option<data::Window>) {
        let dimension = |dim: &WindowDim| data::WindowDimension {
            size: dim.size,
            stride: dim.stride,
            padding_low: dim.padding_low,
            padding_high: dim.padding_high,
            window_dilation: dim.window_dilation,
            base_dilation: dim.base_dilation,
            window_reversal: dim.reversal,
        };
        *field = Some(data::Window { dimensions: self.dims.iter().map(dimension).collect() });
    }
}

/// The algorithm of a dot.
impl InField<data::PrecisionConfig> for String {
    fn get(field: &mut data::PrecisionConfig) -> Result<Self, String> {
        Ok(algorithm_name(field.algorithm))
    }

    fn set(&self, field: &mut data::PrecisionConfig) {
        field.algorithm = algorithm_number(self);
    }
}

/// The version of a custom call's interface.
impl InField<i32> for String {
    fn get(field: &mut i32) -> Result<Self, String> {
        Ok(api_version_name(*field))
    }

    fn set(&self, field: &mut i32) {
        *field = API_VERSIONS.iter().position(|known| known == self).unwrap_or(1) as i32;
    }
}

impl InField<Vec<data::OutputOperandAliasing>> for String {
    fn get(field: &mut Vec<data::OutputOperandAliasing>) -> Result<Self, String> {
        Ok(aliasing_text(field))
    }

    fn set(&self, field: &mut Vec<data::OutputOperandAliasing>) {
        *field = text_attributes::parse_aliasing(self).unwrap_or_default();
    }
}

/// The layouts of a custom call's operands, if the call requires layouts.
impl InField<Instruction> for Option<Vec<Shape>> {
    fn get(field: &mut Instruction) -> Result<Self, String> {
        let layouts = field.operand_shapes_with_layout.iter().map(read_shape).collect::<Result<_, _>>()?;
        Ok(field.constrain_layout.then_some(layouts))
    }

    fn set(&self, field: &mut Instruction) {
        field.constrain_layout = self.is_some();
        field.operand_shapes_with_layout = self.iter().flatten().map(write_shape).collect();
    }
}
