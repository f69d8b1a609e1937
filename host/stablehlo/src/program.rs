//! A StableHLO program as a tree of operations. All readers of StableHLO produce a [`Program`].
//!
//! Names of operations and attributes are those of StableHLO without version numbers: the reader of
//! portable artifacts reads `vhlo.dot_general_v2` as `dot_general`. Names of operations of other
//! dialects keep the dialect, as in `sdy.mesh`. Functions are operations `func` in the body of the
//! outermost operation `builtin.module`.

use std::collections::BTreeMap;
use std::sync::Arc;

use fusebox_core::hlo::{ArrayLiteral, ElementType};

/// A value: a result of an operation or an argument of a block. Ids are unique in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

impl ValueId {
    /// Position in [`Program::values`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A program.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The outermost operation, `builtin.module`.
    pub module: Operation,
    /// Types of all values.
    pub values: Vec<Type>,
    /// Name of the file that the program was read from.
    pub file: String,
}

/// An operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    pub name: Arc<str>,
    pub operands: Vec<ValueId>,
    pub results: Vec<ValueId>,
    /// Names and values, in no particular order. Names are unique.
    pub attributes: Vec<(Arc<str>, Attribute)>,
    pub regions: Vec<Region>,
    pub location: Location,
}

/// A list of blocks. Regions of StableHLO have one block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Region {
    pub blocks: Vec<Block>,
}

/// Operations that are executed in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    pub arguments: Vec<ValueId>,
    pub operations: Vec<Operation>,
}

/// Type of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// An array. A dimension of unknown size is `None`.
    Array {
        element: ElementType,
        dims: Vec<Option<i64>>,
    },
    /// An element type, as the value of an attribute.
    Element(ElementType),
    Token,
    Tuple(Arc<[Type]>),
    Function {
        inputs: Arc<[Type]>,
        results: Arc<[Type]>,
    },
    /// The type `none`, as the value of an optional attribute that is absent.
    None,
    /// A type that fusebox does not support.
    Unsupported(Arc<str>),
}

/// Value of an attribute. Lists are shared, because a program contains the same attribute often.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    Unit,
    Bool(bool),
    Integer(ElementType, i64),
    Float(ElementType, f64),
    Text(Arc<str>),
    /// A name of a function or a mesh.
    Symbol(Arc<str>),
    /// A name from a fixed list, such as a comparison's direction.
    Enum(&'static str),
    Type(Type),
    List(Arc<[Attribute]>),
    Dictionary(Arc<[(Arc<str>, Attribute)]>),
    /// A constant array. If all elements are equal, the constant stores only one element.
    Array(Arc<Constant>),
    /// An output that shares memory with an operand: tuple indices in the output, the number of the
    /// operand, tuple indices in the operand.
    OutputAlias {
        output: Vec<i64>,
        operand: i64,
        within: Vec<i64>,
    },
    /// An attribute of the sharding dialect, which has no effect on a single device.
    Sharding(Arc<Sharding>),
}

/// A constant array.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// All elements, or a single element if all elements are equal.
    pub elements: ArrayLiteral,
    /// Size of each dimension.
    pub dims: Vec<i64>,
}

/// An attribute of the sharding dialect.
#[derive(Clone, Debug, PartialEq)]
pub struct Sharding {
    /// Kind of the attribute, such as `mesh`.
    pub kind: &'static str,
    /// The components of the sharding attribute that are attributes themselves.
    pub parts: Vec<Attribute>,
    /// The components of the sharding attribute that are numbers.
    pub numbers: Vec<i64>,
}

/// Place in the user's program. Several operations may share a location.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Location(pub Option<Arc<Place>>);

/// A known place in the user's program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    File {
        name: Arc<str>,
        line: i64,
        column: i64,
    },
    /// A name, for example `jit(f)/jit(main)/add`, and the place that it names.
    Name {
        name: Arc<str>,
        at: Location,
    },
    /// A place in a function, and the place of the function's call.
    Call {
        callee: Location,
        caller: Location,
    },
    /// The locations of several operations that were merged into one operation.
    Fused(Vec<Location>),
}

impl Program {
    /// Returns the type of a value.
    pub fn value(&self, id: ValueId) -> &Type {
        &self.values[id.index()]
    }
}

impl Operation {
    /// Returns the value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|(own, _)| &**own == name).map(|(_, value)| value)
    }
}

impl Region {
    /// Returns the region's only block. Returns `None` if the region has no block or several.
    pub fn block(&self) -> Option<&Block> {
        match &self.blocks[..] {
            [block] => Some(block),
            _ => None,
        }
    }
}

impl Attribute {
    /// Returns the text of a string or a symbol.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Attribute::Text(text) | Attribute::Symbol(text) => Some(text),
            Attribute::Enum(name) => Some(name),
            _ => None,
        }
    }
}

impl Location {
    /// The location of an operation that comes from an unknown place in the user's program.
    pub const UNKNOWN: Location = Location(None);
}

impl Attribute {
    /// Returns the elements of a list or an array of integers or booleans, in row-major order.
    pub fn integers(&self) -> Option<Vec<i64>> {
        match self {
            Attribute::List(list) => list.iter().map(Attribute::as_integer).collect(),
            Attribute::Array(constant) => constant.integers(),
            Attribute::Type(_) => Some(Vec::new()),
            _ => None,
        }
    }

    /// Returns the strings in a dictionary, by their names.
    pub fn strings(&self) -> BTreeMap<String, String> {
        let Attribute::Dictionary(entries) = self else { return BTreeMap::new() };
        entries.iter().filter_map(|(name, value)| Some((name.to_string(), value.as_text()?.to_owned()))).collect()
    }

    fn as_integer(&self) -> Option<i64> {
        match self {
            Attribute::Integer(_, value) => Some(*value),
            Attribute::Bool(value) => Some(i64::from(*value)),
            _ => None,
        }
    }
}

impl Constant {
    /// Returns the elements of an array of integers, in row-major order.
    pub fn integers(&self) -> Option<Vec<i64>> {
        let element = self.elements.element_type;
        if !element.is_integer() && element != ElementType::Pred {
            return None;
        }
        let count = usize::try_from(self.dims.iter().product::<i64>()).ok()?;
        let own: Vec<i64> =
            self.elements.data.chunks_exact(element.byte_size()).map(|it| integer(element, it)).collect();
        match own[..] {
            [only] => Some(vec![only; count]),
            _ => Some(own),
        }
    }
}

/// Returns the integer that little-endian bytes contain.
fn integer(element: ElementType, bytes: &[u8]) -> i64 {
    let is_negative = element.is_signed_integer() && bytes.last().is_some_and(|&byte| byte >> 7 == 1);
    let mut all = [if is_negative { 0xFF } else { 0 }; 8];
    all[..bytes.len()].copy_from_slice(bytes);
    i64::from_le_bytes(all)
}
