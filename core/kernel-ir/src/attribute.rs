//! Attributes of operations and functions.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use super::{Float, Scalar, Type};
use fusebox_indexing::IndexingMap;

/// An MLIR attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    /// An attribute without a value.
    Unit,
    /// `true` or `false`.
    Bool(bool),
    /// `7 : i64`. An integer with fewer than 64 bits is stored sign-extended.
    Int(i64, Type),
    /// `0x3F800000 : f32`: a float, stored as its bits.
    Float(u64, Float),
    /// `"text"`
    Str(String),
    /// `@symbol`
    Symbol(String),
    /// `f32`, `tensor<4xi8>`, …
    Type(Type),
    /// `array<i64: 1, 2>`
    I64Array(Vec<i64>),
    /// `array<i32: 1, 2>`
    I32Array(Vec<i32>),
    /// `[a, b]`
    Array(Vec<Attribute>),
    /// `{name = a, …}`
    Dictionary(Vec<(Cow<'static, str>, Attribute)>),
    /// An indexing map, written as a string.
    Map(Arc<IndexingMap>),
    /// `dense<…> : tensor<…>`: the bytes of the elements, as in memory. An element of fewer than
    /// eight bits takes one byte, whose other bits are zero. If the attribute stores only one
    /// element, all elements of the constant have this value.
    Dense(Type, Arc<[u8]>),
    /// `#arith.fastmath<…>`
    FastMath(FastMath),
    /// `#vector.kind<…>`
    Combination(Combination),
    /// Text of an attribute that a dialect defines, for example `#gpu<dim x>`. The printer writes
    /// the text unchanged.
    Raw(String),
}

impl Attribute {
    /// `value : i64`
    pub fn i64(value: i64) -> Attribute {
        Attribute::Int(value, Type::I64)
    }

    /// Creates a string attribute, printed in quotes.
    pub fn str(text: impl Into<String>) -> Attribute {
        Attribute::Str(text.into())
    }

    /// Creates a reference to a function.
    pub fn symbol(name: impl Into<String>) -> Attribute {
        Attribute::Symbol(name.into())
    }

    /// Returns the number, if the attribute is an integer or a bool.
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Attribute::Int(value, _) => Some(*value),
            Attribute::Bool(value) => Some(i64::from(*value)),
            _ => None,
        }
    }

    /// Creates an attribute from the text that a dialect defines.
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

/// Writes the name of an attribute or a symbol. Adds quotes only if MLIR requires them for this
/// name.
fn write_name(f: &mut impl fmt::Write, name: &str) -> fmt::Result {
    let bare = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$'))
        && name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    if bare { f.write_str(name) } else { write_quoted(f, name) }
}

/// Writes `{a = 1 : i64, b}`.
pub(super) fn write_dictionary(f: &mut impl fmt::Write, entries: &[(Cow<'static, str>, Attribute)]) -> fmt::Result {
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
            Attribute::Float(bits, ty) => write!(f, "0x{bits:X} : {}", ty.name()),
            Attribute::Str(text) => write_quoted(f, text),
            Attribute::Symbol(name) => {
                f.write_char('@')?;
                write_name(f, name)
            }
            Attribute::Type(ty) => write!(f, "{ty}"),
            Attribute::I64Array(values) => write_array(f, "i64", values),
            Attribute::I32Array(values) => write_array(f, "i32", values),
            Attribute::Array(values) => {
                f.write_char('[')?;
                for (i, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if i > 0 { ", " } else { "" })?;
                }
                f.write_char(']')
            }
            Attribute::Dictionary(entries) => write_dictionary(f, entries),
            Attribute::Map(map) => write_quoted(f, &map.to_string()),
            Attribute::Dense(ty, bytes) => write_dense(f, ty, bytes),
            Attribute::FastMath(flags) => write!(f, "#arith.fastmath<{flags}>"),
            Attribute::Combination(kind) => write!(f, "#vector.kind<{}>", kind.name()),
            Attribute::Raw(text) => f.write_str(text),
        }
    }
}

fn write_array<T: fmt::Display>(f: &mut fmt::Formatter<'_>, element: &str, values: &[T]) -> fmt::Result {
    write!(f, "array<{element}")?;
    for (i, value) in values.iter().enumerate() {
        write!(f, "{}{value}", if i > 0 { ", " } else { ": " })?;
    }
    f.write_char('>')
}

/// Writes the bytes in hexadecimal. If `bytes` holds a single element, all elements of the constant
/// have this value.
fn write_dense(f: &mut fmt::Formatter<'_>, ty: &Type, bytes: &[u8]) -> fmt::Result {
    f.write_str("dense<")?;
    let single = bytes.len() == ty.element().byte_size();
    match ty.element() {
        _ if bytes.is_empty() => {}
        // In hexadecimal, MLIR packs eight booleans into one byte. The words `true` and `false` are
        // easier to read.
        Scalar::I1 if single => write!(f, "{}", bytes[0] != 0)?,
        Scalar::I1 => write_nested(f, ty.dims(), &mut bytes.iter().map(|byte| *byte != 0))?,
        _ => {
            f.write_str("\"0x")?;
            bytes.iter().try_for_each(|byte| write!(f, "{byte:02X}"))?;
            f.write_char('"')?;
        }
    }
    write!(f, "> : {ty}")
}

/// Writes `[[a, b], [c, d]]` for dimensions 2 and 2.
fn write_nested(f: &mut fmt::Formatter<'_>, dims: &[i64], elements: &mut dyn Iterator<Item = bool>) -> fmt::Result {
    let Some((&size, inner)) = dims.split_first() else {
        return write!(f, "{}", elements.next().unwrap_or_default());
    };
    f.write_char('[')?;
    for i in 0..size {
        f.write_str(if i > 0 { ", " } else { "" })?;
        write_nested(f, inner, elements)?;
    }
    f.write_char(']')
}

/// Assumptions that the compiler may make about a float operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct FastMath(u8);

impl FastMath {
    /// IEEE semantics.
    pub const NONE: FastMath = FastMath(0);
    /// Sums and products may be regrouped.
    pub const REASSOC: FastMath = FastMath(1);
    /// No operand or result is NaN.
    pub const NNAN: FastMath = FastMath(2);
    /// No operand or result is infinite.
    pub const NINF: FastMath = FastMath(4);
    /// The sign of zero has no meaning.
    pub const NSZ: FastMath = FastMath(8);
    /// A quotient may become a product with the reciprocal.
    pub const ARCP: FastMath = FastMath(16);
    /// A product and a sum may be fused.
    pub const CONTRACT: FastMath = FastMath(32);
    /// Functions may be approximated.
    pub const AFN: FastMath = FastMath(64);
    /// All flags.
    pub const FAST: FastMath = FastMath(127);

    const NAMES: [(FastMath, &'static str); 7] = [
        (Self::REASSOC, "reassoc"),
        (Self::NNAN, "nnan"),
        (Self::NINF, "ninf"),
        (Self::NSZ, "nsz"),
        (Self::ARCP, "arcp"),
        (Self::CONTRACT, "contract"),
        (Self::AFN, "afn"),
    ];

    /// Returns the flag with this name.
    pub fn of_name(name: &str) -> Option<FastMath> {
        match name {
            "none" => Some(Self::NONE),
            "fast" => Some(Self::FAST),
            _ => Self::NAMES.iter().find(|(_, known)| *known == name).map(|&(flag, _)| flag),
        }
    }

    /// Returns one bit per flag, in LLVM's order.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// Returns the flags as an attribute, or `None` for IEEE semantics.
    pub(crate) fn attribute(self) -> Option<Attribute> {
        (self.0 != 0).then_some(Attribute::FastMath(self))
    }
}

impl std::ops::BitOr for FastMath {
    type Output = FastMath;
    fn bitor(self, other: FastMath) -> FastMath {
        FastMath(self.0 | other.0)
    }
}

impl fmt::Display for FastMath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("none");
        }
        let names = Self::NAMES.iter().filter(|(flag, _)| self.0 & flag.0 != 0);
        names.enumerate().try_for_each(|(i, (_, name))| write!(f, "{}{name}", if i > 0 { "," } else { "" }))
    }
}

macro_rules! combinations {
    ($($variant:ident = $name:literal;)*) => {
        /// The operation with which `vector.reduction` combines lanes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the names are MLIR's")]
        pub enum Combination { $($variant,)* }

        impl Combination {
            /// Returns MLIR's name.
            pub fn name(self) -> &'static str {
                match self { $(Combination::$variant => $name,)* }
            }

            /// Returns the combination with this name.
            pub fn of_name(name: &str) -> Option<Combination> {
                Some(match name { $($name => Combination::$variant,)* _ => return None })
            }
        }
    };
}

combinations! {
    Add = "add";
    Mul = "mul";
    And = "and";
    Or = "or";
    Xor = "xor";
    MinSi = "minsi";
    MaxSi = "maxsi";
    MinUi = "minui";
    MaxUi = "maxui";
    MinimumF = "minimumf";
    MaximumF = "maximumf";
    MinNumF = "minnumf";
    MaxNumF = "maxnumf";
}

impl Combination {
    /// Whether the operation can combine elements of this type.
    pub fn takes(self, element: Scalar) -> bool {
        match self {
            Combination::Add | Combination::Mul => matches!(element, Scalar::Int(_) | Scalar::Float(_)),
            Combination::MinimumF | Combination::MaximumF | Combination::MinNumF | Combination::MaxNumF => {
                matches!(element, Scalar::Float(_))
            }
            _ => matches!(element, Scalar::Int(_)),
        }
    }
}
