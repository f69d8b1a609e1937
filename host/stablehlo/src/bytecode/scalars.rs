//! Numbers, element types and constant arrays, which attributes of several dialects contain.

use std::sync::Arc;

use fusebox_core::hlo::{ArrayLiteral, ElementType};

use super::cursor::{Cursor, Read};
use super::entities::Decoder;
use crate::program::{Attribute, Constant, Type};

/// The number that encodes an unknown size.
const DYNAMIC: i64 = i64::MIN;
/// Largest number of elements of an array. A larger array does not fit in any memory, and its size
/// in bytes may overflow.
const MOST_ELEMENTS: i64 = 1 << 48;

/// Reads the sizes of dimensions.
pub(super) fn dimensions(cursor: &mut Cursor) -> Read<Vec<Option<i64>>> {
    let sizes = cursor.signed_list()?;
    let mut elements = 1i64;
    let mut checked = |size: i64| match size {
        DYNAMIC => Ok(None),
        0.. => {
            elements = elements.saturating_mul(size.max(1));
            if elements > MOST_ELEMENTS { Err(cursor.error("an array is too large")) } else { Ok(Some(size)) }
        }
        _ => Err(cursor.error(format!("a dimension of the size {size}"))),
    };
    sizes.into_iter().map(&mut checked).collect()
}

/// Returns the type of an array, given its element type or the name of an unsupported element type.
pub(super) fn array(element: Result<ElementType, Arc<str>>, dims: Vec<Option<i64>>) -> Type {
    match element {
        Ok(element) => Type::Array { element, dims },
        Err(name) => Type::Unsupported(name),
    }
}

/// Returns the complex type whose two parts have this type.
pub(super) fn complex(part: Result<ElementType, Arc<str>>) -> Type {
    match part {
        Ok(ElementType::F32) => Type::Element(ElementType::C64),
        Ok(ElementType::F64) => Type::Element(ElementType::C128),
        Ok(other) => Type::Unsupported(format!("complex<{}>", other.name()).into()),
        Err(name) => Type::Unsupported(name),
    }
}

/// Reads a type, and then an integer of this type.
pub(super) fn integer(decoder: Decoder, cursor: &mut Cursor) -> Read<Attribute> {
    let Ok(element) = decoder.element(cursor)? else {
        return Err(cursor.error("an integer of an unsupported type"));
    };
    let value = match element {
        ElementType::Pred => return Ok(Attribute::Bool(cursor.byte()? != 0)),
        _ if !element.is_integer() => return Err(cursor.error("an integer of a type that is no integer")),
        _ if element.byte_size() > 1 => cursor.signed()?,
        _ => i64::from(cursor.byte()?),
    };
    // Only the number's own bits count. A signed number is extended by its sign.
    let unused = 64 - element.bits();
    let moved = value << unused;
    let extended = if element.is_signed_integer() { moved >> unused } else { (moved as u64 >> unused) as i64 };
    Ok(Attribute::Integer(element, extended))
}

/// Reads a type, and then a float of this type.
pub(super) fn float(decoder: Decoder, cursor: &mut Cursor) -> Read<Attribute> {
    let element = decoder.element(cursor)?.ok();
    let Some((element, format)) = element.and_then(|element| Some((element, element.float_format()?))) else {
        return Err(cursor.error("a float of an unsupported type"));
    };
    let bits = if format.bits() <= 8 { u64::from(cursor.byte()?) } else { cursor.signed()? as u64 };
    // Bits above the number's own repeat its sign.
    Ok(Attribute::Float(element, format.decode(bits & (u64::MAX >> (64 - format.bits())))))
}

/// Reads an array's type, and its elements as a block of bytes.
pub(super) fn constant(decoder: Decoder, cursor: &mut Cursor) -> Read<Attribute> {
    let r#type = decoder.r#type(cursor)?;
    let size = cursor.count_of(1)?;
    let data = cursor.bytes(size)?;
    let Type::Array { element, dims } = r#type else {
        return Err(cursor.error("a constant that is no array of a supported type"));
    };
    let Some(dims) = dims.into_iter().collect::<Option<Vec<i64>>>() else {
        return Err(cursor.error("a constant of unknown size"));
    };
    let count = dims.iter().product::<i64>() as usize;
    let elements = match element {
        ElementType::Pred => predicates(data, count),
        _ if element.is_signed_integer() && element.bits() < 8 => Some(sign_extended(data, element.bits())),
        _ => Some(data.to_vec()),
    };
    literal(element, elements, dims, count)
        .map(|constant| Attribute::Array(Arc::new(constant)))
        .ok_or_else(|| cursor.error(format!("{size} bytes for {count} elements of {}", element.name())))
}

/// Reads an element type, and then a list of numbers of this type.
pub(super) fn dense_list(decoder: Decoder, cursor: &mut Cursor) -> Read<Attribute> {
    let element = decoder.element(cursor)?;
    let (count, size) = (cursor.number()?, cursor.count_of(1)?);
    let data = cursor.bytes(size)?;
    let Ok(element) = element else {
        return Err(cursor.error("a list of an unsupported type"));
    };
    let constant = i64::try_from(count)
        .ok()
        .and_then(|count| ArrayLiteral::new(element, vec![count], data.to_vec()).ok())
        .ok_or_else(|| cursor.error(format!("{size} bytes for {count} elements of {}", element.name())))?;
    Ok(Attribute::Array(Arc::new(Constant { dims: constant.dims.clone(), elements: constant })))
}

/// Returns a constant, or `None` if the number of stored elements is wrong. A single stored element
/// stands for any number of equal elements, including zero elements.
fn literal(element: ElementType, elements: Option<Vec<u8>>, dims: Vec<i64>, count: usize) -> Option<Constant> {
    let data = elements?;
    let size = element.byte_size();
    let is_one = data.len() == size && count != 1;
    let own = match (is_one, count) {
        (true, 0) => ArrayLiteral::new(element, dims.clone(), Vec::new()),
        (true, _) => ArrayLiteral::new(element, Vec::new(), data),
        (false, _) => ArrayLiteral::new(element, dims.clone(), data),
    };
    own.ok().map(|elements| Constant { elements, dims })
}

/// Sign-extends integers that are narrower than a byte. Each byte holds one integer.
fn sign_extended(data: &[u8], bits: u32) -> Vec<u8> {
    let unused = 8 - bits;
    data.iter().map(|&byte| ((byte << unused) as i8 >> unused) as u8).collect()
}

/// Unpacks predicates to one byte each. Eight predicates are packed into a byte, the first
/// predicate into the lowest bit. One byte of equal bits stands for any number of equal predicates.
fn predicates(data: &[u8], count: usize) -> Option<Vec<u8>> {
    match *data {
        [0xFF] if count != 1 => Some(vec![1]),
        [0] if count != 1 => Some(vec![0]),
        _ if data.len() == count.div_ceil(8) => Some((0..count).map(|at| data[at / 8] >> (at % 8) & 1).collect()),
        _ => None,
    }
}
