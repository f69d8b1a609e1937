//! Attributes in text. An attribute that is a group, such as the dimension numbers of a product, is
//! read as several attributes. The attributes of a group have the same names as in portable
//! artifacts, for example `lhs_contracting_dimensions`.

use std::sync::Arc;

use fusebox_core::hlo::ElementType;

use super::constants;
use super::cursor::{Cursor, Read};
use super::sharding;
use super::types::r#type;
use crate::program::{Attribute, Type};
use crate::tables::{CHANNEL, CONVOLVED, is_group};

/// Names and values of attributes.
pub(super) type Named = Vec<(Arc<str>, Attribute)>;

/// Maximum nesting depth of attributes. The reader refuses more deeply nested attributes, so that
/// its recursion needs a bounded stack.
const MAX_DEPTH: usize = 64;

/// Reads a dictionary `{name = value, …}` into a list.
pub(super) fn dictionary(cursor: &mut Cursor, into: &mut Named) -> Read<()> {
    nested_dictionary(cursor, into, 0)
}

fn nested_dictionary(cursor: &mut Cursor, into: &mut Named, depth: usize) -> Read<()> {
    cursor.list(["{", "}"], |cursor| {
        let name = if cursor.is_at("\"") { cursor.string()? } else { cursor.name()?.to_owned() };
        if !cursor.eat("=") {
            into.push((name.into(), Attribute::Unit));
            return Ok(());
        }
        if is_group(&name) && (cursor.eat("#stablehlo.") || cursor.eat("#chlo.")) {
            return group(cursor, into);
        }
        into.push((name.into(), nested(cursor, depth + 1)?));
        Ok(())
    })?;
    Ok(())
}

/// Reads the attributes of a group, for example `gather<offset_dims = [0], index_vector_dim = 1>`.
fn group(cursor: &mut Cursor, into: &mut Named) -> Read<()> {
    match cursor.name()? {
        "conv" => {
            cursor.expect("<")?;
            cursor.eat("raw");
            convolution_dims(cursor, into)?;
            cursor.expect(">")
        }
        "channel_handle" => {
            let mut parts = Named::new();
            fields(cursor, &mut parts)?;
            let handle = parts.into_iter().find(|(name, _)| &**name == "handle");
            into.extend(handle.map(|(_, value)| (CHANNEL.1.into(), value)));
            Ok(())
        }
        _ => fields(cursor, into),
    }
}

/// Reads the fields of an attribute: `<name = value, …>`.
pub(super) fn fields(cursor: &mut Cursor, into: &mut Named) -> Read<()> {
    cursor.list(["<", ">"], |cursor| {
        let name = cursor.name()?;
        cursor.expect("=")?;
        into.push((name.into(), nested(cursor, 0)?));
        Ok(())
    })?;
    Ok(())
}

/// Reads dimension numbers of a convolution, as in `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`.
pub(super) fn convolution_dims(cursor: &mut Cursor, into: &mut Named) -> Read<()> {
    let [input, kernel, output] = CONVOLVED;
    dims_of(cursor, input, into)?;
    cursor.expect("x")?;
    dims_of(cursor, kernel, into)?;
    cursor.expect("->")?;
    dims_of(cursor, output, into)
}

/// Reads the roles of an array's dimensions in a convolution: two letters, and the numbers of the
/// spatial dimensions.
fn dims_of(
    cursor: &mut Cursor,
    (array, letters, names): (&str, [&'static str; 2], [&'static str; 2]),
    into: &mut Named,
) -> Read<()> {
    let at = *cursor;
    let roles = cursor.list(["[", "]"], |cursor| if cursor.eat("?") { Ok("?") } else { cursor.name() })?;
    let position = |role: &str| roles.iter().position(|own| *own == role).map(|at| at as i64);
    for (letter, name) in letters.iter().zip(names) {
        let position = position(letter).ok_or_else(|| at.error(format!("no dimension has the role {letter}")))?;
        into.push((name.into(), integer(position)));
    }
    let spatial = (0..roles.len().saturating_sub(2)).map(|number| position(&number.to_string()));
    let spatial = spatial.collect::<Option<Vec<i64>>>().ok_or_else(|| at.error("a spatial dimension is missing"))?;
    into.push((format!("{array}_spatial_dimensions").into(), integers(spatial)));
    Ok(())
}

/// Returns an attribute that is an integer.
pub(super) fn integer(value: i64) -> Attribute {
    Attribute::Integer(ElementType::S64, value)
}

/// Returns an attribute that is a list of integers.
pub(super) fn integers(values: impl IntoIterator<Item = i64>) -> Attribute {
    Attribute::List(values.into_iter().map(integer).collect())
}

/// Returns an attribute that is a string.
pub(super) fn text(value: impl Into<Arc<str>>) -> Attribute {
    Attribute::Text(value.into())
}

/// Reads an attribute.
pub(super) fn attribute(cursor: &mut Cursor) -> Read<Attribute> {
    nested(cursor, 0)
}

fn nested(cursor: &mut Cursor, depth: usize) -> Read<Attribute> {
    if depth == MAX_DEPTH {
        return Err(cursor.error(format!("attributes are nested more than {MAX_DEPTH} deep")));
    }
    let rest = cursor.rest();
    Ok(match rest.chars().next() {
        Some('"') => {
            let string = cursor.string()?;
            if cursor.eat(":") {
                r#type(cursor)?;
            }
            text(string)
        }
        Some('@') => Attribute::Symbol(cursor.marked("@")?.into()),
        Some('[') => Attribute::List(cursor.list(["[", "]"], |cursor| nested(cursor, depth + 1))?.into()),
        Some('{') => {
            let mut entries = Named::new();
            nested_dictionary(cursor, &mut entries, depth)?;
            Attribute::Dictionary(entries.into())
        }
        Some('#') => of_dialect(cursor)?,
        Some(first) if first.is_ascii_digit() || first == '-' => number(cursor)?,
        _ if cursor.eat_word("true") => Attribute::Bool(true),
        _ if cursor.eat_word("false") => Attribute::Bool(false),
        _ if cursor.eat_word("unit") => Attribute::Unit,
        _ if cursor.eat_word("dense") => Attribute::Array(Arc::new(constants::dense(cursor)?)),
        _ if cursor.eat_word("array") => Attribute::Array(Arc::new(constants::list(cursor)?)),
        _ => Attribute::Type(r#type(cursor)?),
    })
}

/// Reads an attribute of a dialect: `#stablehlo<precision HIGHEST>` is a name, and
/// `#stablehlo.output_operand_alias<…>` has fields. Skips an attribute of an unknown dialect, and
/// returns a unit attribute instead.
fn of_dialect(cursor: &mut Cursor) -> Read<Attribute> {
    let dialect = cursor.marked("#")?;
    match &*dialect {
        "stablehlo" | "chlo" => {
            cursor.expect("<")?;
            cursor.name()?;
            let name = cursor.name()?.to_owned();
            cursor.expect(">")?;
            Ok(text(name))
        }
        "stablehlo.output_operand_alias" => {
            let mut fields = Named::new();
            self::fields(cursor, &mut fields)?;
            let of = |name: &str| fields.iter().find(|(own, _)| &**own == name).map(|(_, value)| value.clone());
            let list = |name| of(name).and_then(|it| it.integers()).unwrap_or_default();
            let operand = match of("operand_index") {
                Some(Attribute::Integer(_, operand)) => operand,
                _ => return Err(cursor.error("operand_index is missing")),
            };
            let (output, within) = (list("output_tuple_indices"), list("operand_tuple_indices"));
            Ok(Attribute::OutputAlias { output, operand, within })
        }
        name => {
            if let Some(sharding) = sharding::attribute(cursor, name)? {
                return Ok(sharding);
            }
            if cursor.is_at("<") {
                cursor.skip_bracketed('<', '>')?;
            }
            Ok(Attribute::Unit)
        }
    }
}

/// Reads a number and its type. An integer or a float without a type has 64 bits.
fn number(cursor: &mut Cursor) -> Read<Attribute> {
    let at = *cursor;
    let digits = cursor.while_is(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+'));
    let of = if cursor.eat(":") { Some(r#type(cursor)?) } else { None };
    let element = match of {
        Some(Type::Element(element)) => Some(element),
        None => None,
        Some(_) => return Err(at.error("a number must have an integer or a float type")),
    };
    let is_float = element.map_or_else(|| digits.contains(['.', 'e', 'E']), ElementType::is_float);
    let invalid = || at.error(format!("{digits} is no number"));
    if !is_float {
        let value: i128 = digits.parse().map_err(|_| invalid())?;
        return Ok(Attribute::Integer(element.unwrap_or(ElementType::S64), value as i64));
    }
    let element = element.unwrap_or(ElementType::F64);
    let value = match (digits.strip_prefix("0x"), element.float_format()) {
        (Some(bits), Some(format)) => format.decode(u64::from_str_radix(bits, 16).map_err(|_| invalid())?),
        _ => digits.parse().map_err(|_| invalid())?,
    };
    Ok(Attribute::Float(element, value))
}
