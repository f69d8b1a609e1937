//! Constant arrays in text.

use fusebox_core::hlo::{ArrayLiteral, ElementType};

use super::cursor::{Cursor, Read};
use super::types::r#type;
use crate::program::{Constant, Type};

/// Largest nesting of lists, which is the largest number of dimensions of an array.
const MAX_DEPTH: usize = 128;

/// The elements of a constant before their type is known.
enum Elements<'t> {
    /// Bytes in hexadecimal digits.
    Bytes(String),
    /// One text per element, or two per complex element.
    Texts(Vec<&'t str>),
}

/// Reads `dense<…> : type` after the word `dense`.
pub(super) fn dense(cursor: &mut Cursor) -> Read<Constant> {
    cursor.expect("<")?;
    let elements = if cursor.is_at("\"") {
        Elements::Bytes(cursor.string()?)
    } else {
        let mut texts = Vec::new();
        if !cursor.is_at(">") {
            element(cursor, &mut texts, 0)?;
        }
        Elements::Texts(texts)
    };
    cursor.expect(">")?;
    cursor.expect(":")?;
    let at = *cursor;
    let Type::Array { element, dims } = r#type(cursor)? else {
        return Err(at.error("a constant must be an array of a supported type"));
    };
    let Some(dims) = dims.into_iter().collect::<Option<Vec<i64>>>() else {
        return Err(at.error("a constant must have known sizes"));
    };
    let data = match elements {
        Elements::Bytes(digits) => from_hexadecimal(&digits, element),
        Elements::Texts(texts) => from_texts(&texts, element),
    };
    let data = data.map_err(|message| at.error(message))?;
    constant(element, dims, data).map_err(|message| at.error(message))
}

/// Reads `array<i64: 1, 2>` after the word `array`.
pub(super) fn list(cursor: &mut Cursor) -> Read<Constant> {
    cursor.expect("<")?;
    let at = *cursor;
    let Type::Element(of) = r#type(cursor)? else {
        return Err(at.error("a list needs a type of integers or floats"));
    };
    let mut texts = Vec::new();
    if cursor.eat(":") {
        loop {
            element(cursor, &mut texts, 0)?;
            if !cursor.eat(",") {
                break;
            }
        }
    }
    cursor.expect(">")?;
    let count = texts.len() as i64;
    let data = from_texts(&texts, of).map_err(|message| at.error(message))?;
    let elements = ArrayLiteral::new(of, vec![count], data).map_err(|_| at.error("the list is not complete"))?;
    Ok(Constant { dims: vec![count], elements })
}

/// Reads one element, a complex element in parentheses, or a list of elements in brackets.
fn element<'t>(cursor: &mut Cursor<'t>, texts: &mut Vec<&'t str>, depth: usize) -> Read<()> {
    if depth == MAX_DEPTH {
        return Err(cursor.error(format!("a constant has more than {MAX_DEPTH} dimensions")));
    }
    let brackets = if cursor.is_at("[") {
        ["[", "]"]
    } else if cursor.is_at("(") {
        ["(", ")"]
    } else {
        let text = cursor.while_is(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+'));
        if text.is_empty() {
            return Err(cursor.error("an element is needed here"));
        }
        texts.push(text);
        return Ok(());
    };
    cursor.list(brackets, |cursor| element(cursor, texts, depth + 1)).map(drop)
}

/// Returns a constant. If `data` contains a single element, all elements of the array are equal to
/// it.
fn constant(element: ElementType, dims: Vec<i64>, data: Vec<u8>) -> Result<Constant, String> {
    let count = dims.iter().product::<i64>();
    let is_one = data.len() == element.byte_size() && count != 1;
    let own = match (is_one, count) {
        (true, 0) => ArrayLiteral::new(element, dims.clone(), Vec::new()),
        (true, _) => ArrayLiteral::new(element, Vec::new(), data),
        (false, _) => ArrayLiteral::new(element, dims.clone(), data),
    };
    let elements = own.map_err(|bytes| format!("the constant needs {bytes} bytes of {element}"))?;
    Ok(Constant { elements, dims })
}

/// Returns the bytes that the hexadecimal digits after `0x` encode. Each predicate has one byte.
fn from_hexadecimal(digits: &str, element: ElementType) -> Result<Vec<u8>, String> {
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    let byte = |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let bytes = digits.as_bytes().chunks(2).map(byte).collect::<Option<Vec<u8>>>();
    let mut bytes = bytes.ok_or("a constant has a character that is no hexadecimal digit")?;
    if element == ElementType::Pred {
        bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    }
    Ok(bytes)
}

/// Converts the texts of elements to bytes.
fn from_texts(texts: &[&str], element: ElementType) -> Result<Vec<u8>, String> {
    let part = element.real_part();
    let mut bytes = Vec::with_capacity(texts.len() * part.byte_size());
    for text in texts {
        let bits = bits(text, part).ok_or_else(|| format!("{text} is no element of {part}"))?;
        bytes.extend_from_slice(&bits.to_le_bytes()[..part.byte_size()]);
    }
    Ok(bytes)
}

/// Returns the bits of one number. If a float is written in hexadecimal digits, the digits are its
/// bits.
fn bits(text: &str, element: ElementType) -> Option<u64> {
    if element == ElementType::Pred {
        return match text {
            "true" | "1" => Some(1),
            "false" | "0" => Some(0),
            _ => None,
        };
    }
    let Some(format) = element.float_format() else {
        return text.parse::<i128>().ok().map(|value| value as u64);
    };
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    if element == ElementType::F32 {
        return text.parse::<f32>().ok().map(|value| u64::from(value.to_bits()));
    }
    text.parse().ok().map(|value| format.encode(value))
}
