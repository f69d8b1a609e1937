//! Reads the values of constants.

use super::lexer::Cursor;
use super::source::{Fault, Parse};
use super::{Elided, ParseOptions};
use crate::random::SplitMix64;
use crate::{ArrayLiteral, ArrayShape, ElementType, FloatFormat, Literal, Shape};

/// Reads a constant of the given shape. The braces of the constant must be nested as the shape
/// requires.
pub(crate) fn literal(cursor: &mut Cursor, shape: &Shape, options: &ParseOptions) -> Parse<Literal> {
    match shape {
        Shape::Array(array) => array_literal(cursor, array, options).map(Literal::Array),
        Shape::Tuple(_) if elided(cursor) => Err(Fault::new(cursor.at(), ELIDED)),
        Shape::Tuple(elements) => tuple_literal(cursor, elements, options),
        Shape::Token => Ok(Literal::Token),
        Shape::Opaque => Err(Fault::new(cursor.at(), "a constant cannot be opaque")),
    }
}

const ELIDED: &str = "the value of this constant was left out, `{...}`: print the module with its large constants, or have them \
                      filled (--elided-constants)";

fn tuple_literal(cursor: &mut Cursor, elements: &[Shape], options: &ParseOptions) -> Parse<Literal> {
    cursor.expect(b'(', "before the elements of a tuple constant")?;
    let mut values = Vec::with_capacity(elements.len());
    for (position, shape) in elements.iter().enumerate() {
        if position > 0 {
            cursor.expect(b',', "between the elements of a tuple constant")?;
        }
        values.push(literal(cursor, shape, options)?);
    }
    cursor.expect(b')', "after the elements of a tuple constant")?;
    Ok(Literal::Tuple(values))
}

fn elided(cursor: &Cursor) -> bool {
    let mut ahead = *cursor;
    ahead.eat(b'{') && ahead.looks_at("...")
}

fn array_literal(cursor: &mut Cursor, shape: &ArrayShape, options: &ParseOptions) -> Parse<ArrayLiteral> {
    let at = cursor.at();
    let data = if elided(cursor) {
        cursor.balanced()?;
        filler(shape, options).ok_or_else(|| Fault::new(at, ELIDED))?
    } else {
        elements(cursor, shape)?
    };
    ArrayLiteral::new(shape.element_type, shape.dims.clone(), data)
        .map_err(|_| Fault::new(at, "the constant has the wrong number of elements"))
}

/// Returns generated data for an elided constant, if the options allow it.
fn filler(shape: &ArrayShape, options: &ParseOptions) -> Option<Vec<u8>> {
    if options.elided == Elided::Refuse || shape.byte_size() > options.largest_filler {
        return None;
    }
    let part = shape.element_type.real_part();
    let parts = if shape.element_type.is_complex() { 2 } else { 1 };
    let mut random = SplitMix64(0);
    let mut data = Vec::with_capacity(shape.byte_size() as usize);
    for _ in 0..parts * shape.element_count() {
        let number = match options.elided {
            Elided::Random if part.is_float() => {
                Number::Decimal { value: (random.bits() % 32) as f64 / 16.0 - 1.0, word: "" }
            }
            Elided::Random => Number::integer((random.bits() % 2).into()),
            _ => Number::integer(0),
        };
        push_number(part, number, &mut data).ok()?;
    }
    Some(data)
}

/// Reads the elements in row-major order. The text has one level of braces per dimension.
fn elements(cursor: &mut Cursor, shape: &ArrayShape) -> Parse<Vec<u8>> {
    let rank = shape.rank();
    let mut data = Vec::new();
    if rank == 0 {
        element(cursor, shape.element_type, &mut data)?;
        return Ok(data);
    }
    // Number of elements read so far at each open level of braces.
    let mut counts: Vec<i64> = Vec::with_capacity(rank);
    cursor.expect(b'{', "before the elements of an array constant")?;
    counts.push(0);
    while let Some(&count) = counts.last() {
        let level = counts.len() - 1;
        let expected = shape.dims[level];
        if count == expected {
            let end = cursor.at();
            if !cursor.eat(b'}') {
                return Err(Fault::new(end, format!("expected `}}` after {expected} elements of dimension {level}")));
            }
            counts.pop();
            if let Some(outer) = counts.last_mut() {
                *outer += 1;
            }
            continue;
        }
        if count > 0 && !cursor.eat(b',') {
            return Err(too_few(cursor, count, expected, level));
        }
        if cursor.peek() == Some(b'}') {
            return Err(too_few(cursor, count, expected, level));
        }
        if level + 1 < rank {
            cursor.expect(b'{', &format!("before the elements of dimension {}", level + 1))?;
            counts.push(0);
        } else {
            element(cursor, shape.element_type, &mut data)?;
            counts[level] += 1;
        }
    }
    Ok(data)
}

fn too_few(cursor: &mut Cursor, count: i64, expected: i64, level: usize) -> Fault {
    let at = cursor.at();
    match cursor.peek() {
        Some(b'}') => Fault::new(at, format!("dimension {level} has {expected} elements, but only {count} are given")),
        _ => cursor.unexpected("`,` between the elements of a constant"),
    }
}

fn element(cursor: &mut Cursor, element_type: ElementType, data: &mut Vec<u8>) -> Parse<()> {
    if !element_type.is_complex() {
        return real(cursor, element_type, data);
    }
    let part = element_type.real_part();
    if !cursor.eat(b'(') {
        real(cursor, part, data)?;
        return push_number(part, Number::integer(0), data).map_err(|message| Fault::new(cursor.at(), message));
    }
    real(cursor, part, data)?;
    cursor.expect(b',', "between the real and the imaginary part")?;
    real(cursor, part, data)?;
    cursor.expect(b')', "after the imaginary part")
}

fn real(cursor: &mut Cursor, element_type: ElementType, data: &mut Vec<u8>) -> Parse<()> {
    let at = cursor.at();
    let word = cursor.expect_word(&format!("a value of type {element_type}"))?;
    let number = match word {
        "nan" | "-nan" => Number::Nan { negative: word.starts_with('-'), payload: payload(cursor)? },
        _ => Number::parse(word, element_type)
            .ok_or_else(|| Fault::new(at, format!("`{word}` is not a value of type {element_type}")))?,
    };
    push_number(element_type, number, data).map_err(|message| Fault::new(at, message))
}

/// Reads `(0x…)` after `nan`.
fn payload(cursor: &mut Cursor) -> Parse<Option<u64>> {
    if !cursor.touches(b'(') {
        return Ok(None);
    }
    cursor.eat(b'(');
    let at = cursor.at();
    let word = cursor.expect_word("the payload of a NaN")?;
    let value = word.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let value = value.ok_or_else(|| Fault::new(at, format!("the payload of a NaN is written 0x…, found `{word}`")))?;
    cursor.expect(b')', "after the payload of a NaN")?;
    Ok(Some(value))
}

/// A number as the text writes it, before the conversion to an element type.
enum Number<'t> {
    Integer { value: i128, word: &'t str },
    Decimal { value: f64, word: &'t str },
    Nan { negative: bool, payload: Option<u64> },
}

impl<'t> Number<'t> {
    fn integer(value: i128) -> Self {
        Number::Integer { value, word: "" }
    }

    fn parse(word: &'t str, element_type: ElementType) -> Option<Self> {
        match word {
            "true" if element_type == ElementType::Pred => return Some(Number::integer(1)),
            "false" if element_type == ElementType::Pred => return Some(Number::integer(0)),
            "inf" => return Some(Number::Decimal { value: f64::INFINITY, word }),
            "-inf" => return Some(Number::Decimal { value: f64::NEG_INFINITY, word }),
            _ => {}
        }
        let digits = word.strip_prefix('-').unwrap_or(word);
        if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return None;
        }
        if digits.bytes().all(|byte| byte.is_ascii_digit())
            && let Ok(value) = word.parse::<i128>()
        {
            return Some(Number::Integer { value, word });
        }
        let value = word.parse::<f64>().ok()?;
        Some(Number::Decimal { value, word })
    }
}

fn push_number(element_type: ElementType, number: Number, data: &mut Vec<u8>) -> Result<(), String> {
    let bits = match FloatFormat::of(element_type) {
        Some(format) => float_bits(element_type, format, number)?,
        None => integer_bits(element_type, number)?,
    };
    data.extend_from_slice(&bits.to_le_bytes()[..element_type.byte_size()]);
    Ok(())
}

fn integer_bits(element_type: ElementType, number: Number) -> Result<u64, String> {
    let Number::Integer { value, .. } = number else {
        return Err(format!("a constant of type {element_type} needs an integer"));
    };
    let bits = element_type.bits();
    let (low, high) = if element_type.is_signed_integer() {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, (1i128 << bits) - 1)
    };
    // XLA's parser accepts unsigned 64-bit values in an `s64` constant, and keeps their bits.
    let high = if element_type == ElementType::S64 { u64::MAX.into() } else { high };
    ensure!((low..=high).contains(&value), "{value} is out of range for {element_type}, which holds {low} to {high}");
    Ok(value as u64)
}

fn float_bits(element_type: ElementType, format: FloatFormat, number: Number) -> Result<u64, String> {
    let (value, word) = match number {
        Number::Nan { negative, payload } => return nan_bits(element_type, format, negative, payload),
        // An integer zero keeps its sign, because XLA prints negative zero as `-0`.
        Number::Integer { value: 0, word } => (if word.starts_with('-') { -0.0 } else { 0.0 }, word),
        Number::Integer { value, word } => (value as f64, word),
        Number::Decimal { value, word } => (value, word),
    };
    let written_infinity = matches!(word, "inf" | "-inf");
    ensure!(!written_infinity || format.has_infinity(), "{element_type} has no infinity");
    let bits = match element_type {
        // Converts from decimal to `f32` with one rounding.
        ElementType::F32 if !word.is_empty() => word.parse::<f32>().map_or(0, |value| u64::from(value.to_bits())),
        _ => format.encode(value),
    };
    let finite = !format.is_nan(bits) && format.decode(bits).is_finite();
    let saturated = !format.has_infinity() && value.abs() > format.decode(format.max_finite_bits());
    if !written_infinity && (!finite || saturated) {
        let largest = format.decode(format.max_finite_bits());
        return Err(format!("{word} is out of range for {element_type}, whose largest value is {largest:e}"));
    }
    Ok(bits)
}

fn nan_bits(
    element_type: ElementType,
    format: FloatFormat,
    negative: bool,
    payload: Option<u64>,
) -> Result<u64, String> {
    let default = format.nan_bits().ok_or_else(|| format!("{element_type} has no NaN"))?;
    let sign = if negative { format.sign_bit() } else { 0 };
    let Some(payload) = payload else { return Ok(default | sign) };
    let mask = (1u64 << format.mantissa_bits) - 1;
    let exponent = default & !mask;
    let bits = exponent | payload | sign;
    ensure!(payload & !mask == 0 && format.is_nan(bits), "{payload:#x} is not the payload of a {element_type} NaN");
    Ok(bits)
}
