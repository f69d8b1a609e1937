//! Attributes and types of the dialect `vhlo`.

use std::sync::Arc;

use fusebox_core::hlo::ElementType;

use super::cursor::{Cursor, Read};
use super::entities::Decoder;
use super::scalars::{self, constant, dimensions};
use crate::program::{Attribute, Type};
use crate::tables::API_VERSIONS;

const DIRECTIONS: &[&str] = &["EQ", "NE", "GE", "GT", "LE", "LT"];
const COMPARISON_TYPES: &[&str] = &["NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"];
const FFT_TYPES: &[&str] = &["FFT", "IFFT", "RFFT", "IRFFT"];
const PRECISIONS: &[&str] = &["DEFAULT", "HIGH", "HIGHEST"];
const RANDOM_ALGORITHMS: &[&str] = &["DEFAULT", "THREE_FRY", "PHILOX"];
const DISTRIBUTIONS: &[&str] = &["INVALID", "UNIFORM", "NORMAL"];
const TRANSPOSES: &[&str] = &["TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"];
const ACCURACY_MODES: &[&str] = &["DEFAULT", "HIGHEST", "TOLERANCE"];

/// Decodes an attribute.
pub(super) fn attribute(decoder: Decoder, cursor: &mut Cursor) -> Read<Attribute> {
    Ok(match cursor.number()? {
        1 => Attribute::List(decoder.attributes(cursor)?.into()),
        2 => Attribute::Bool(cursor.number()? != 0),
        3 => one_of(cursor, DIRECTIONS)?,
        4 => one_of(cursor, COMPARISON_TYPES)?,
        5 => one_of(cursor, API_VERSIONS)?,
        6 => {
            let entries = cursor.list(|cursor| Ok((decoder.text(cursor)?, decoder.attribute(cursor)?)))?;
            Attribute::Dictionary(entries.into())
        }
        7 => one_of(cursor, FFT_TYPES)?,
        8 => scalars::float(decoder, cursor)?,
        9 => scalars::integer(decoder, cursor)?,
        10 => Attribute::OutputAlias {
            output: cursor.signed_list()?,
            operand: cursor.signed()?,
            within: cursor.signed_list()?,
        },
        11 => one_of(cursor, PRECISIONS)?,
        12 => one_of(cursor, RANDOM_ALGORITHMS)?,
        13 => one_of(cursor, DISTRIBUTIONS)?,
        14 => Attribute::Text(decoder.string(cursor)?),
        15 => constant(decoder, cursor)?,
        16 => one_of(cursor, TRANSPOSES)?,
        17 => Attribute::Type(decoder.r#type(cursor)?),
        18 => Attribute::List(
            cursor.signed_list()?.into_iter().map(|it| Attribute::Integer(ElementType::S64, it)).collect(),
        ),
        19 => one_of(cursor, ACCURACY_MODES)?,
        20 => {
            let tolerances = [cursor.signed()? as u64, cursor.signed()? as u64].map(f64::from_bits);
            let ulps = cursor.signed()?;
            let mode = decoder.attribute(cursor)?;
            let [absolute, relative] = tolerances.map(|it| Attribute::Float(ElementType::F64, it));
            Attribute::List(Arc::new([absolute, relative, Attribute::Integer(ElementType::S64, ulps), mode]))
        }
        code @ 21..=25 => {
            return Err(
                cursor.error(format!("axes of device meshes in collectives (attribute {code}) are not supported"))
            );
        }
        code => return Err(cursor.error(format!("an attribute of the dialect vhlo with the unknown code {code}"))),
    })
}

fn one_of(cursor: &mut Cursor, names: &'static [&'static str]) -> Read<Attribute> {
    Ok(Attribute::Enum(names[cursor.index(names.len(), "names")?]))
}

/// Decodes a type.
pub(super) fn r#type(decoder: Decoder, cursor: &mut Cursor) -> Read<Type> {
    let code = cursor.number()?;
    if let Some(element) = element_type(code) {
        return Ok(Type::Element(element));
    }
    Ok(match code {
        1 => complex(decoder, cursor)?,
        8 => Type::Function { inputs: decoder.types(cursor)?.into(), results: decoder.types(cursor)?.into() },
        20 => {
            let dims = dimensions(cursor)?;
            scalars::array(decoder.element(cursor)?, dims)
        }
        21 => {
            decoder.attribute(cursor)?;
            dimensions(cursor)?;
            decoder.r#type(cursor)?;
            Type::Unsupported("an array with bounds of dynamic sizes".into())
        }
        22 => Type::Token,
        23 => Type::Tuple(decoder.types(cursor)?.into()),
        24 => {
            quantised(decoder, cursor)?;
            (0..3).try_for_each(|_| cursor.signed().map(drop))?;
            Type::Unsupported("a quantised type".into())
        }
        25 => {
            decoder.r#type(cursor)?;
            Type::Unsupported("an array of unknown rank".into())
        }
        26 => Type::Unsupported("a witness".into()),
        30 => {
            return Err(cursor.error("types that are quantised along an axis are not supported"));
        }
        33 => Type::None,
        34 => Type::Unsupported("tf32".into()),
        41 => {
            dimensions(cursor)?;
            decoder.r#type(cursor)?;
            Type::Unsupported("a buffer".into())
        }
        42 => {
            decoder.types(cursor)?;
            Type::Unsupported("a future".into())
        }
        code => return Err(cursor.error(format!("a type of the dialect vhlo with the unknown code {code}"))),
    })
}

fn complex(decoder: Decoder, cursor: &mut Cursor) -> Read<Type> {
    Ok(scalars::complex(decoder.element(cursor)?))
}

/// Reads the flags, the types and the scale of a quantised type.
fn quantised(decoder: Decoder, cursor: &mut Cursor) -> Read<()> {
    cursor.number()?;
    (0..2).try_for_each(|_| decoder.r#type(cursor).map(drop))?;
    cursor.signed().map(drop)
}

/// Returns the element type with this code.
fn element_type(code: u64) -> Option<ElementType> {
    use ElementType::*;
    Some(match code {
        0 => Pred,
        2 => BF16,
        3 => F16,
        4 => F32,
        5 => F64,
        6 => F8E4M3FN,
        7 => F8E5M2,
        // MLIR's `index`, which has the 64 bits of the machine's addresses.
        9 => S64,
        10 => S4,
        11 => S8,
        12 => S16,
        13 => S32,
        14 => S64,
        15 => U4,
        16 => U8,
        17 => U16,
        18 => U32,
        19 => U64,
        27 => F8E4M3FNUZ,
        28 => F8E5M2FNUZ,
        29 => F8E4M3B11FNUZ,
        31 => S2,
        32 => U2,
        35 => F8E4M3,
        36 => F8E3M4,
        37 => F4E2M1FN,
        38 => F6E2M3FN,
        39 => F6E3M2FN,
        40 => F8E8M0FNU,
        _ => return None,
    })
}
