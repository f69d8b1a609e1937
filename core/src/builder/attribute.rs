//! Attributes of operations and functions.

use std::fmt::{self, Write as _};

use super::Type;

/// An attribute as MLIR text can hold it.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    /// Present, without a value.
    Unit,
    /// `true` or `false`.
    Bool(bool),
    /// `7 : i64`
    Int(i64, Type),
    /// `"text"`
    Str(String),
    /// `@symbol`
    Symbol(String),
    /// `f32`, `tensor<4xi8>`, …
    Type(Type),
    /// `array<i64: 1, 2>`
    I64Array(Vec<i64>),
    /// `[a, b]`
    Array(Vec<Attribute>),
    /// `{name = a, …}`
    Dictionary(Vec<(String, Attribute)>),
    /// Attribute text of a dialect, written as it is: `#gpu<dim x>`.
    Raw(String),
}

impl Attribute {
    /// `value : i64`
    pub fn i64(value: i64) -> Attribute {
        Attribute::Int(value, Type::I64)
    }

    /// Text in quotes.
    pub fn str(text: impl Into<String>) -> Attribute {
        Attribute::Str(text.into())
    }

    /// A reference to a function.
    pub fn symbol(name: impl Into<String>) -> Attribute {
        Attribute::Symbol(name.into())
    }

    /// Attribute text of a dialect.
    pub fn raw(text: impl Into<String>) -> Attribute {
        Attribute::Raw(text.into())
    }
}

/// Writes a string in quotes with MLIR's escapes.
pub(super) fn write_quoted(f: &mut impl fmt::Write, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => write!(f, "\\{}", byte as char)?,
            b' '..=b'~' => f.write_char(byte as char)?,
            _ => write!(f, "\\{byte:02X}")?,
        }
    }
    f.write_char('"')
}

/// Writes the name of an attribute or a symbol, in quotes only where MLIR needs them.
fn write_name(f: &mut impl fmt::Write, name: &str) -> fmt::Result {
    let bare = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$'))
        && name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    if bare { f.write_str(name) } else { write_quoted(f, name) }
}

/// Writes `{a = 1 : i64, b}`.
pub(super) fn write_dictionary(f: &mut impl fmt::Write, entries: &[(String, Attribute)]) -> fmt::Result {
    f.write_char('{')?;
    for (i, (name, value)) in entries.iter().enumerate() {
        f.write_str(if i > 0 { ", " } else { "" })?;
        write_name(f, name)?;
        if *value != Attribute::Unit {
            write!(f, " = {value}")?;
        }
    }
    f.write_char('}')
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Attribute::Unit => f.write_str("unit"),
            Attribute::Bool(value) => write!(f, "{value}"),
            Attribute::Int(value, ty) => write!(f, "{value} : {ty}"),
            Attribute::Str(text) => write_quoted(f, text),
            Attribute::Symbol(name) => {
                f.write_char('@')?;
                write_name(f, name)
            }
            Attribute::Type(ty) => write!(f, "{ty}"),
            Attribute::I64Array(values) if values.is_empty() => f.write_str("array<i64>"),
            Attribute::I64Array(values) => {
                let text: Vec<String> = values.iter().map(i64::to_string).collect();
                write!(f, "array<i64: {}>", text.join(", "))
            }
            Attribute::Array(values) => {
                f.write_char('[')?;
                for (i, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if i > 0 { ", " } else { "" })?;
                }
                f.write_char(']')
            }
            Attribute::Dictionary(entries) => write_dictionary(f, entries),
            Attribute::Raw(text) => f.write_str(text),
        }
    }
}
