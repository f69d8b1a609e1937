//! Functions, regions, operations.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::{Attribute, OpKind, Type};

/// A value of a function: an argument of the function or of a region, or a result of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub(crate) u32);

impl Value {
    /// Returns the value with this number in its function. [`verify`](super::verify()) finds values
    /// that the function does not define.
    pub fn numbered(number: u32) -> Value {
        Value(number)
    }

    /// Returns the number of the value in its function. Numbers start at 0 and have no gaps.
    pub fn number(self) -> usize {
        self.0 as usize
    }
}

/// The origin of an operation, as far as the origin is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Place {
    /// Name of the HLO instruction that the operation computes.
    pub instruction: Option<Arc<str>>,
    /// File, line and column of the text from which the operation was parsed, or of the Rust code
    /// that built the operation.
    pub source: Option<(Arc<str>, u32, u32)>,
}

/// An operation with its nested regions.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The kind of operation.
    pub kind: OpKind,
    /// The values that the operation reads.
    pub operands: Vec<Value>,
    /// The values that the operation defines.
    pub results: Vec<Value>,
    /// Attributes by name, in printing order.
    pub attributes: Vec<(Cow<'static, str>, Attribute)>,
    /// Nested regions of one block each.
    pub regions: Vec<Region>,
    /// Origin of the operation.
    pub place: Place,
}

/// A region of one block, which ends with a terminator.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Region {
    /// The block's arguments.
    pub arguments: Vec<Value>,
    /// The block's operations in order.
    pub operations: Vec<Operation>,
}

/// A function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Symbol name of the function.
    pub name: String,
    /// Whether the function is visible only in its own module.
    pub private: bool,
    /// Attributes other than name, type and visibility.
    pub attributes: Vec<(Cow<'static, str>, Attribute)>,
    /// Attributes of the arguments: one list per argument, or no lists at all.
    pub argument_attributes: Vec<Vec<(Cow<'static, str>, Attribute)>>,
    /// Result types.
    pub results: Vec<Type>,
    /// The arguments and operations of the function.
    pub body: Region,
    /// Types of all values, by number.
    pub types: Vec<Type>,
}

impl Function {
    /// Returns the type of a value.
    pub fn type_of(&self, value: Value) -> &Type {
        &self.types[value.number()]
    }

    /// Returns the types of several values.
    pub fn types_of(&self, values: &[Value]) -> Vec<Type> {
        values.iter().map(|&value| self.type_of(value).clone()).collect()
    }

    /// Creates a value of this type. No operation defines the value yet.
    pub fn new_value(&mut self, ty: Type) -> Value {
        Function::add_value(&mut self.types, ty)
    }

    /// Appends the type of a new value to `types`, and returns the value.
    pub fn add_value(types: &mut Vec<Type>, ty: Type) -> Value {
        types.push(ty);
        Value(types.len() as u32 - 1)
    }

    /// Returns an attribute of the function.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        find(&self.attributes, name)
    }

    /// Renumbers the values in the order of their definition and without gaps, as the parser does.
    pub fn renumber(&mut self) {
        fn define(region: &Region, order: &mut Vec<Value>) {
            order.extend(&region.arguments);
            for operation in &region.operations {
                operation.regions.iter().for_each(|region| define(region, order));
                order.extend(&operation.results);
            }
        }
        let mut order = Vec::new();
        define(&self.body, &mut order);
        let mut numbers = vec![0; self.types.len()];
        for (number, value) in order.iter().enumerate() {
            numbers[value.number()] = number as u32;
        }
        self.types = self.types_of(&order);
        self.body.rename(&numbers);
    }

    /// Counts operations, including nested ones.
    pub fn size(&self) -> usize {
        let mut size = 0;
        self.body.walk(&mut |_| size += 1);
        size
    }
}

impl Operation {
    /// Creates an operation that has no attributes, no regions and no origin.
    pub fn new(kind: OpKind, operands: Vec<Value>, results: Vec<Value>) -> Operation {
        Operation { kind, operands, results, attributes: Vec::new(), regions: Vec::new(), place: Place::default() }
    }

    /// Returns the attribute with this name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        find(&self.attributes, name)
    }

    /// Returns the attribute with this name as an integer.
    pub fn integer(&self, name: &str) -> Option<i64> {
        self.attribute(name).and_then(Attribute::as_integer)
    }

    /// Returns the attribute with this name as a list of integers.
    pub fn integers(&self, name: &str) -> Option<&[i64]> {
        match self.attribute(name) {
            Some(Attribute::I64Array(values)) => Some(values),
            _ => None,
        }
    }

    /// Returns the function that the attribute `callee` names.
    pub fn callee(&self) -> Option<&str> {
        match self.attribute("callee") {
            Some(Attribute::Symbol(name)) => Some(name),
            _ => None,
        }
    }

    /// Returns the first result. The operation must have a result.
    pub fn result(&self) -> Value {
        self.results[0]
    }

    /// Calls `visit` for this operation and all nested ones, outer operations first.
    pub fn walk<'o>(&'o self, visit: &mut dyn FnMut(&'o Operation)) {
        visit(self);
        self.regions.iter().for_each(|region| region.walk(visit));
    }
}

impl Region {
    /// Calls `visit` for all nested operations, outer ones first.
    pub fn walk<'o>(&'o self, visit: &mut dyn FnMut(&'o Operation)) {
        self.operations.iter().for_each(|operation| operation.walk(visit));
    }

    /// Renames each value `v` to `numbers[v]`. `numbers` has an entry for every value of the
    /// region.
    pub fn rename(&mut self, numbers: &[u32]) {
        let rename = |values: &mut Vec<Value>| values.iter_mut().for_each(|value| value.0 = numbers[value.number()]);
        rename(&mut self.arguments);
        for operation in &mut self.operations {
            rename(&mut operation.operands);
            rename(&mut operation.results);
            operation.regions.iter_mut().for_each(|region| region.rename(numbers));
        }
    }

    /// Returns the operands of the region's terminator.
    pub fn yielded(&self) -> &[Value] {
        self.operations.last().map_or(&[], |last| &last.operands)
    }
}

fn find<'a>(attributes: &'a [(Cow<'static, str>, Attribute)], name: &str) -> Option<&'a Attribute> {
    attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.instruction, &self.source) {
            (Some(instruction), Some((file, line, column))) => write!(f, "{instruction} ({file}:{line}:{column})"),
            (Some(instruction), None) => f.write_str(instruction),
            (None, Some((file, line, column))) => write!(f, "{file}:{line}:{column}"),
            (None, None) => f.write_str("unknown"),
        }
    }
}
