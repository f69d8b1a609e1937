//! Attributes of the dialect `sdy`, which describe shardings.

use std::sync::Arc;

use Part::{Byte, List, Number, Numbers, Optional, OptionalNumber, Text, Whole};

use super::cursor::{Cursor, Read};
use super::entities::Decoder;
use crate::program::{Attribute, Sharding};

/// The encoding of one part of an attribute.
#[derive(Clone, Copy)]
enum Part {
    /// An attribute.
    Whole,
    Optional,
    List,
    Text,
    Number,
    OptionalNumber,
    Numbers,
    Byte,
}

/// For each kind of attribute, its name and the encodings of its parts. The index is the code of
/// the kind.
const FORMS: &[(&str, &[Part])] = &[
    ("manual axes", &[List]),
    ("axis", &[Text, Number]),
    ("mesh", &[List, Numbers]),
    ("sub axis", &[Number, Number]),
    ("axis reference", &[Text, Optional]),
    ("dimension", &[List, Byte, OptionalNumber]),
    ("sharding", &[Whole, List, List]),
    ("shardings of values", &[List]),
    ("dimension map", &[Numbers]),
    ("array map", &[List]),
    ("rule", &[Numbers, List, List, Numbers, Numbers, Numbers, Numbers, Byte]),
    ("axes", &[List]),
    ("lists of axes", &[List]),
    ("all-to-all", &[List, Number, Number]),
    ("list of all-to-all", &[List]),
    ("sharding", &[Whole, List, List, List]),
    ("shardings of values", &[List]),
];

/// Decodes an attribute.
pub(super) fn attribute(decoder: Decoder, cursor: &mut Cursor) -> Read<Attribute> {
    let code = cursor.index(FORMS.len(), "kinds of attributes of the dialect sdy")?;
    let (kind, form) = FORMS[code];
    let mut sharding = Sharding { kind, parts: Vec::new(), numbers: Vec::new() };
    for part in form {
        read(*part, decoder, cursor, &mut sharding)?;
    }
    Ok(Attribute::Sharding(Arc::new(sharding)))
}

fn read(part: Part, decoder: Decoder, cursor: &mut Cursor, sharding: &mut Sharding) -> Read<()> {
    match part {
        Whole => sharding.parts.push(decoder.attribute(cursor)?),
        Optional => {
            let (index, is_present) = cursor.flagged()?;
            if is_present {
                sharding.parts.push(decoder.attribute_at(cursor, index)?);
            }
        }
        List => sharding.parts.push(Attribute::List(decoder.attributes(cursor)?.into())),
        Text => sharding.parts.push(Attribute::Text(decoder.string(cursor)?)),
        Number => sharding.numbers.push(cursor.signed()?),
        OptionalNumber => {
            let (number, is_present) = cursor.flagged()?;
            sharding.numbers.extend(is_present.then_some(number as i64));
        }
        Numbers => sharding.numbers.extend(cursor.signed_list()?),
        Byte => sharding.numbers.push(i64::from(cursor.byte()?)),
    }
    Ok(())
}
