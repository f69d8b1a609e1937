//! Attributes, types and locations of MLIR's own dialect.

use std::sync::Arc;

use fusebox_core::hlo::ElementType;

use super::cursor::{Cursor, Read};
use super::entities::Decoder;
use super::scalars::{self, constant, dense_list, dimensions};
use crate::program::{Attribute, Place, Type};

/// Decodes an attribute that is not a location.
pub(super) fn attribute(decoder: Decoder, cursor: &mut Cursor) -> Read<Attribute> {
    Ok(match cursor.number()? {
        0 => Attribute::List(decoder.attributes(cursor)?.into()),
        1 => {
            let entries = cursor.list(|cursor| Ok((decoder.text(cursor)?, decoder.attribute(cursor)?)))?;
            Attribute::Dictionary(entries.into())
        }
        2 => Attribute::Text(decoder.string(cursor)?),
        3 => {
            let text = decoder.string(cursor)?;
            decoder.r#type(cursor)?;
            Attribute::Text(text)
        }
        4 => Attribute::Symbol(decoder.text(cursor)?),
        6 => Attribute::Type(decoder.r#type(cursor)?),
        7 => Attribute::Unit,
        8 => scalars::integer(decoder, cursor)?,
        9 => scalars::float(decoder, cursor)?,
        17 => dense_list(decoder, cursor)?,
        18 => constant(decoder, cursor)?,
        code => return Err(cursor.error(format!("an attribute of the dialect builtin with the unknown code {code}"))),
    })
}

/// Decodes a type.
pub(super) fn r#type(decoder: Decoder, cursor: &mut Cursor) -> Read<Type> {
    Ok(match cursor.number()? {
        0 => integer_type(cursor)?,
        // MLIR's `index`, which has the 64 bits of the machine's addresses.
        1 => Type::Element(ElementType::S64),
        2 => Type::Function { inputs: decoder.types(cursor)?.into(), results: decoder.types(cursor)?.into() },
        3 => Type::Element(ElementType::BF16),
        4 => Type::Element(ElementType::F16),
        5 => Type::Element(ElementType::F32),
        6 => Type::Element(ElementType::F64),
        9 => scalars::complex(decoder.element(cursor)?),
        12 => Type::None,
        13 => {
            let dims = dimensions(cursor)?;
            scalars::array(decoder.element(cursor)?, dims)
        }
        15 => Type::Tuple(decoder.types(cursor)?.into()),
        code => return Err(cursor.error(format!("a type of the dialect builtin with the unsupported code {code}"))),
    })
}

/// Decodes an integer type: a number that contains the width and, in its lowest two bits, the
/// signedness.
fn integer_type(cursor: &mut Cursor) -> Read<Type> {
    use ElementType::*;
    const UNSIGNED: u64 = 2;
    let code = cursor.number()?;
    let (width, is_unsigned) = (code >> 2, code & 3 == UNSIGNED);
    Ok(Type::Element(match (width, is_unsigned) {
        (1, _) => Pred,
        (2, false) => S2,
        (4, false) => S4,
        (8, false) => S8,
        (16, false) => S16,
        (32, false) => S32,
        (64, false) => S64,
        (2, true) => U2,
        (4, true) => U4,
        (8, true) => U8,
        (16, true) => U16,
        (32, true) => U32,
        (64, true) => U64,
        _ => return Ok(Type::Unsupported(format!("an integer of {width} bits").into())),
    }))
}

/// Decodes a location. Returns `None` if the location is unknown.
pub(super) fn location(decoder: Decoder, cursor: &mut Cursor) -> Read<Option<Place>> {
    Ok(match cursor.number()? {
        10 => Some(Place::Call { callee: decoder.location(cursor)?, caller: decoder.location(cursor)? }),
        11 => {
            let name = decoder.text(cursor)?;
            file(name, cursor.number()?, cursor.number()?)
        }
        12 => Some(Place::Fused(decoder.locations(cursor)?)),
        13 => {
            let places = decoder.locations(cursor)?;
            decoder.attribute(cursor)?;
            Some(Place::Fused(places))
        }
        14 => Some(Place::Name { name: decoder.text(cursor)?, at: decoder.location(cursor)? }),
        15 => None,
        22 => {
            let name = decoder.text(cursor)?;
            // A line, and as far as known the first column, the last line and the last column.
            let numbers = cursor.list(Cursor::number)?;
            let at = |position: usize| numbers.get(position).copied().unwrap_or_default();
            file(name, at(0), at(1))
        }
        code => return Err(cursor.error(format!("a location with the unknown code {code}"))),
    })
}

fn file(name: Arc<str>, line: u64, column: u64) -> Option<Place> {
    Some(Place::File { name, line: line as i64, column: column as i64 })
}
